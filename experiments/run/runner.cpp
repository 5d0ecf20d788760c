#include "experiments/run/runner.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <tuple>

#include "core/base/available_memory.hpp"
#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/parallel.hpp"
#include "core/base/units.hpp"
#include "core/graph/files/checksum.hpp"
#include "core/graph/read/load.hpp"
#include "core/strategy/store/access_trace.hpp"
#include "core/terminal/activity.hpp"
#include "core/terminal/tell.hpp"
#include "experiments/calibrate/other_work.hpp"
#include "experiments/execute/execute_mpi.hpp"
#include "experiments/execute/launch.hpp"
#include "experiments/execute/trace.hpp"
#include "experiments/predict/closed_forms.hpp"
#include "experiments/predict/fit.hpp"
#include "experiments/predict/interval.hpp"
#include "experiments/predict/preloading.hpp"
#include "experiments/predict/servers/price.hpp"
#include "experiments/predict/servers/reading.hpp"
#include "experiments/predict/simulate.hpp"
#include "experiments/results/checkpoint.hpp"
#include "experiments/results/epoch_log.hpp"
#include "experiments/results/limits.hpp"
#include "experiments/results/progress.hpp"
#include "experiments/results/set_up.hpp"
#include "experiments/run/agreement.hpp"
#include "experiments/run/interruption.hpp"
#include "experiments/run/thin_timelines.hpp"
#include "experiments/score/predictions.hpp"
#include "experiments/score/scores.hpp"

namespace orrery {
namespace {

/// A graph without the reverse of its edges differs from that of most papers.
std::string directed_note(const PreparedExperiment& prepared) {
  const DataFacts& data = prepared.problem->facts();
  const auto& model = prepared.experiment.resolved["model"];
  return fmt::format(
      "the graph is directed: a vertex aggregates over its in-edges{}{}",
      model.value("normalisation", "") == "row" ? ", and rows are normalised by their number" : "",
      data.generated ? "" : "; dataset.symmetric=true adds the reverse of every edge");
}

/// Remarks on graph, cut and machine for readers of times and accuracies.
std::vector<std::string> notes_of(const PreparedExperiment& prepared) {
  const DataFacts& data = prepared.problem->facts();
  std::vector<std::string> notes = data.notes;
  if (!data.symmetric) notes.push_back(directed_note(prepared));
  if (data.edges == 0)
    notes.emplace_back("the graph has no edges: every vertex learns only from its own features");
  if (data.vertices > 0 && data.classes == 1)
    notes.emplace_back(
        "all labels have one class: every model is right, so accuracy means nothing");
  if (const int empty = empty_parts(prepared.problem->partition); empty > 0)
    notes.push_back(fmt::format("{} of {} parts hold no vertex, so some ranks own nothing", empty,
                                prepared.problem->partition.parts));
  for (std::string& note : prepared.strategy->notes()) notes.push_back(std::move(note));
  const Experiment& experiment = prepared.experiment;
  if (!experiment.trains() && experiment.checkpoint_every + experiment.checkpoint_steps > 0)
    notes.emplace_back(
        "checkpoints are written by real runs alone: no simulated time contains them");
  if (experiment.backend == "threads" && experiment.kernels != "cuda" &&
      experiment.ranks() > available_cores())
    notes.push_back(
        fmt::format("{} ranks take turns on {} core{}: times are longer than with a core for each",
                    experiment.ranks(), available_cores(), available_cores() == 1 ? "" : "s"));
  return notes;
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// The file's placement if it has one, else that of the started ranks.
Placement placement_of(const Experiment& experiment, const Job& job) {
  return experiment.places_ranks() || job.world == nullptr ? experiment.placement()
                                                           : job.world->placement();
}

/// The strategy depends on the file's servers: they must be those that the ranks were started on.
void require_placed(const Experiment& experiment, const Job& job) {
  if (!info_of(experiment.strategy).by_server || experiment.places_ranks() ||
      job.world == nullptr || job.world->placement().servers() == 1)
    return;
  throw ConfigError("cluster",
                    fmt::format("{} needs to know which ranks share a server, but these were "
                                "started on {}: set cluster.servers and "
                                "cluster.ranks_per_server, or name a cluster.file",
                                experiment.strategy.type, job.world->placement().servers()));
}

/// The kernel ends a process that touches more memory than there is, without a message.
///
/// Errors    Error with what is needed and what is available
void require_memory_for(std::int64_t bytes) {
  const auto available = available_memory();
  if (!available || bytes <= *available) return;
  throw Error(fmt::format(
      "its ranks on this machine need {} of memory, but {} are available; a narrower model, "
      "fewer layers or ranks on more machines need less (orrery plan shows what each rank "
      "holds), and orrery run --anyway tries it",
      human_bytes(static_cast<double>(bytes)), human_bytes(static_cast<double>(*available))));
}

/// A run with the timelines that are still to be written.
struct Reported {
  FinishedRun run;
  std::vector<Timeline> timelines;
};

/// The rank with the longest epochs in total.
int slowest_of(const std::vector<std::vector<EpochCost>>& costs) {
  std::vector<double> seconds;
  for (const auto& rank : costs) {
    seconds.push_back(0);
    for (const EpochCost& epoch : rank) seconds.back() += epoch.seconds;
  }
  return static_cast<int>(std::max_element(seconds.begin(), seconds.end()) - seconds.begin());
}

/// Of the data of an experiment; empty where no process has all of it.
std::string fingerprint_of(const PreparedExperiment& prepared) {
  return prepared.problem->data ? fingerprint_of(*prepared.problem->data) : "";
}

/// What must be alike on all processes of a job: of data in memory its fingerprint, and its weights of edges;
/// of parts how large each is.
std::string identity_of(const ProblemData& data) {
  if (data.stored)
    return fmt::format("parts of {} vertices", fmt::join(data.stored->sizes(), ", "));
  std::string identity = data.data ? "fingerprint " + fingerprint_of(*data.data) : "counts";
  if (data.edge_weights) {
    const std::vector<float>& weights = data.edge_weights->of_graph.values;
    identity += ", weights " + checksum({reinterpret_cast<const char*>(weights.data()),
                                         weights.size() * sizeof(float)});
  }
  return identity;
}

/// Puts the result together.
Reported report(const PreparedExperiment& prepared, const Placement& placement, Outcome& outcome,
                const std::vector<double>& earlier_seconds, const std::string& fingerprint,
                const ResultFolder& results) {
  std::vector<std::vector<EpochCost>> costs;
  std::vector<Timeline> timelines;
  std::vector<Summary> summaries;
  for (RankOutcome& rank : outcome.ranks) {
    costs.push_back(rank.epochs);
    if (!rank.timeline.spans.empty()) timelines.push_back(std::move(rank.timeline));
    summaries.push_back(rank.summary);
  }
  if (costs.front().empty()) {  // killed after its last epoch: its last report
    costs.assign(1, {});
    for (const double seconds : earlier_seconds) {
      EpochCost cost{seconds, {}};
      cost.breakdown.other = seconds;  // its parts were not stored
      costs.front().push_back(cost);
    }
  }
  const auto ranks = static_cast<int>(costs.size());
  timelines = thinned(std::move(timelines), slowest_of(costs),
                      most_in_timelines(ranks, prepared.experiment.backend == "sim"));
  FinishedRun done{prepared.experiment, measure(costs, summaries), {}};
  done.result =
      result_json(done.experiment, prepared.problem->facts(), placement, outcome, done.measured);
  if (!fingerprint.empty()) done.result["dataset"]["fingerprint"] = fingerprint;
  done.result["out_dir"] = results.path().string();
  done.result["timeline_ranks"] = nullptr;
  if (!timelines.empty()) done.result["timeline_ranks"] = timelines.size();
  return {std::move(done), std::move(timelines)};
}

/// Makes what this process' ranks train on, so that its time is known apart: recording and running
/// take what is kept. Leaves out what is drawn for each epoch or read from a folder when its turn
/// comes, which is never kept.
void make_structures(const PreparedExperiment& prepared, const Job& job) {
  if (prepared.problem->stored) return;
  prepared.body().require_runnable();
  const Activity making("cutting what ranks train on out of the graph");
  const Strategy& strategy = *prepared.strategy;
  const int first = job.world == nullptr ? 0 : job.world->rank();
  const int ranks = job.world == nullptr ? prepared.problem->ranks() : 1;
  parallel_for(ranks, 1, [&](std::int64_t begin, std::int64_t) {
    const int rank = first + static_cast<int>(begin);
    const auto fixed = strategy.schedule(rank).training->fixed();
    if (!fixed) return;
    for (const StructureId& structure : *fixed) strategy.prepare(rank, structure);
  });
}

/// Seconds of the process that takes longest, on the leading process; elsewhere its own.
double longest(double seconds, const Job& job) {
  if (job.world == nullptr) return seconds;
  for (const std::string& text : job.world->gather(fmt::format("{}", seconds)))
    seconds = std::max(seconds, std::stod(text));
  return seconds;
}

/// Not for processes that each know only their own server: orrery plan is for those.
void add_preloading(FinishedRun& done, const PreparedExperiment& prepared) {
  done.result["preloading"] = preloading_json(prepared, done.measured.peak_bytes);
}

/// What the file of a timeline says about the run, so that two open ones can be told apart.
nlohmann::ordered_json about_timeline(const FinishedRun& done) {
  const auto& result = done.result;
  const bool trained = done.experiment.trains();
  return {{"experiment", result["name"]},
          {"label", result["label"]},
          {"strategy", result["strategy"]},
          {"made", trained                      ? "measured"
                   : result["backend"] == "sim" ? "simulated"
                                                : "modelled"},
          {"clocks", trained ? "each rank's begins when the rank does" : "one"},
          {"ranks", result["ranks"]},
          {"version", result["provenance"]["version"]},
          {"revision", result["provenance"]["revision"]},
          {"config", done.experiment.resolved}};
}

/// Keeps which rows of other ranks the drawn batches of a simulation ask for.
nlohmann::ordered_json keep_accesses(const PreparedExperiment& prepared, int epochs,
                                     const ResultFolder& results) {
  const Activity keeping("keeping which rows the drawn batches ask for");
  const SampledBatches batches(*prepared.problem);
  std::vector<AccessTrace> ranks(at(prepared.problem->ranks()));
  parallel_for(std::ssize(ranks), 1, [&](std::int64_t rank, std::int64_t) {
    const auto steps = prepared.strategy->schedule(static_cast<int>(rank)).training;
    std::set<AccessTrace::Step> taken;  // each drawn one once
    for (int epoch = 0; epoch < epochs; ++epoch)
      for (int index = 0; index < steps->count(epoch); ++index) {
        const StructureId drawn = steps->at(epoch, index).structure;
        taken.insert({drawn.draw, drawn.number});
      }
    ranks[at(rank)] = accesses_of(batches, static_cast<int>(rank), {taken.begin(), taken.end()});
  });
  std::size_t drawn = 0, rows = 0;
  for (const AccessTrace& trace : ranks) {
    drawn += trace.batches.size();
    rows += trace.rows.size();
  }
  const std::int64_t bytes = write_accesses(results.path(), ranks);
  return {{"batches", drawn}, {"rows", rows}, {"bytes", bytes}};
}

/// Writes the result, and then the files that one can do without: the timeline is by far the
/// largest file, so a nearly full disk holds the result.
void write_result(FinishedRun& done, const std::vector<Timeline>& timelines,
                  const ResultFolder& results) {
  const EndsInOrder writing("the result is written");
  done.result["limited_by"] = limited_by(done.result);
  try {
    results.write("result.json", done.result.dump(2) + "\n");
    if (timelines.empty()) return;
    const Activity timeline("writing the timeline");
    results.write("timeline.json", chrome_trace(timelines, about_timeline(done)));
  } catch (const Error& error) {
    done.not_written = error.what();
  }
}

/// The same for combinations that were not run: nothing was computed or received. Their epochs are
/// those of the described servers, which may have a price.
void write_forecast(Reported& made, const ResultFolder& results) {
  if (const auto usd = usd_per_epoch(made.run.experiment, made.run.measured.epoch_seconds))
    made.run.result["usd_per_epoch"] = *usd;
  made.run.result["kernels"] = nullptr;
  made.run.result["received_bytes"] = nullptr;
  write_result(made.run, made.timelines, results);
}

}  // namespace

calibrate::OtherWork others_beside(const Job& job, const calibrate::WorkReading& seen) {
  std::vector<calibrate::WorkReading> all{seen};
  if (job.world == nullptr) return calibrate::work_of_others(all);
  const auto texts = job.world->gather(to_text(seen));
  if (!job.leads()) return {};
  all.clear();
  for (const std::string& text : texts) all.push_back(calibrate::reading_from_text(text));
  return calibrate::work_of_others(all);
}

/// Notes on the same data are not repeated.
void Runner::announce(const PreparedExperiment& prepared) {
  const DataFacts& data = prepared.problem->facts();
  std::vector<std::string> lines{fmt::format("{}: {} vertices, {} directed edges{}\n", data.name,
                                             data.vertices, data.edges,
                                             data.generated ? " (generated)" : "")};
  if (!announced_.contains(lines.front())) announced_.clear();  // notes of another data set
  for (const std::string& note : fitted_notes(prepared.experiment))
    lines.push_back(fmt::format("  {}\n", note));
  for (const std::string& note : notes_of(prepared))
    lines.push_back(fmt::format("  note: {}\n", note));
  for (const std::string& line : lines)
    if (announced_.insert(line).second) tell_text(line);
}

std::optional<FinishedRun> Runner::run(const Experiment& experiment, const ResultFolder* results) {
  try {
    return run_what_fits(experiment, results);
  } catch (const OutOfMemory& error) {
    if (experiment.label.empty() || job_.world != nullptr) throw;
    FinishedRun done = does_not_fit(experiment, datasets_.load(experiment).facts(), error);
    done.result["out_dir"] = results->path().string();
    write_result(done, {}, *results);
    return done;
  }
}

std::optional<FinishedRun> Runner::run_what_fits(const Experiment& asked,
                                                 const ResultFolder* results) {
  require_placed(asked, job_);
  const double age = process_age_seconds();
  const auto begin = std::chrono::steady_clock::now();
  const auto data = datasets_.load(asked);
  if (job_.world != nullptr) require_same_data(job_, identity_of(data));
  const double load_seconds = seconds_since(begin);
  SetUp set_up;
  const auto cutting = std::chrono::steady_clock::now();
  Partition cut = partition(asked, data);
  set_up.partition_seconds = seconds_since(cutting);
  const auto planning = std::chrono::steady_clock::now();
  const PreparedExperiment prepared = prepare(asked, data, std::move(cut));
  set_up.structure_seconds = seconds_since(planning);
  if (job_.leads() && !options_.quiet) announce(prepared);
  const Experiment& experiment = prepared.experiment;
  if (experiment.backend == "sim") return simulated(prepared, *results);
  if (experiment.backend == "model") return modelled(prepared, *results);

  ExecuteOptions options = execute_options(experiment);
  const std::string fingerprint = fingerprint_of(prepared);
  Earlier earlier;
  if (results != nullptr && options_.resume) {
    earlier = take_up(*results, experiment.resolved, fingerprint);
    if (earlier.checkpoint.empty() && !options_.quiet)
      tell("{}: no checkpoint, starting over\n", results->path().string());
  }
  job_.share(earlier.checkpoint);
  if (!earlier.checkpoint.empty())
    options.control.resume = std::make_shared<const Checkpoint>(
        parse_checkpoint(earlier.checkpoint, "the checkpoint", experiment.resolved, fingerprint));
  options.control.start = start_weights(experiment, prepared.problem->model.relations);
  if (results != nullptr) {
    results->write("config.json", experiment.resolved.dump(2) + "\n");
    const DataFacts facts = prepared.problem->facts();
    const FromData from_data{facts.features, facts.classes, fingerprint};
    options.keep = [&, from_data](const Checkpoint& checkpoint) {
      results->flush_epochs();  // a checkpoint is no use without the epochs that it has seen
      write_checkpoint(results->checkpoint(), checkpoint, experiment.resolved, from_data,
                       &prepared.problem->model);
    };
    options.keep_best = [&, from_data](const Checkpoint& model) {
      write_checkpoint(results->best(), model, experiment.resolved, from_data,
                       &prepared.problem->model, Kept::model);
    };
  }
  const auto making = std::chrono::steady_clock::now();
  make_structures(prepared, job_);
  set_up.structure_seconds = longest(set_up.structure_seconds + seconds_since(making), job_);
  const double prepare_seconds = age + seconds_since(begin);
  const EndsInOrder keeping("the result is written");  // including the epochs before a signal
  std::string log_not_written;
  const calibrate::WorkWatch watch;
  Outcome outcome = execute(prepared, options, results, log_not_written);
  const auto others = others_beside(job_, watch.reading());
  const bool first = std::exchange(first_, false);
  if (results == nullptr) return std::nullopt;

  outcome.epochs.insert(outcome.epochs.begin(), earlier.epochs.begin(), earlier.epochs.end());
  auto [done, timelines] =
      report(prepared, options.placement, outcome, earlier.seconds, fingerprint, *results);
  if (job_.world == nullptr) add_preloading(done, prepared);
  for (const RankOutcome& rank : outcome.ranks)
    set_up.device_seconds = std::max(set_up.device_seconds, rank.seconds_to_first_epoch);
  done.result["set_up"] = set_up_json(set_up);
  done.result["other_work"] = other_work_json(others);
  nlohmann::ordered_json& result = done.result;
  result["machines"] = job_.world == nullptr ? 1 : job_.world->placement().servers();
  result["resumed_from_epoch"] = nullptr;
  if (options.control.resume) result["resumed_from_epoch"] = options.control.resume->epochs;
  if (first)
    result["startup"] = {{"load_seconds", load_seconds},
                         {"until_first_epoch_seconds",
                          prepare_seconds + outcome.ranks.front().seconds_to_first_epoch}};
  if (!experiment.metrics.empty()) done.result["scores"] = scores(experiment, data, *results);
  write_result(done, timelines, *results);
  if (done.not_written.empty()) done.not_written = log_not_written;
  return std::move(done);
}

/// Read by the process that leads, where there are any.
std::shared_ptr<const Checkpoint> Runner::start_weights(
    const Experiment& experiment, const std::vector<std::string>& relations) const {
  if (experiment.start_weights.empty()) return nullptr;
  const std::string key = "train.weights";
  std::string bytes, origin;
  if (job_.leads()) std::tie(bytes, origin) = model_bytes(experiment.start_weights, key);
  job_.share(bytes);
  job_.share(origin);
  ModelCheckpoint kept = parse_checkpoint_of_model(bytes, origin, experiment.resolved, key);
  require_same_relations(kept, relations, key);
  return std::make_shared<const Checkpoint>(std::move(kept.checkpoint));
}

/// Scores of the best weights on the whole graph; null if there are none (no epoch was evaluated).
nlohmann::ordered_json Runner::scores(const Experiment& experiment, const ProblemData& data,
                                      const ResultFolder& results) const {
  if (!std::filesystem::exists(results.best())) return nullptr;
  const Activity scoring("scoring the best weights");
  const Experiment forward = forward_experiment(experiment.resolved, 1);
  const ModelCheckpoint model = read_model(results.best(), forward.resolved, "train.metrics");
  const ProblemData& whole = data.whole ? *data.whole : data;
  const Predicted predicted = predict(forward, whole, model.checkpoint);
  return chosen_scores(scores_json(predicted.logits, whole.data->labels, whole.data->split),
                       experiment.metrics);
}

FinishedRun Runner::simulated(const PreparedExperiment& prepared, const ResultFolder& results) {
  const Experiment& experiment = prepared.experiment;
  results.write("config.json", experiment.resolved.dump(2) + "\n");
  SimulatedOutcome made = simulate(prepared, simulator_);
  Reported told =
      report(prepared, experiment.placement(), made.outcome, {}, fingerprint_of(prepared), results);
  FinishedRun& done = told.run;
  add_preloading(done, prepared);
  const sim::PriceErrors errors = price_errors(experiment);
  done.result["interval"] = interval_json(
      done.measured.epoch_seconds,
      epoch_errors(errors, made.simulation["library"], done.measured.breakdown), errors.measured);
  done.result["loading"] = loading_json(prepared, simulator_);
  done.result["simulation"] = std::move(made.simulation);
  if (experiment.resolved["simulation"].value("accesses", false)) {
    auto kept = keep_accesses(prepared, static_cast<int>(made.outcome.epochs.size()), results);
    if (!options_.quiet)
      tell("{}: what {} batches ask other ranks for, {} rows, takes {}\n",
           (results.path() / kAccesses).string(), kept["batches"].get<std::int64_t>(),
           kept["rows"].get<std::int64_t>(), human_bytes(kept["bytes"].get<double>()));
    done.result["simulation"]["accesses"] = std::move(kept);
  }
  done.result["links"] = std::move(made.links);
  if (const auto bound = bound_of_memory(prepared))
    done.result["peak_bytes_bound"] = (*bound)[at(Space::device)];
  EpochLog log(&results, options_.log);
  for (std::size_t e = 0; e < done.measured.seconds.size(); ++e)
    log.append(made.outcome.epochs[e], done.measured.seconds[e]);
  write_forecast(told, results);
  if (done.not_written.empty()) done.not_written = log.finish();
  return std::move(done);
}

FinishedRun Runner::modelled(const PreparedExperiment& prepared, const ResultFolder& results) {
  const Experiment& experiment = prepared.experiment;
  results.write("config.json", experiment.resolved.dump(2) + "\n");
  ModelledOutcome made = model(prepared);
  Reported told =
      report(prepared, experiment.placement(), made.outcome, {}, fingerprint_of(prepared), results);
  add_preloading(told.run, prepared);
  told.run.result["model"] = std::move(made.model);
  told.run.result["equations"] = std::move(made.equations);
  write_forecast(told, results);
  return std::move(told.run);
}

ExecuteOptions Runner::execute_options(const Experiment& experiment) const {
  ExecuteOptions options;
  options.kernels = experiment.kernels;
  options.tf32 = experiment.tf32;
  options.cuda_graph = experiment.cuda_graph;
  options.nccl = experiment.backend == "nccl";
  options.placement = placement_of(experiment, job_);
  options.capacities = memory_capacities(experiment);
  options.timeline_epochs = experiment.timeline_epochs;
  options.stop = options_.stop;
  if (!options_.anyway) options.require_memory = require_memory_for;
  options.control.checkpoint_every = experiment.checkpoint_every;
  options.control.checkpoint_steps = experiment.checkpoint_steps;
  options.control.inspects_weights = true;
  return options;
}

/// Cut once, by the leading process, and shared with the others.
Partition Runner::partition(const Experiment& experiment, const ProblemData& data) const {
  // Fragments are many: every process makes the same ones.
  if (job_.world == nullptr || data.stored || experiment.strategy.cross_edges == CrossEdges::as_cut)
    return make_partition(experiment, data);
  Partition cut{static_cast<int>(parts_of(experiment, data_bytes(data.facts())).parts), {}};
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

Outcome Runner::execute(const PreparedExperiment& prepared, const ExecuteOptions& options,
                        const ResultFolder* results, std::string& log_not_written) const {
  const Experiment& experiment = prepared.experiment;
  const Problem& problem = *prepared.problem;
  const Strategy& plan = *prepared.strategy;
  const std::string strategy = experiment.resolved["strategy"]["type"];
  const int seen = options.control.resume ? options.control.resume->epochs : 0;
  ProgressBar bar(experiment.label.empty() ? strategy : experiment.label, seen,
                  problem.train.epochs, results != nullptr && !options_.quiet);
  const EndsInOrder training("this epoch");
  EpochLog log(results, options_.log);
  const auto progress = [&](const EpochReport& report, double seconds) {
    log.append(report, seconds);
    bar.update(report.epoch + 1, report.loss,
               report.scores ? report.scores->validation : std::nullopt);
  };
  const TrainingBody body(plan, problem);
  Outcome outcome = job_.world == nullptr
                        ? execute_on_threads(body, options, progress)
                        : execute_on_mpi(*job_.world, *job_.communicator, body, options, progress);
  log_not_written = log.finish();
  return outcome;
}

}  // namespace orrery
