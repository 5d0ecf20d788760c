// A group's place in the cluster: its servers, and the rings for its data.
#pragma once

#include <map>
#include <vector>

#include "sim/collectives/expansion.hpp"
#include "sim/collectives/rings.hpp"
#include "sim/collectives/server_graph.hpp"

namespace orrery::sim {

/// The input of the NCCL time model, from the group's first server. The other servers are assumed
/// to be alike, and the network beyond the adapters to be wide enough.
///
/// Units     bytes per second of all channels together, infinite if nothing is sent
struct Speeds {
  double inside = 0, across = 0;
  double first_ring = 0;              ///< the first ring inside a server, alone
  double across_latency_seconds = 0;  ///< out of one server and into another
  bool nvlink = false;                ///< all channels inside servers go over NVLink
};

/// All that algorithms ask about a group. Members are indices in the group.
struct Layout {
  int ranks = 0;
  std::vector<std::vector<int>> servers;  ///< members, in the order of the server's first ring
  std::vector<int> server_of;             ///< for each member, the index of its server
  bool equal = true;                      ///< all servers have equally many members
  /// Rings inside each server: over direct cables if they form any, else one that keeps neighbours
  /// together.
  std::vector<std::vector<Ring>> server_rings;
  /// Rings over all members: those of the single server, or one for each adapter of a server, which
  /// it enters by the member next to that adapter.
  std::vector<Ring> channels;
  std::vector<std::vector<int>> heads;  ///< [server][channel]: the member by which it enters
  Speeds speeds;

  int server_count() const { return static_cast<int>(servers.size()); }
  int channel_count() const { return static_cast<int>(channels.size()); }
  const Ring& ring_of(int server, int channel) const;
};

/// `ring`, beginning with the given member.
Ring rotated(const Ring& ring, int first);

/// Finds layouts, and remembers the rings of each mesh of cables.
class LayoutFinder {
 public:
  explicit LayoutFinder(const Cluster& cluster) : cluster_(cluster), graph_(cluster) {}
  Layout find(const GroupPlaces& places);

 private:
  std::vector<Ring> rings_in_server(const GroupPlaces& places, const std::vector<int>& members);
  Ring nearest_neighbours(const GroupPlaces& places, const std::vector<int>& members) const;
  std::vector<int> heads_in_server(const GroupPlaces& places, const Ring& ring) const;
  void join_servers(Layout& layout, const GroupPlaces& places) const;
  std::vector<Hop> hops(const GroupPlaces& places, int from, int to) const;
  Speeds speeds_of(const Layout& layout, const GroupPlaces& places) const;

  const Cluster& cluster_;
  ServerGraph graph_;
  std::map<std::vector<int>, std::vector<Ring>> packed_;  // by matrix of cables
};

}  // namespace orrery::sim
