#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <exception>
#include <fstream>
#include <memory>
#include <set>
#include <thread>

#include "core/base/error.hpp"
#include "experiments/checkpoint.hpp"
#include "experiments/commands.hpp"
#include "experiments/execute_mpi.hpp"
#include "experiments/job_script.hpp"
#include "experiments/launch.hpp"
#include "experiments/problem.hpp"
#include "experiments/progress.hpp"
#include "experiments/results.hpp"
#include "experiments/resume.hpp"
#include "experiments/run_report.hpp"
#include "experiments/trace.hpp"

namespace orrery {
namespace {

std::atomic<bool> stop_requested{false}, ended_from_outside{false};

/// The first Ctrl-C (or a batch system's SIGUSR1) asks for an orderly end, the second ends at once.
extern "C" void on_signal(int) {
  if (stop_requested.exchange(true)) _exit(130);
}
/// In an MPI job SIGTERM comes from mpirun, which ends the others when one rank has died.
extern "C" void on_end(int) {
  stop_requested = true;
  ended_from_outside = true;
}

struct Options {
  std::string file, backend, out, print_job;
  std::vector<std::string> overrides;
  bool json = false, quiet = false, force = false, resume = false;

  Existing existing() const {
    return resume ? Existing::resume : force ? Existing::overwrite : Existing::refuse;
  }
};

/// This process among those that run the experiments: alone, or a rank of an MPI job.
struct Job {
  MpiWorld* world = nullptr;
  Communicator* communicator = nullptr;
  /// The one that prints and writes.
  bool leads() const { return world == nullptr || world->rank() == 0; }
  void share(std::string& bytes) const {
    if (world != nullptr) world->share(bytes);
  }
};

void announce(const DataFacts& data) {
  fmt::print(stderr, "{}: {} vertices, {} edges{}\n", data.name, data.vertices, data.edges,
             data.generated ? " (generated)" : "");
  for (const std::string& note : data.notes) fmt::print(stderr, "  note: {}\n", note);
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// The file's placement where it names servers, else that of the ranks as they were started.
Placement placement_of(const Experiment& experiment, const Job& job) {
  const bool described = experiment.resolved["cluster"].contains("servers");
  return described || job.world == nullptr ? experiment.placement() : job.world->placement();
}

/// Runs experiments one after the other.
class Runner {
 public:
  Runner(const Options& options, const Job& job) : options_(options), job_(job) {}

  /// The finished run on the process that leads, which has a folder; nothing elsewhere.
  std::optional<FinishedRun> run(const Experiment& experiment, const ResultFolder* results) {
    const double age = first_ ? process_age_seconds() : 0;
    const auto begin = std::chrono::steady_clock::now();
    const auto data = datasets_.load(experiment);
    const double load_seconds = seconds_since(begin);
    if (job_.leads() && !options_.quiet && datasets_.just_loaded()) announce(data.facts());
    const Problem problem = make_problem(experiment, data, partition(experiment, data));
    const auto plan = plan_strategy(problem);

    ExecuteOptions execute;
    execute.kernels = experiment.kernels;
    execute.placement = placement_of(experiment, job_);
    execute.capacities = device_capacities(experiment);
    execute.timeline_epochs = experiment.timeline_epochs;
    execute.stop = &stop_requested;
    execute.control.checkpoint_every = experiment.checkpoint_every;
    Earlier earlier;
    if (results != nullptr && options_.resume) earlier = take_up(*results, experiment.resolved);
    job_.share(earlier.checkpoint);
    if (!earlier.checkpoint.empty())
      execute.control.resume = std::make_shared<const Checkpoint>(
          parse_checkpoint(earlier.checkpoint, "the checkpoint", experiment.resolved));
    if (results != nullptr) {
      results->write("config.json", experiment.resolved.dump(2) + "\n");
      execute.keep = [&, file = results->checkpoint()](const Checkpoint& checkpoint) {
        write_checkpoint(file, checkpoint, experiment.resolved);
      };
    }
    const double prepare_seconds = age + seconds_since(begin);
    Outcome outcome = execute_all(experiment, problem, *plan, execute, results);
    outcome.epochs.insert(outcome.epochs.begin(), earlier.epochs.begin(), earlier.epochs.end());
    if (results == nullptr) return std::nullopt;
    FinishedRun done =
        report(experiment, data.facts(), execute.placement, outcome, earlier.seconds, *results);
    done.result["resumed_from_epoch"] = earlier.epochs.empty()
                                            ? nlohmann::ordered_json(nullptr)
                                            : nlohmann::ordered_json(earlier.epochs.size());
    if (first_)
      done.result["startup"] = {{"load_seconds", load_seconds},
                                {"until_first_epoch_seconds",
                                 prepare_seconds + outcome.ranks.front().seconds_to_first_epoch}};
    first_ = false;
    results->write("result.json",
                   done.result.dump(2) + "\n");  // last: it says that the folder is complete
    return done;
  }

 private:
  /// Cut once, by the process that leads, and shared with the others.
  Partition partition(const Experiment& experiment, const ProblemData& data) const {
    if (job_.world == nullptr || data.parts) return make_partition(experiment, data);
    Partition cut{parts_for(experiment.strategy, experiment.ranks()), {}};
    std::string bytes;
    if (job_.leads()) {
      cut = make_partition(experiment, data);
      bytes.assign(reinterpret_cast<const char*>(cut.owner.data()),
                   cut.owner.size() * sizeof(cut.owner[0]));
    }
    job_.share(bytes);
    cut.owner.resize(bytes.size() / sizeof(cut.owner[0]));
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(cut.owner.data()));
    return cut;
  }

  Outcome execute_all(const Experiment& experiment, const Problem& problem,
                      const StrategyPlan& plan, const ExecuteOptions& execute,
                      const ResultFolder* results) const {
    const std::string strategy = experiment.resolved["strategy"]["type"];
    ProgressBar bar(experiment.label.empty() ? strategy : experiment.label, problem.train.epochs,
                    results != nullptr && !options_.quiet);
    const auto progress = [&](const EpochReport& report, double seconds) {
      results->append_line("epochs.jsonl", epoch_json(report, seconds));
      bar.update(report.epoch + 1, report.loss,
                 report.scores ? report.scores->validation : std::nullopt);
    };
    if (job_.world == nullptr) return execute_on_threads(problem, plan, execute, progress);
    return execute_on_mpi(*job_.world, *job_.communicator, problem, plan, execute, progress);
  }

  static FinishedRun report(const Experiment& experiment, const DataFacts& data,
                            const Placement& placement, Outcome& outcome,
                            const std::vector<double>& earlier_seconds,
                            const ResultFolder& results) {
    std::vector<std::vector<EpochCost>> costs;
    std::vector<Timeline> timelines;
    std::vector<Summary> summaries;
    for (RankOutcome& rank : outcome.ranks) {
      costs.push_back(std::move(rank.epochs));
      timelines.push_back(std::move(rank.timeline));
      summaries.push_back(rank.summary);
    }
    if (costs.front().empty()) {  // killed after its last epoch: what was reported then
      costs.assign(1, {});
      for (const double seconds : earlier_seconds) costs.front().push_back({seconds, {}});
    }
    FinishedRun done{experiment, measure(costs, summaries), {}};
    done.result = result_json(experiment, data, placement, outcome, done.measured);
    done.result["out_dir"] = results.path().string();
    results.write("timeline.json", chrome_trace(timelines));
    return done;
  }

  const Options& options_;
  const Job& job_;
  DatasetCache datasets_;
  bool first_ = true;
};

/// A folder name for each combination: its label where that is a plain and unique name, else with
/// its number in front.
std::vector<std::string> folder_names(const std::vector<Experiment>& experiments) {
  std::vector<std::string> names;
  for (const Experiment& e : experiments) names.push_back(as_file_name(e.label));
  const std::set<std::string> distinct(names.begin(), names.end());
  if (distinct.size() < names.size())
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = fmt::format("{:03}-{}", i, names[i]);
  return names;
}

std::filesystem::path result_folder(const Options& options, const Experiment& first) {
  return options.out.empty() ? default_result_folder(first.name)
                             : std::filesystem::path(options.out);
}

/// Tells about all runs: tables, sweep.json, the JSON line.
void report_all(const std::vector<FinishedRun>& runs, std::size_t missing, bool sweep,
                const ResultFolder& results, const Options& options) {
  nlohmann::ordered_json out = runs.front().result;
  if (sweep) {
    out = sweep_json(runs, results.path().string(), missing);
    results.write("sweep.json", out.dump(2) + "\n");
  }
  if (!options.json || !options.quiet)
    print_report(runs, results.path().string(), options.file, options.json ? stderr : stdout);
  if (options.json) fmt::print("{}\n", out.dump());
}

/// What finished before a failure is reported all the same. `results`: on the process that leads.
void run_experiments(const std::vector<Experiment>& experiments, const ResultFolder* results,
                     const Options& options, const Job& job) {
  const bool sweep = !experiments.front().label.empty();
  const auto names = folder_names(experiments);
  Runner runner(options, job);
  std::vector<FinishedRun> runs;
  std::exception_ptr failure;
  for (std::size_t i = 0; i < experiments.size() && !failure; ++i) try {
      const bool stop = stop_requested;
      if (job.world == nullptr ? stop : job.world->any(stop)) break;
      std::optional<ResultFolder> own;
      if (sweep && results != nullptr) own.emplace(results->path() / names[i], options.existing());
      auto run = runner.run(experiments[i], own ? &*own : results);
      if (run) runs.push_back(std::move(*run));
    } catch (const std::exception& error) {
      failure = sweep && i > 0
                    ? std::make_exception_ptr(Error(experiments[i].label + ": " + error.what()))
                    : std::current_exception();
    }
  if (results != nullptr) {
    if (runs.empty() && !failure) throw Error("interrupted before the first run began");
    if (!runs.empty()) report_all(runs, experiments.size() - runs.size(), sweep, *results, options);
  }
  if (failure) std::rethrow_exception(failure);
}

void install_signals(bool mpi) {
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, mpi ? on_end : on_signal);
  std::signal(SIGUSR1, on_signal);
}

/// Whether the experiments run over MPI.   Errors  ConfigError where the way they were started does
/// not fit
bool runs_over_mpi(const std::vector<Experiment>& experiments, const Launch& launch) {
  const bool mpi = experiments.front().backend == "mpi";
  for (const Experiment& e : experiments) {
    if ((e.backend == "mpi") != mpi)
      throw ConfigError("sweep.backend",
                        "threads and mpi are started in different ways: run each "
                        "with --backend");
    if (mpi && e.ranks() != launch.size)
      throw ConfigError(
          "cluster",
          fmt::format("{} ranks in the experiment{}, but {} process{} started; run it as: mpirun "
                      "-n {} ./orrery run FILE --backend mpi",
                      e.ranks(), e.label.empty() ? "" : " (" + e.label + ")", launch.size,
                      launch.size == 1 ? " was" : "es were", e.ranks()));
  }
  if (!mpi && launch.size > 1)
    throw ConfigError("backend", fmt::format("{} processes were started, but the ranks of backend "
                                             "\"threads\" are threads of one; add --backend mpi",
                                             launch.size));
  return mpi;
}

int exit_code() { return stop_requested ? 1 : 0; }

/// A result that is already there, when asked to resume: nothing to do.
bool already_complete(const Options& options, const std::filesystem::path& folder, bool leads) {
  if (!options.resume || !is_complete(folder)) return false;
  if (!leads) return true;
  fmt::print(stderr, "{}: the run is complete, there is nothing to resume\n", folder.string());
  if (options.json) {
    std::ifstream in(folder / "result.json");
    fmt::print("{}\n", nlohmann::ordered_json::parse(in).dump());
  }
  return true;
}

int run_on_threads(const std::vector<Experiment>& experiments, const Options& options) {
  const auto folder = result_folder(options, experiments.front());
  if (already_complete(options, folder, true)) return 0;
  const ResultFolder results(folder, options.existing());
  install_signals(false);
  run_experiments(experiments, &results, options, {});
  return exit_code();
}

/// Lets the ranks agree on one message when several fail: the first to create a file in the result
/// folder speaks. Before there is one, rank 0 does, and the others only if they outlive it.
class Speaker {
 public:
  explicit Speaker(int rank) : rank_(rank) {}
  void meet_in(const std::filesystem::path& folder) { file_ = folder / "failure.json"; }
  bool may_speak() const {
    if (file_.empty()) {
      if (rank_ != 0) std::this_thread::sleep_for(std::chrono::seconds(3));
      return true;
    }
    const int descriptor = ::open(file_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (descriptor < 0) return errno != EEXIST;
    const std::string text = fmt::format("{{\"rank\": {}}}\n", rank_);
    const bool written = ::write(descriptor, text.data(), text.size()) > 0;
    return ::close(descriptor) == 0 || !written;
  }

 private:
  int rank_;
  std::filesystem::path file_;
};

int run_on_mpi(const std::vector<Experiment>& experiments, const Options& options, int rank) {
  install_signals(true);
  Speaker speaker(rank);
  MpiOptions mpi;
  mpi.may_report = [&] { return speaker.may_speak(); };
  mpi.ending = &ended_from_outside;
  MpiWorld world(mpi);
  int code = 0;
  world.run([&](Communicator& communicator) {
    const Job job{&world, &communicator};
    std::string folder = result_folder(options, experiments.front()).string();
    job.share(folder);
    std::string complete = job.leads() && already_complete(options, folder, true) ? "complete" : "";
    job.share(complete);
    if (!complete.empty()) return;
    std::optional<ResultFolder> results;
    if (job.leads()) results.emplace(folder, options.existing());
    job.share(folder);  // the folder is there
    speaker.meet_in(folder);
    run_experiments(experiments, results ? &*results : nullptr, options, job);
    code = exit_code();
  });
  return code;
}

int run_all(Options options) {
  if (!options.backend.empty()) options.overrides.push_back("backend=" + options.backend);
  const Launch launch = launch_from_environment();
  const auto experiments = load_experiments(options.file, options.overrides, launch.size);
  if (!options.print_job.empty()) {
    if (options.print_job != "slurm")
      throw ConfigError("--print-job",
                        fmt::format("found \"{}\", allowed: slurm", options.print_job));
    fmt::print("{}", slurm_script(experiments.front(), options.file, options.overrides));
    return 0;
  }
  if (options.resume && !experiments.front().label.empty())
    throw ConfigError("--resume",
                      "resumes one run, but the experiment is a sweep: choose a "
                      "combination with --set");
  if (options.resume && options.out.empty())
    throw ConfigError("--resume", "needs --out, the folder of the run to go on with");
  return runs_over_mpi(experiments, launch) ? run_on_mpi(experiments, options, launch.rank)
                                            : run_on_threads(experiments, options);
}

}  // namespace

void add_run_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("run", "train the experiment for real, every combination of its sweep");
  command->add_option("FILE", options->file, "experiment file")->required();
  command->add_option("--set", options->overrides, "override a key: key.path=value")
      ->allow_extra_args(false);
  command->add_option("--backend", options->backend,
                      "how ranks run: threads, or mpi under mpirun or srun");
  command->add_option("--out", options->out, "result folder (default: results/<name>-<time>)");
  command->add_flag("--force", options->force, "overwrite results in --out");
  command->add_flag("--resume", options->resume,
                    "go on from the checkpoint in --out, if there is one (train.checkpoint_every)");
  command->add_option("--print-job", options->print_job,
                      "print a job script that runs it on a cluster: slurm");
  command->add_flag("--json", options->json, "one JSON object as the last line of standard output");
  command->add_flag("--quiet", options->quiet, "no progress, no notes");
  command->footer(
      "Examples: orrery run configs/quickstart.json --set cluster.ranks=2 --set train.epochs=20\n"
      "          mpirun -n 4 ./orrery run configs/quickstart.json --set cluster.ranks=4 --backend "
      "mpi");
  command->callback([options, &exit_code] { exit_code = run_all(*options); });
}

}  // namespace orrery
