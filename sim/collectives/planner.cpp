#include "sim/collectives/planner.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/error.hpp"
#include "sim/collectives/choose.hpp"

namespace orrery::sim {

std::string_view name_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::send_recv:
      return "send_recv";
    case CollectiveKind::broadcast:
      return "broadcast";
    case CollectiveKind::reduce:
      return "reduce";
    case CollectiveKind::all_reduce:
      return "all_reduce";
    case CollectiveKind::reduce_scatter:
      return "reduce_scatter";
    case CollectiveKind::all_gather:
      return "all_gather";
    case CollectiveKind::all_to_all:
      return "all_to_all";
  }
  return "";
}

struct CollectivePlanner::State {
  State(const Cluster& cluster, const Library& library, CollectiveOptions o)
      : finder(cluster), chooser(chooser_of(library.name)), options(std::move(o)) {}

  const Layout& layout(const GroupPlaces& places) {
    const auto at = layouts.find(places.device);
    if (at != layouts.end()) return at->second;
    return layouts.emplace(places.device, finder.find(places)).first->second;
  }

  const Algorithm& algorithm(const Task& task) const {
    const CollectiveKind kind = task.shape.kind;
    if (options.algorithm != "auto")
      if (const Algorithm* forced = find_algorithm(options.algorithm, kind)) return *forced;
    const Algorithm* chosen = find_algorithm(choose(chooser, task), kind);
    ORRERY_ASSERT(chosen != nullptr);
    return *chosen;
  }

  LayoutFinder finder;
  Chooser chooser;
  CollectiveOptions options;
  std::map<std::vector<int>, Layout> layouts;  // by devices
};

CollectivePlanner::CollectivePlanner(const Cluster& cluster, Library library,
                                     CollectiveOptions options) {
  const auto names = algorithm_names();
  if (options.algorithm != "auto" &&
      std::find(names.begin(), names.end(), options.algorithm) == names.end())
    throw ConfigError("simulation.algorithm",
                      fmt::format("no collective has '{}'; use auto, {}", options.algorithm,
                                  fmt::join(names, ", ")));
  if (options.window < 0)
    throw ConfigError("simulation.window", "must be 0 (as the ranks allow) or more");
  if (options.channels < 0) throw ConfigError("simulation.channels", "must be 0 (all) or more");
  if (!(options.chunk_bytes >= 0))
    throw ConfigError("simulation.chunk_bytes", "must be 0 (the library's) or more");
  state_ = std::make_unique<State>(cluster, library, std::move(options));
}

CollectivePlanner::~CollectivePlanner() = default;

Expansion CollectivePlanner::expand(const CollectiveShape& shape, const GroupPlaces& places) {
  ORRERY_ASSERT(static_cast<std::size_t>(shape.ranks) == places.device.size() &&
                places.device.size() == places.server.size());
  if (shape.ranks == 1) return {"none", 1, {}, {}};
  const Task task{shape, state_->layout(places), state_->options};
  return state_->algorithm(task).expand(task);
}

}  // namespace orrery::sim
