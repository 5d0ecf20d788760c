// Which links a message between two devices takes.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/cluster/cluster.hpp"

namespace orrery {

/// The message whose time decides between two routes: so large that a wide link of two hops beats a
/// narrow one of one hop, as libraries choose.
inline constexpr double kReferenceMessageBytes = 1 << 20;

/// One link of a route; `forward`: from its `from` to its `to`.
struct Hop {
  int link = 0;
  bool forward = true;
  bool operator==(const Hop&) const = default;
};

/// Links in order, the rate of the slowest and the sum of their latencies. From a device to itself:
/// no hop, infinite rate, no latency.
struct Route {
  std::vector<Hop> hops;
  double bytes_per_second, latency_seconds;
};

/// Shortest routes between the devices of a cluster.
///
/// A link costs its latency plus kReferenceMessageBytes over its rate, rounded to picoseconds, so
/// that equal routes are equal in any order of the sum. A route costs the sum of its links; among
/// equal ones the fewest links win. If several links end equally short routes, the target's rank
/// picks one, counted from the lowest number (as a fat tree routes by destination).
///
/// A route does what communication libraries do: it passes no third device (unless
/// relay_through_devices), stays inside the server of both ends, and passes no third server.
class Router {
 public:
  /// Requires  a cluster that outlives the router
  explicit Router(const Cluster& cluster);
  ~Router();
  Router(Router&&) noexcept;

  /// Routes from a rank to every rank.
  /// Errors    ConfigError naming a device that cannot be reached
  /// Cost      one run of Dijkstra's algorithm
  std::vector<Route> from(int rank) const;
  /// Routes to some ranks only.
  std::vector<Route> from(int rank, const std::vector<int>& targets) const;
  /// Cost      as from()
  Route between(int rank, int target) const;
  /// Routes from one node to others, of any kind; the number of a target in `nodes` replaces its
  /// rank.
  /// Errors    ConfigError naming a node that cannot be reached
  std::vector<Route> between_nodes(int node, const std::vector<int>& nodes) const;

  /// What a link adds to the cost of a route, in picoseconds.
  static std::int64_t picoseconds(const ClusterLink& link);

 private:
  struct Graph;
  /// If several links end equally short routes to `nodes[i]`, number `choices[i]` of them.
  std::vector<Route> routes(int from, const std::vector<int>& nodes,
                            const std::vector<int>& choices) const;

  const Cluster& cluster_;
  std::unique_ptr<Graph> graph_;
};

/// Rates and latencies of the routes from some ranks (rows) to each (columns); the diagonal holds
/// infinity and 0.
/// Units     bytes per second; seconds
struct PairMatrices {
  std::vector<std::vector<double>> bytes_per_second, latency_seconds;
};
PairMatrices pair_matrices(const Cluster& cluster, const std::vector<int>& ranks);

/// Two devices without a route; `device` is the one that reaches fewer others.
struct Unreachable {
  int device, other;
};
std::optional<Unreachable> find_unreachable(const Cluster& cluster);

}  // namespace orrery
