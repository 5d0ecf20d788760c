// The nodes and links inside servers, for collectives.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/index.hpp"
#include "core/cluster/routes.hpp"

namespace orrery::sim {

/// Cheapest ways inside the servers of a cluster, by the cost of Router; none passes a third
/// device.
class ServerGraph {
 public:
  /// Requires  a cluster that outlives the graph
  explicit ServerGraph(const Cluster& cluster);

  /// Cables that join two devices directly.
  int cables(int device, int other) const;

  /// From a device to the nodes of its server.
  struct Ways {
    std::vector<std::int64_t> picoseconds;  ///< by place of the node in its server; kFar: no way
    std::vector<Hop> last;                  ///< last link of the way
  };
  static constexpr std::int64_t kFar = INT64_MAX;
  Ways from(int device) const;
  std::int64_t distance(const Ways& ways, int device) const;
  /// The links to a node of the server, the last first.
  std::vector<Hop> hops(const Ways& ways, int node) const;

  /// Nodes with a link out of the server that are nearest to a device: usually one NIC.
  std::vector<int> exits(const Ways& ways, int device) const;
  /// Rate and latency from a device into the network by an exit, including the link that leaves.
  Route way_out(const Ways& ways, int exit) const;

 private:
  std::size_t place(int node) const { return place_[at(node)]; }
  const Cluster& cluster_;
  std::vector<std::size_t> place_;        // place of each node in its server
  std::vector<std::vector<int>> nodes_;   // [server]
  std::vector<std::vector<int>> inside_;  // [server]: links
  std::vector<std::vector<int>> out_;     // [server]: links that leave it
};

}  // namespace orrery::sim
