#include "experiments/starve/starve_study.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/parallel.hpp"
#include "core/strategy/structure/sampled_batches.hpp"
#include "core/terminal/activity.hpp"
#include "experiments/config/shipped.hpp"
#include "experiments/execute/execute.hpp"
#include "experiments/execute/execute_mpi.hpp"
#include "experiments/predict/prepared.hpp"
#include "experiments/predict/simulate.hpp"
#include "experiments/run/forecast.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kTimesReady = 4;  // times the batches ready at first: as many are not counted

/// Epochs of a variant. Work made ready before the first step keeps ahead of the trainer for a
/// while, even if it cannot stay ahead: those epochs are not counted.
struct Epochs {
  int skipped, counted;
  int all() const { return skipped + counted; }
};

/// The same experiment with other values of some keys, without evaluations, and with as many
/// further epochs as stages may be ahead.
Experiment with(const Experiment& experiment, const Epochs& epochs, int follow,
                const Json& strategy) {
  Json file = experiment.resolved;
  file["strategy"].update(strategy);
  file["train"]["epochs"] = epochs.all() + follow;
  file["train"]["eval_every"] = 0;
  for (const char* key : {"checkpoint_every", "checkpoint_steps"}) file["train"].erase(key);
  file["timeline"] = {{"first", epochs.skipped}, {"epochs", epochs.counted}};
  file["simulation"]["epochs"] = epochs.all();
  file.erase("simulate_on");
  return parse_experiments(file.dump(), experiment.name, {}).front();
}

Json pipeline(const StagesAhead& ahead) {
  return {{"pipeline", {{"sample", ahead.sample}, {"fetch", ahead.fetch}, {"load", ahead.load}}}};
}

MiniBatchSettings settings_of(const Experiment& asked, const Json& strategy) {
  return mini_batch_of(with(asked, {1, 1}, 0, strategy).strategy);
}

/// Without times.
Fed fed_with(const MiniBatchSettings& settings) {
  Fed fed;
  fed.ahead = settings.ahead;
  fed.cache_bytes = settings.cache.bytes;
  for (const auto& [name, policy] : kCachePolicies)
    if (policy == settings.cache.policy && fed.cache_bytes > 0) fed.cache_policy = name;
  return fed;
}

Fed fed_by(const MiniBatchSettings& settings, const Outcome& outcome, int batches,
           const Epochs& epochs) {
  Fed fed = fed_with(settings);
  StageTimes all;
  for (const RankOutcome& rank : outcome.ranks)
    all += stage_times(rank.timeline, {epochs.skipped, epochs.counted});
  const double parts =
      static_cast<double>(batches) * epochs.counted * static_cast<double>(outcome.ranks.size());
  all.seconds /= parts;
  for (auto* list : {&all.busy, &all.waited})
    for (double& sum : *list) sum /= parts;
  fed.batch = all;
  for (int e = epochs.skipped; e < epochs.all(); ++e) {
    double slowest = 0;
    for (const RankOutcome& rank : outcome.ranks)
      slowest = std::max(slowest, rank.epochs[at(e)].seconds);
    fed.epoch_seconds += slowest / epochs.counted;
  }
  return fed;
}

/// Runs and simulates the variants of one experiment on the cut of the first.
class Variants {
 public:
  /// `counted` epochs of each.
  Variants(const Experiment& experiment, int counted, DatasetCache& datasets, Simulator& simulator)
      : counted_(counted), data_(datasets.load(experiment)), simulator_(simulator) {
    const PreparedExperiment prepared = prepare(experiment, data_);
    cut_ = prepared.problem->partition;
    batches_ = prepared.strategy->schedule(0).training->count(0);
    const auto& features = *data_.data->features;
    row_bytes_ = features.width() * (features.half() ? 2 : 4);
  }

  /// The experiment with other values of some keys of its strategy. `job`: of a run over MPI.
  Fed feed(const Experiment& asked, const Json& strategy, const Job& job = {}) {
    const MiniBatchSettings settings = settings_of(asked, strategy);
    const auto in_epochs = [&](int batches) { return 1 + (batches - 1) / batches_; };
    const int made_ready = settings.ahead.fetch + settings.ahead.load + 1;
    const Epochs epochs{in_epochs(kTimesReady * made_ready), counted_};
    const Experiment experiment =
        with(asked, epochs, in_epochs(settings.ahead.together()), strategy);
    const PreparedExperiment prepared = prepare(experiment, data_, cut_);
    const auto fed = [&](const Outcome& outcome) {
      return fed_by(settings, outcome, batches_, epochs);
    };
    if (experiment.backend == "sim") return fed(simulate(prepared, simulator_).outcome);
    ExecuteOptions options;
    options.kernels = experiment.kernels;
    options.tf32 = experiment.tf32;
    options.placement = experiment.placement();
    options.capacities = memory_capacities(experiment);
    options.timeline_epochs = experiment.timeline_epochs;
    options.control.epochs = epochs.all();
    if (job.world == nullptr) return fed(execute_on_threads(prepared.body(), options, {}));
    if (!experiment.places_ranks()) options.placement = job.world->placement();
    return fed(execute_on_mpi(*job.world, *job.communicator, prepared.body(), options, {}));
  }
  /// The same of settings that may need more memory than there is, which is an answer as well.
  Fed feed_if_it_fits(const Experiment& asked, const Json& strategy) {
    try {
      return feed(asked, strategy);
    } catch (const OutOfMemory& error) {
      Fed fed = fed_with(settings_of(asked, strategy));
      fed.does_not_fit = error.what();
      return fed;
    }
  }
  int batches() const { return batches_; }
  std::int64_t row_bytes() const { return row_bytes_; }
  std::int64_t vertices() const { return static_cast<std::int64_t>(cut_.owner.size()); }

 private:
  int counted_;
  ProblemData data_;
  Simulator& simulator_;
  Partition cut_;
  int batches_ = 0;
  std::int64_t row_bytes_ = 0;
};

std::vector<StagesAhead> capacities_to_try(bool fetches) {
  std::vector<StagesAhead> list{{0, 0, 0}, {1, 0, 1}, {2, 0, 1}};
  for (const auto& [sample, fetch] : {std::pair{1, 1}, {2, 1}, {5, 2}, {25, 5}})
    list.push_back({sample, fetches ? fetch : 0, 1});
  if (!fetches) list.erase(list.begin() + 3, list.begin() + 5);  // that exist already
  return list;
}

void require_studied(const Experiment& experiment, int epochs) {
  if (experiment.strategy.type != "mini_batch")
    throw ConfigError("strategy.type",
                      fmt::format("{} has no batches that are drawn, fetched and loaded one after "
                                  "the other: mini_batch does",
                                  experiment.strategy.type));
  if (experiment.backend != "threads" && experiment.backend != "mpi" && experiment.backend != "sim")
    throw ConfigError("backend",
                      fmt::format("found \"{}\"; starve measures \"threads\" and \"mpi\", and "
                                  "simulates \"sim\"",
                                  experiment.backend));
  if (epochs < 2)
    throw ConfigError("--epochs", "expected at least 2: the first epoch does not count");
}

void count_cores(StarveStudy& study, const Experiment& experiment) {
  const auto& times = study.now.batch;
  const double before_training = times.busy[0] + times.busy[1] + times.busy[2];
  const Placement placement = experiment.placement();
  const double sharing =
      static_cast<double>(study.ranks) / (study.measured ? 1 : std::max(1, placement.servers()));
  study.cores_busy = sharing * before_training / times.seconds;
  study.cores_needed = sharing * before_training / (times.seconds - times.waiting());
  if (study.measured)
    study.cores = available_cores();
  else
    study.cores = experiment.cluster->host.cores > 0
                      ? experiment.cluster->host.cores
                      : experiment.cluster->cores_of(experiment.devices.front());
}

/// Why a run cannot be simulated where it runs; empty: it can.
std::string why_not_replayed(const Experiment& experiment) {
  if (experiment.backend == "sim" || (experiment.backend == "mpi" && experiment.cluster)) return "";
  if (experiment.backend == "mpi" && experiment.placement().servers() > 1)
    return "the links between cluster.servers are not known: name a cluster file, which has links";
  if (!kClusterFiles.look_up(kThisMachine) || !kDeviceFiles.look_up(kThisMachine))
    return "this machine has not been calibrated: orrery calibrate";
  return "";
}

/// The experiment as it is simulated: over MPI on the cluster that its file names, else on this machine.
///
/// Requires  why_not_replayed() is empty
Experiment replayed_of(const Experiment& experiment) {
  if (experiment.backend == "sim") return experiment;
  if (experiment.backend != "mpi" || !experiment.cluster)
    return on_cluster(experiment, kThisMachine);
  Json file = experiment.resolved;
  file["backend"] = "sim";
  file.erase("simulate_on");
  const bool cpus = experiment.cluster->cores_of(experiment.devices.front()) > 0;
  if (cpus && file["simulation"]["library"] == "auto") file["simulation"]["library"] = "mpi";
  return parse_experiments(file.dump(), experiment.name, {}).front();
}

}  // namespace

std::optional<std::size_t> first_enough(const std::vector<Fed>& tried) {
  double best = std::numeric_limits<double>::infinity();
  for (const Fed& fed : tried)
    if (fed.does_not_fit.empty()) best = std::min(best, fed.epoch_seconds);
  for (std::size_t i = 0; i < tried.size(); ++i)
    if (tried[i].does_not_fit.empty() && tried[i].epoch_seconds <= kAsGood * best) return i;
  return std::nullopt;
}

Fed measure_over_mpi(const Experiment& experiment, int epochs, DatasetCache& datasets,
                     const Job& job) {
  require_studied(experiment, epochs);
  Simulator none;
  return Variants(experiment, epochs - 1, datasets, none).feed(experiment, Json::object(), job);
}

StarveStudy study_starving(const Experiment& experiment, int epochs, bool tries,
                           DatasetCache& datasets, Simulator& simulator,
                           const std::optional<Fed>& measured) {
  require_studied(experiment, epochs);
  const bool simulated = experiment.backend == "sim" || (experiment.backend == "mpi" && !measured);
  StarveStudy study;
  study.ranks = experiment.ranks();
  study.measured = !simulated;
  const std::string why_not = why_not_replayed(experiment);
  if (simulated && !why_not.empty())
    throw ConfigError(
        "backend",
        fmt::format("mpi can only be measured here, by processes that mpirun starts: {}", why_not));
  Experiment replayed = simulated ? replayed_of(experiment) : experiment;
  Variants variants(replayed, epochs - 1, datasets, simulator);
  study.now = measured ? *measured : variants.feed(replayed, Json::object());
  study.batches = variants.batches();
  count_cores(study, replayed);

  if (!tries) {
    study.not_replayed = "--now excludes it";
    return study;
  }
  if (study.measured) {
    if (!why_not.empty()) {
      study.not_replayed = why_not;
      return study;
    }
    replayed = replayed_of(experiment);
    study.forecast = variants.feed(replayed, Json::object());
  }
  const MiniBatchSettings settings = mini_batch_of(experiment.strategy);
  const bool own_rows = experiment.strategy.learned || settings.cooperative;  // no fetch, no cache
  const bool fetches = !keeps_recent(settings.cache.policy) && !own_rows;
  for (const StagesAhead& ahead : capacities_to_try(fetches)) {
    const Activity activity(
        fmt::format("replaying with capacities {}, {}, {}", ahead.sample, ahead.fetch, ahead.load));
    study.capacities.push_back(variants.feed_if_it_fits(replayed, pipeline(ahead)));
  }
  study.enough_capacity = first_enough(study.capacities);
  const bool counted = settings.sizes == BatchSizesFrom::bounds;
  if (study.ranks == 1 || own_rows || counted || experiment.dataset.magnify > 1) return study;
  for (const double share : {0.0, 0.05, 0.2, 0.5, 1.0}) {
    const auto rows = std::llround(share * static_cast<double>(variants.vertices()) / study.ranks);
    const Activity activity(fmt::format("replaying with a cache of {} rows", rows));
    const Json cache{{"cache", {{"policy", "presampled"}, {"bytes", rows * variants.row_bytes()}}}};
    study.caches.push_back(variants.feed_if_it_fits(replayed, cache));
  }
  study.enough_cache = first_enough(study.caches);
  return study;
}

}  // namespace orrery
