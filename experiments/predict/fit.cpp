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

namespace orrery {
namespace {

/// Beyond this a co-batch of the largest graphs we know is smaller than a mini-batch.
constexpr int kMostBatches = 4096;

/// Tries numbers out in the problem's own settings.
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
    const auto bytes = [&](int batches) {
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
  if (!experiment.fits_depth && !experiment.fits_batches) return fitted;
  if (!experiment.device_bytes)
    throw ConfigError(experiment.fits_depth ? "strategy.depth" : "strategy.batches",
                      "\"fit\" needs the device memory: set cluster.device_bytes, or name a "
                      "cluster.file");
  Fit fit(experiment, problem);
  nlohmann::ordered_json& keys = fitted.resolved["strategy"];
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

}  // namespace orrery
