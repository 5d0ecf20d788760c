#include "experiments/predict/fit.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <set>

#include "core/base/error.hpp"
#include "core/base/units.hpp"
#include "core/runtime/summary.hpp"
#include "core/strategy/make_strategy.hpp"
#include "core/strategy/train/record.hpp"
#include "core/strategy/train/train.hpp"
#include "core/terminal/activity.hpp"
#include "experiments/predict/fit_batch.hpp"

namespace orrery {
namespace {

/// Beyond this a co-batch of the largest known graphs is smaller than a mini-batch.
constexpr int kMostBatches = 4096;

/// Tries numbers in the problem's own settings.
class Fit {
 public:
  Fit(const Experiment& experiment, Problem& problem)
      : placement_(experiment.placement()), room_(*experiment.device_bytes), problem_(problem) {}

  int largest_depth() {
    const auto bytes = [&](int depth) {
      return bytes_of([&](StrategyConfig& s) { s.depth = depth; });
    };
    std::int64_t least = 0;
    for (int depth = problem_.model.layers; depth >= 0; --depth) {
      least = bytes(depth);
      if (least <= room_) return depth;
    }
    refuse("strategy.depth", "0 layers preloaded", least);
  }

  int fewest_batches() {
    Activity trying("planning co-batches");
    const auto bytes = [&](int batches) {
      trying.update({fmt::format("strategy.batches: do {} co-batches fit? The most are {}", batches,
                                 kMostBatches)});
      return bytes_of([&](StrategyConfig& s) { s.batches = batches; });
    };
    const auto vertices = problem_.facts().vertices / problem_.partition.parts;
    const int most = static_cast<int>(std::clamp<std::int64_t>(vertices, 1, kMostBatches));
    int fits = 1, too_few = 0;
    for (std::int64_t needed = bytes(1); needed > room_; needed = bytes(fits)) {
      if (fits == most) refuse("strategy.batches", fmt::format("{} co-batches", most), needed);
      too_few = fits;
      fits = std::min(2 * fits, most);
    }
    while (fits - too_few > 1) {
      const int middle = (fits + too_few) / 2;
      (bytes(middle) <= room_ ? fits : too_few) = middle;
    }
    return fits;
  }

 private:
  std::int64_t bytes_of(const std::function<void(StrategyConfig&)>& set) {
    set(problem_.strategy);
    return forecast_bytes(problem_, placement_);
  }

  [[noreturn]] void refuse(const std::string& key, const std::string& best,
                           std::int64_t needed) const {
    throw ConfigError(key, fmt::format("nothing fits into {} per rank: {} need {}, {} more; use "
                                       "more ranks, fewer or narrower layers, or model.recompute",
                                       human_bytes(static_cast<double>(room_)), best,
                                       human_bytes(static_cast<double>(needed)),
                                       human_bytes(static_cast<double>(needed - room_))));
  }

  Placement placement_;
  std::int64_t room_;
  Problem& problem_;
};

}  // namespace

std::int64_t forecast_bytes(const Problem& problem, const Placement& placement) {
  const auto strategy = make_strategy(problem);
  const Programs programs = record_shared(TrainingBody(*strategy, problem), 1, {});
  std::int64_t peak = 0;
  for (const auto& program : std::set(programs.begin(), programs.end()))
    peak = std::max(peak, summarise(*program, placement).peak_device_bytes);
  return peak;
}

Experiment fit_to_memory(const Experiment& experiment, Problem& problem) {
  Experiment fitted = experiment;
  const bool batch = experiment.fits_batch != BatchFit::none;
  if (!experiment.fits_depth && !experiment.fits_batches && !batch) return fitted;
  if (!experiment.device_bytes)
    throw ConfigError(experiment.fits_depth ? "strategy.depth"
                      : batch               ? "strategy.batch"
                                            : "strategy.batches",
                      "\"fit\" needs the device memory: set cluster.device_bytes, or name a "
                      "cluster.file");
  nlohmann::ordered_json& keys = fitted.resolved["strategy"];
  if (batch) {
    const std::int64_t seeds = largest_batch(experiment, problem);
    info_of(fitted.strategy).set_batch(fitted.strategy, seeds);
    info_of(fitted.strategy).set_batch(problem.strategy, seeds);
    keys["batch"] = seeds;
    return fitted;
  }
  Fit fit(experiment, problem);
  if (experiment.fits_depth) {
    const int depth = fit.largest_depth();
    fitted.strategy.depth = depth;
    keys["depth"] = depth;
  } else {
    fitted.strategy.batches = fit.fewest_batches();
    keys["batches"] = fitted.strategy.batches;
  }
  problem.strategy = fitted.strategy;
  return fitted;
}

nlohmann::ordered_json fitted_numbers(const Experiment& fitted) {
  const nlohmann::ordered_json& keys = fitted.resolved["strategy"];
  nlohmann::ordered_json found = nlohmann::ordered_json::object();
  if (fitted.fits_depth) found["strategy.depth"] = keys["depth"];
  if (fitted.fits_batches) found["strategy.batches"] = keys["batches"];
  if (fitted.fits_batch != BatchFit::none) found["strategy.batch"] = keys["batch"];
  return found;
}

std::vector<std::string> fitted_notes(const Experiment& fitted) {
  const nlohmann::ordered_json found = fitted_numbers(fitted);
  std::vector<std::string> notes;
  for (const auto& [key, number] : found.items()) {
    std::string which = "the largest number that fits";
    if (key == "strategy.batches") which = "the smallest number that fits";
    if (fitted.fits_batch == BatchFit::any) which += ", whatever a batch draws";
    if (fitted.fits_batch == BatchFit::drawn) which += " what its epochs draw";
    notes.push_back(fmt::format("{} is {}: {}", key, number.dump(), which));
  }
  return notes;
}

}  // namespace orrery
