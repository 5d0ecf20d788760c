// The links between the ranks of a simulation: which capacities a message uses, and what passed
// them.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/index.hpp"
#include "core/cluster/routes.hpp"
#include "sim/network/interconnect.hpp"
#include "sim/replay/simulation.hpp"

namespace orrery::sim {

/// The network end of the memory of a device's host: devices come first, then the hosts of the
/// servers, if servers have hosts. (Of several sockets the first represents all.)
int memory_end(const Cluster& cluster, int device);

/// The network end that files come from: behind all others.
int storage_end(const Cluster& cluster);

/// Routes between the pairs of ends that a simulation uses, as capacities of a network: each
/// direction of a link, or both, or each and both.
class Traffic {
 public:
  using Pair = std::pair<int, int>;  ///< ends: devices, memory_end() or storage_end()

  /// Errors    ConfigError (no route)
  Traffic(const Cluster& cluster, const std::vector<Pair>& pairs);

  const InterconnectPlan& plan() const { return plan_; }
  /// The number of the plan's connection between two ends.
  ///
  /// Requires  one of the pairs that it was made for
  int connection(Pair pair) const;
  double latency_seconds(int connection) const { return paths_[at(connection)].latency_seconds; }
  double bytes_per_second(int connection) const { return paths_[at(connection)].bytes_per_second; }

  /// A message of a counted epoch begins and ends.
  void begin(int connection, double bytes, double now);
  void end(int connection, double now);
  std::vector<LinkUse> use() const;

 private:
  enum class Way { forward, backward, both };
  struct Path {
    double latency_seconds, bytes_per_second;
  };
  /// What passes a capacity.
  struct Load {
    double bytes = 0, busy_seconds = 0, busy_since = 0;
    int under_way = 0;
  };
  void connect(Pair pair, const Path& path, std::vector<int> capacities);
  const std::vector<int>& capacities_of(int connection) const {
    return plan_.connections[at(connection)].capacities;
  }
  void connect_to_storage(const Cluster& cluster, int device);
  void add_capacities(const Cluster& cluster, const Hop& hop, std::vector<int>& list);
  int capacity(const Cluster& cluster, const ClusterLink& link, int number, Way way);

  InterconnectPlan plan_;
  std::vector<LinkUse> names_;  ///< of each capacity: all but what is in its load
  std::vector<Load> loads_;
  std::unordered_map<int, int> numbers_;  ///< of (link, way); of the storage: below 0
  /// For each end, whom it sends to, in ascending order, and the connection's number.
  std::vector<std::vector<std::pair<int, int>>> from_;
  std::vector<Path> paths_;  ///< of each connection
};

}  // namespace orrery::sim
