// Collectives as messages, by the algorithms that a library would choose.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "core/cluster/cluster.hpp"
#include "sim/collectives/expansion.hpp"
#include "sim/price/profile.hpp"

namespace orrery::sim {

/// All values of CollectiveOptions::algorithm, without "auto".
std::vector<std::string_view> algorithm_names();

/// Chooses an algorithm as the library would and expands. It keeps what it finds about a group's
/// place in the cluster.
class CollectivePlanner {
 public:
  /// Requires  a cluster that outlives the planner
  /// Errors    ConfigError (an unknown algorithm or library, a negative window or chunk)
  CollectivePlanner(const Cluster& cluster, Library library, CollectiveOptions options);
  ~CollectivePlanner();
  /// Requires  messages that refer to ranks by their indices in `places`
  /// Errors    ConfigError (a forced algorithm that does not fit the group)
  Expansion expand(const CollectiveShape& shape, const GroupPlaces& places);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace orrery::sim
