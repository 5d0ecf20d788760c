#include "experiments/starve/starve_study.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/parallel.hpp"
#include "core/strategy/structure/sampled_batches.hpp"
#include "core/terminal/activity.hpp"
#include "experiments/config/shipped.hpp"
#include "experiments/execute/execute.hpp"
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

Fed fed_by(const MiniBatchSettings& settings, const Outcome& outcome, int batches,
           const Epochs& epochs) {
  Fed fed{settings.ahead, "", settings.cache.bytes, {}, 0};
  for (const auto& [name, policy] : kCachePolicies)
    if (policy == settings.cache.policy && fed.cache_bytes > 0) fed.cache_policy = name;
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

  /// The experiment with other values of some keys of its strategy.
  Fed feed(const Experiment& asked, const Json& strategy) {
    const MiniBatchSettings settings = mini_batch_of(with(asked, {1, 1}, 0, strategy).strategy);
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
    return fed(execute_on_threads(prepared.body(), options, {}));
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
  if (experiment.backend != "threads" && experiment.backend != "sim")
    throw ConfigError("backend", fmt::format("found \"{}\"; starve measures \"threads\" and "
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

}  // namespace

std::size_t first_enough(const std::vector<Fed>& tried) {
  const auto quicker = [](const Fed& a, const Fed& b) { return a.epoch_seconds < b.epoch_seconds; };
  const double best = std::min_element(tried.begin(), tried.end(), quicker)->epoch_seconds;
  const auto enough = std::find_if(tried.begin(), tried.end(), [&](const Fed& fed) {
    return fed.epoch_seconds <= kAsGood * best;
  });
  return static_cast<std::size_t>(enough - tried.begin());
}

StarveStudy study_starving(const Experiment& experiment, int epochs, bool tries,
                           DatasetCache& datasets, Simulator& simulator) {
  require_studied(experiment, epochs);
  StarveStudy study;
  study.ranks = experiment.ranks();
  study.measured = experiment.backend == "threads";
  Variants variants(experiment, epochs - 1, datasets, simulator);
  study.now = variants.feed(experiment, Json::object());
  study.batches = variants.batches();
  count_cores(study, experiment);

  if (!tries) {
    study.not_replayed = "--now excludes it";
    return study;
  }
  Experiment replayed = experiment;
  if (study.measured) {
    if (!kClusterFiles.look_up(kThisMachine) || !kDeviceFiles.look_up(kThisMachine)) {
      study.not_replayed = "this machine has not been calibrated: orrery calibrate";
      return study;
    }
    replayed = on_cluster(experiment, kThisMachine);
    study.forecast = variants.feed(replayed, Json::object());
  }
  const MiniBatchSettings settings = mini_batch_of(experiment.strategy);
  const bool own_rows = experiment.strategy.learned || settings.cooperative;  // no fetch, no cache
  const bool fetches = !keeps_recent(settings.cache.policy) && !own_rows;
  for (const StagesAhead& ahead : capacities_to_try(fetches)) {
    const Activity activity(
        fmt::format("replaying with capacities {}, {}, {}", ahead.sample, ahead.fetch, ahead.load));
    study.capacities.push_back(variants.feed(replayed, pipeline(ahead)));
  }
  study.enough_capacity = first_enough(study.capacities);
  const bool counted = settings.sizes == BatchSizesFrom::bounds;
  if (study.ranks == 1 || own_rows || counted || experiment.dataset.magnify > 1) return study;
  for (const double share : {0.0, 0.05, 0.2, 0.5, 1.0}) {
    const auto rows = std::llround(share * static_cast<double>(variants.vertices()) / study.ranks);
    const Activity activity(fmt::format("replaying with a cache of {} rows", rows));
    const Json cache{{"cache", {{"policy", "presampled"}, {"bytes", rows * variants.row_bytes()}}}};
    study.caches.push_back(variants.feed(replayed, cache));
  }
  study.enough_cache = first_enough(study.caches);
  return study;
}

}  // namespace orrery
