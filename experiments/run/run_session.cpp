#include "experiments/run/run_session.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <fstream>
#include <functional>
#include <memory>
#include <regex>
#include <set>

#include "backends/cuda/cuda_device.hpp"
#include "core/base/error.hpp"
#include "core/terminal/activity.hpp"
#include "core/terminal/message.hpp"
#include "core/terminal/plain_text.hpp"
#include "core/terminal/tell.hpp"
#include "experiments/config/installed.hpp"
#include "experiments/config/load_problem.hpp"
#include "experiments/config/version.hpp"
#include "experiments/execute/launch.hpp"
#include "experiments/results/next_steps.hpp"
#include "experiments/results/progress.hpp"
#include "experiments/results/sweep_log.hpp"
#include "experiments/run/agreement.hpp"
#include "experiments/run/forecast.hpp"
#include "experiments/run/interruption.hpp"
#include "experiments/run/job_script.hpp"
#include "experiments/run/runner.hpp"
#include "experiments/run/speaker.hpp"

namespace orrery {
namespace {

/// A folder name for each combination: its label if that is a plain and unique name, else with its
/// number in front.
std::vector<std::string> folder_names(const std::vector<Experiment>& experiments) {
  std::vector<std::string> names;
  for (const Experiment& e : experiments) names.push_back(as_file_name(e.label));
  if (names == std::vector<std::string>{""}) names = {"run"};
  const std::set<std::string> distinct(names.begin(), names.end());
  if (distinct.size() < names.size())
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = fmt::format("{:03}-{}", i, names[i]);
  return names;
}

std::filesystem::path result_folder(const RunOptions& options, const Experiment& first) {
  if (!options.out.empty()) return options.out;
  if (options.sweep) return std::filesystem::path("results") / as_file_name(first.name);
  return default_result_folder(first.name);
}

/// Does the work, and returns why it could not be written, if so.
std::string written(const std::function<void()>& write) {
  try {
    write();
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

/// Reports all runs: tables, sweep.json, the JSON line. Returns which file of a run or of the sweep
/// could not be written and why, or nothing. Tables come as early as possible: the simulations
/// after real runs, if all is `complete`, take their time.
std::string report_all(std::vector<FinishedRun>& runs, const Unfinished& unfinished, bool complete,
                       bool sweep, const ResultFolder& results, const RunOptions& options) {
  const bool tables = !options.quiet;
  std::FILE* to = options.json ? stderr : stdout;
  const auto as_json = [&] {
    return sweep ? sweep_json(runs, results.path().string(), unfinished) : runs.front().result;
  };
  std::string lost;
  const auto keep_sweep = [&] {
    if (sweep) lost = written([&] { results.write("sweep.json", as_json().dump(2) + "\n"); });
  };
  {
    const EndsInOrder reporting;
    keep_sweep();
    if (tables) {
      print_report(runs, results.path().string(), unfinished, to);
      const AskedRuns asked{program_as_called(), options.file, options.overrides, options.sweep};
      fmt::print(to, "{}", next_steps(runs, results.path().string(), asked, unfinished));
      std::fflush(to);
    }
  }
  if (complete) {
    forecast(runs, options.quiet, &stop_requested());
    keep_sweep();
    if (tables) print_forecasts(runs, to);
  }
  if (options.json) fmt::print("{}\n", as_json().dump());
  for (const FinishedRun& run : runs)
    if (lost.empty()) lost = run.not_written;
  return lost;
}

/// The same error with its combination.
std::exception_ptr with_label(const std::exception& error, const std::string& label) {
  const std::string what = label + ": " + message_of(error);
  if (dynamic_cast<const ConfigError*>(&error) != nullptr)
    return std::make_exception_ptr(ConfigError("", what));
  return std::make_exception_ptr(Error(what));
}

/// Which combinations a sweep has done before, the same on all ranks.
std::vector<bool> done_before(const std::vector<Experiment>& experiments, const SweepLog* log,
                              const Job& job) {
  std::string done(experiments.size(), '0');
  for (std::size_t i = 0; i < experiments.size() && log != nullptr; ++i)
    if (log->find(experiments[i]) != nullptr) done[i] = '1';
  job.share(done);
  std::vector<bool> list;
  for (const char c : done) list.push_back(c == '1');
  return list;
}

/// A combination's line of the log as its result.
FinishedRun taken_from(const nlohmann::ordered_json& line, const Experiment& experiment) {
  nlohmann::ordered_json result = line["result"];
  result["label"] = experiment.label;
  return {experiment, measurement_of(result), std::move(result)};
}

/// What ended each diverged run, a line each, the same on all ranks.
std::string divergences(const std::vector<FinishedRun>& runs, const Job& job) {
  std::string lines;
  for (const FinishedRun& run : runs)
    if (const std::string line = divergence_line(run.result); !line.empty())
      lines += fmt::format("orrery: error: {}\n", one_line(line));
  job.share(lines);
  return lines;
}

/// The exit status. Runs that finished before a failure are reported in any case. `results`: on the
/// leading process; so is `log`, which a sweep has.
int run_experiments(const std::vector<Experiment>& experiments, const ResultFolder* results,
                    SweepLog* log, const RunOptions& options, const Job& job) {
  const bool sweep = options.sweep || !experiments.front().label.empty();
  const auto names = folder_names(experiments);
  const auto done = done_before(experiments, log, job);
  SweepProgress progress(done, log != nullptr && !options.quiet);
  Runner runner({.quiet = options.quiet,
                 .resume = options.resume,
                 .anyway = options.anyway,
                 .stop = &stop_requested(),
                 .log = options.log},
                job);
  std::vector<FinishedRun> runs;
  Unfinished unfinished{experiments.size()};
  std::exception_ptr failure;
  for (std::size_t i = 0; i < experiments.size() && !failure; ++i) try {
      if (done[i]) {
        if (log != nullptr) runs.push_back(taken_from(*log->find(experiments[i]), experiments[i]));
        --unfinished.missing;
        continue;
      }
      const bool stop = stop_requested();
      if (job.world == nullptr ? stop : job.world->any(stop)) break;
      std::optional<ResultFolder> own;
      if (sweep && results != nullptr)
        own.emplace(results->path() / names[i],
                    options.sweep ? Existing::overwrite : options.existing());
      auto run = runner.run(experiments[i], own ? &*own : results);
      --unfinished.missing;
      if (!run) continue;
      const FinishedRun& last = runs.emplace_back(std::move(*run));
      if (!last.not_written.empty()) throw Error(last.not_written);
      if (log != nullptr && !last.result["interrupted"].get<bool>()) {
        log->append(experiments[i],
                    {{"config", last.experiment.resolved}, {"result", last.result}});
        progress.finished(experiments[i].label);
      }
    } catch (const std::exception& error) {
      failure = std::current_exception();
      unfinished.failure = message_of(error);
      if (sweep && i > 0) failure = with_label(error, experiments[i].label);
    }
  std::string diverged;
  if (!failure) diverged = divergences(runs, job);
  if (results != nullptr) {
    if (runs.empty() && !failure) throw Error("interrupted before the first run began");
    if (!runs.empty()) {
      const bool complete = unfinished.missing == 0 && !failure && !stop_requested();
      const std::string lost = report_all(runs, unfinished, complete, sweep, *results, options);
      if (!failure && !lost.empty()) throw Error(lost);
    }
  }
  if (failure) std::rethrow_exception(failure);
  if (results != nullptr) tell_text(diverged);
  return diverged.empty() && !stop_requested() ? 0 : 1;
}

/// The same command, for starting it in another way.
JobRequest request_of(const RunOptions& options) {
  return {options.file,
          options.overrides,
          options.out,
          options.force,
          options.anyway,
          options.resume,
          options.sweep ? "sweep" : "run"};
}

/// Whether the experiments run over MPI.
///
/// Errors    ConfigError if the way they were started does not fit
bool runs_over_mpi(const std::vector<Experiment>& experiments, const Launch& launch,
                   const RunOptions& options) {
  const bool mpi = experiments.front().over_mpi();
  if (mpi && launch.size == 1 && !MpiWorld::built())
    throw ConfigError(
        "backend",
        fmt::format("the ranks of {} are processes; start {} with: {}", experiments.front().backend,
                    experiments.front().ranks() == 1 ? "it" : "them",
                    mpirun_line(experiments.front(), request_of(options))));
  for (const Experiment& e : experiments) {
    if (e.over_mpi() != mpi)
      throw ConfigError("sweep.backend",
                        "mpi and nccl need their own start: run each with --backend");
    if (mpi && e.ranks() != launch.size)
      throw ConfigError(
          "cluster",
          fmt::format("{} ranks in the experiment{}, but {} process{} started; run it as: {}",
                      e.ranks(), e.label.empty() ? "" : " (" + e.label + ")", launch.size,
                      launch.size == 1 ? " was" : "es were", mpirun_line(e, request_of(options))));
  }
  const std::string& backend = experiments.front().backend;
  if (!mpi && launch.size > 1)
    throw ConfigError(
        "backend",
        fmt::format(
            "{} processes were started, but backend \"{}\" is one process{}", launch.size, backend,
            backend == "threads" ? "; add --backend mpi" : ": start it without mpirun or srun"));
  return mpi;
}

/// An existing result when asked to resume: it only has to be reported.
bool already_complete(const RunOptions& options, const std::filesystem::path& folder,
                      const Experiment& experiment) {
  if (!options.resume || !is_complete(folder, experiment.resolved)) return false;
  remove_unfinished(folder);
  tell("{}: the run is complete, there is nothing to resume\n", folder.string());
  if (options.json) {
    std::ifstream in(folder / "result.json");
    fmt::print("{}\n", nlohmann::ordered_json::parse(in).dump());
  }
  return true;
}

/// The folder of the output, with the log of a sweep.
struct Writing {
  Writing(const std::filesystem::path& folder, const std::vector<Experiment>& experiments,
          const RunOptions& options)
      : results(refuse_others(folder, experiments, options),
                options.sweep ? Existing::overwrite : options.existing()) {
    if (!options.sweep) return;
    results.write(kSweepBase, experiments.front().base.dump(2) + "\n");
    log_.emplace(folder / kSweepLog);
    if (options.quiet) return;
    const auto done = std::count_if(experiments.begin(), experiments.end(),
                                    [&](const auto& e) { return log_->find(e) != nullptr; });
    tell("{}: {} combinations, {} of them done before\n", folder.string(), experiments.size(),
         done);
  }
  SweepLog* log() { return log_ ? &*log_ : nullptr; }
  ResultFolder results;

 private:
  /// A sweep would remove the files that `run` has left there, and mix with another sweep.
  static const std::filesystem::path& refuse_others(const std::filesystem::path& folder,
                                                    const std::vector<Experiment>& experiments,
                                                    const RunOptions& options) {
    if (!options.sweep) return folder;
    const bool of_run = std::filesystem::exists(folder / "sweep.json") &&
                        !std::filesystem::exists(folder / kSweepBase);
    if (of_run || std::filesystem::exists(folder / "result.json"))
      throw Error(folder.string() + ": holds the result of `orrery run`; choose another --out");
    require_same_sweep(folder, experiments);
    return folder;
  }
  std::optional<SweepLog> log_;
};

int run_on_threads(const std::vector<Experiment>& experiments, const RunOptions& options) {
  const auto folder = result_folder(options, experiments.front());
  if (already_complete(options, folder, experiments.front())) return 0;
  Writing writing(folder, experiments, options);
  heed_signals(false, true);
  tell_activities(!options.quiet);
  return run_experiments(experiments, &writing.results, writing.log(), options, {});
}

int run_on_mpi(const std::vector<Experiment>& experiments, const RunOptions& options,
               const Launch& launch) {
  heed_signals(true, launch.rank == 0);
  tell_activities(launch.rank == 0 && !options.quiet);
  Speaker speaker(options.out);
  MpiOptions mpi;
  mpi.may_report = [&](const JobFailure& failure) { return speaker.may_speak(failure); };
  mpi.ending = &ended_from_outside();
  mpi.processes = launch.size;
  MpiWorld world(mpi);
  int code = 0;
  world.run([&](Communicator& communicator) {
    const Job job{&world, &communicator};
    require_same_settings(job, experiments);
    std::string folder = result_folder(options, experiments.front()).string();
    job.share(folder);
    std::string complete =
        job.leads() && already_complete(options, folder, experiments.front()) ? "complete" : "";
    job.share(complete);
    if (!complete.empty()) return;
    std::optional<Writing> writing;
    if (job.leads()) writing.emplace(folder, experiments, options);
    job.share(folder);  // the folder is there
    speaker.meet_in(folder);
    try {
      code = run_experiments(experiments, writing ? &writing->results : nullptr,
                             writing ? writing->log() : nullptr, options, job);
    } catch (const OutOfMemory& error) {
      world.fail(with_advice(error));
    }
  });
  return code;
}

/// "N" or "FROM-TO" of --timeline-epochs as overrides of the file.
void add_timeline_epochs(RunOptions& options) {
  const std::string& asked = options.timeline_epochs;
  if (asked.empty()) return;
  static const std::regex kRange("([0-9]{1,7})(?:-([0-9]{1,7}))?");
  std::smatch parts;
  const bool range = std::regex_match(asked, parts, kRange);
  const int first = range ? std::stoi(parts[1]) : 0;
  const int last = range && parts[2].matched ? std::stoi(parts[2]) : -1;
  if (!range || (parts[2].matched && last < first))
    throw ConfigError(
        "--timeline-epochs",
        fmt::format("found \"{}\", expected a number of epochs (5), or the first and the last, "
                    "numbered from 0 (10-12)",
                    asked));
  if (!parts[2].matched) {
    options.overrides.push_back(fmt::format("timeline.epochs={}", first));
    return;
  }
  options.overrides.push_back(fmt::format("timeline.first={}", first));
  options.overrides.push_back(fmt::format("timeline.epochs={}", last - first + 1));
}

}  // namespace

std::string with_advice(const OutOfMemory& error) {
  return fmt::format(
      "{}; more ranks or parts, smaller batches, a narrower model or fewer layers need less, and "
      "orrery plan shows what each rank holds",
      error.what());
}

int run_session(RunOptions options) {
  add_timeline_epochs(options);
  if (!options.backend.empty()) options.overrides.push_back("backend=" + options.backend);
  const Launch launch = launch_from_environment();
  const auto experiments = load_experiments(options.file, options.overrides, launch.size);
  for (const Experiment& e : experiments) {
    require_data(e);
    require_clusters(e);
  }
  if (!options.print_job.empty()) {
    if (options.print_job != "slurm")
      throw ConfigError("--print-job",
                        fmt::format("found \"{}\", allowed: slurm", options.print_job));
    for (const Experiment& e : experiments)
      if (e.ranks() != experiments.front().ranks())
        throw ConfigError("--print-job",
                          "the combinations of the sweep need different numbers of "
                          "ranks: choose one number with --set");
    fmt::print("{}", slurm_script(experiments.front(), request_of(options)));
    return 0;
  }
  if (options.resume && !experiments.front().label.empty())
    throw ConfigError("--resume",
                      "resumes one run, but the experiment is a sweep: choose a "
                      "combination with --set");
  if (options.resume && options.out.empty())
    throw ConfigError("--resume", "needs --out, the folder of the run to continue");
  const bool mpi = runs_over_mpi(experiments, launch, options);
  for (const Experiment& e : experiments)
    // reported before anything is read
    if (e.trains() && e.kernels == "cuda") cuda::choose_gpu(0, 1);
  return mpi ? run_on_mpi(experiments, options, launch) : run_on_threads(experiments, options);
}

}  // namespace orrery
