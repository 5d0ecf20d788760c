#include "experiments/predict/preloading.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/units.hpp"
#include "core/strategy/make_strategy.hpp"

namespace orrery {
namespace {

/// Peak of a rank whose server holds its own vertices alone.
std::int64_t essential_bytes(const Problem& problem, int rank) {
  Problem bare = problem;
  bare.strategy.depth.reset();
  bare.strategy.sampling.emplace().expansion.hops = 0;
  const auto strategy = make_strategy(bare);
  const Program program = record_rank(TrainingBody(*strategy, bare), rank, 1, {});
  return summarise(program, Placement::uniform(1, problem.ranks())).peak_device_bytes;
}

}  // namespace

nlohmann::ordered_json preloading_json(const PreparedExperiment& prepared,
                                       const std::vector<std::int64_t>& peaks) {
  const auto redundancy = prepared.strategy->redundancy();
  if (!redundancy) return nullptr;
  const Problem& problem = *prepared.problem;
  const auto largest = std::max_element(peaks.begin(), peaks.end());
  const auto essential = essential_bytes(problem, static_cast<int>(largest - peaks.begin()));
  constexpr std::int64_t kFloatBytes = 4;
  return {{"vertices_ratio", redundancy->of_vertices()},
          {"edges_ratio", redundancy->of_edges()},
          {"rows", redundancy->rows_preloaded},
          {"bytes", redundancy->rows_preloaded * problem.facts().features * kFloatBytes},
          {"essential_peak_bytes", essential},
          {"preloaded_peak_bytes", *largest - essential}};
}

std::string preloading_line(const nlohmann::ordered_json& preloading) {
  if (preloading.is_null()) return "";
  return fmt::format(
      "servers compute {:.2f} vertices and {:.2f} edges per owned one; {} feature rows ({}) are "
      "preloaded; of the largest peak {} are essential, {} preloaded",
      preloading["vertices_ratio"].get<double>(), preloading["edges_ratio"].get<double>(),
      preloading["rows"].get<std::int64_t>(), human_bytes(preloading["bytes"].get<std::int64_t>()),
      human_bytes(preloading["essential_peak_bytes"].get<std::int64_t>()),
      human_bytes(preloading["preloaded_peak_bytes"].get<std::int64_t>()));
}

}  // namespace orrery
