#include "core/cluster/routes.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <boost/graph/filtered_graph.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <ranges>
#include <set>

#include "core/base/error.hpp"
#include "core/base/index.hpp"

namespace orrery {
namespace {

/// Picoseconds, then number of links.
struct Cost {
  std::int64_t picoseconds = 0;
  int links = 0;
  auto operator<=>(const Cost&) const = default;
};
constexpr Cost kFarAway{std::numeric_limits<std::int64_t>::max(), 0};

struct Sum {
  Cost operator()(const Cost& a, const Cost& b) const {
    if (a == kFarAway || b == kFarAway) return kFarAway;
    return {a.picoseconds + b.picoseconds, a.links + b.links};
  }
};

/// One direction of a link.
struct Arc {
  Hop hop;
  Cost cost;
};

using Network =
    boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS, boost::no_property, Arc>;
using ArcId = Network::edge_descriptor;
using NodeId = Network::vertex_descriptor;

Network network_of(const Cluster& cluster) {
  Network network(cluster.nodes.size());
  for (std::size_t i = 0; i < cluster.links.size(); ++i) {
    const ClusterLink& link = cluster.links[i];
    const auto from = static_cast<NodeId>(link.from), to = static_cast<NodeId>(link.to);
    const Cost cost{Router::picoseconds(link), 1};
    boost::add_edge(from, to, {{static_cast<int>(i), true}, cost}, network);
    boost::add_edge(to, from, {{static_cast<int>(i), false}, cost}, network);
  }
  return network;
}

/// Which arcs a route from one device may take. It enters no server but that of its target, so
/// those without a target are not looked at: of thousands of servers most devices send to few.
struct Allowed {
  const Cluster* cluster = nullptr;
  const Network* network = nullptr;
  NodeId source = 0;
  const std::vector<char>* has_target = nullptr;  ///< of each server

  bool operator()(const ArcId& arc) const {
    const NodeId from = boost::source(arc, *network), to = boost::target(arc, *network);
    const ClusterNode &tail = cluster->nodes[from], &head = cluster->nodes[to];
    const bool relayed = tail.kind == NodeKind::kDevice && from != source;
    if (relayed && !cluster->relay_through_devices) return false;
    if (tail.server == head.server) return true;
    const int home = cluster->nodes[source].server;
    // It leaves the first server and never returns to it, and leaves no other server.
    return head.server != home && (tail.server == home || tail.server == kNoServer) &&
           (head.server == kNoServer || (*has_target)[at(head.server)] != 0);
  }
};

using View = boost::filtered_graph<Network, Allowed>;

NodeId take(std::vector<NodeId>& open) {
  const NodeId node = open.back();
  open.pop_back();
  return node;
}

auto neighbours(const Network& network, NodeId node) {
  const auto [begin, end] = boost::adjacent_vertices(node, network);
  return std::ranges::subrange(begin, end);
}

/// Which devices have a route. The part outside of a server is searched once for all its devices
/// that leave it at the same nodes: with thousands of devices that saves nearly everything.
class Reach {
 public:
  Reach(const Cluster& cluster, const Network& network) : cluster_(cluster), network_(network) {}

  /// For each device, whether a route leads there from `source`.
  std::vector<char> from(NodeId source) {
    const int home = server(source);
    std::set<NodeId> seen{source}, exits;  // exits: the first nodes outside
    for (std::vector<NodeId> open{source}; !open.empty();) {
      const NodeId node = take(open);
      if (node != source && !relays(node)) continue;
      for (const NodeId next : neighbours(network_, node))
        if (server(next) != home)
          exits.insert(next);
        else if (seen.insert(next).second)
          open.push_back(next);
    }
    const std::vector<char>& outside = behind(exits);
    std::vector<char> reached;
    for (const Device& device : cluster_.devices) {
      const auto node = static_cast<NodeId>(device.node);
      reached.push_back(server(node) == home ? char{seen.contains(node)} : outside[node]);
    }
    return reached;
  }

 private:
  int server(NodeId node) const { return cluster_.nodes[node].server; }
  bool relays(NodeId node) const {
    return cluster_.relay_through_devices || cluster_.nodes[node].kind != NodeKind::kDevice;
  }

  /// Which nodes a route from another server to these reaches: it enters a server and leaves none.
  const std::vector<char>& behind(const std::set<NodeId>& exits) {
    const auto [found, is_new] = behind_.try_emplace(exits);
    std::vector<char>& seen = found->second;
    if (!is_new) return seen;
    seen.assign(cluster_.nodes.size(), 0);
    std::vector<NodeId> open(exits.begin(), exits.end());
    for (const NodeId exit : exits) seen[exit] = 1;
    while (!open.empty()) {
      const NodeId node = take(open);
      if (!relays(node)) continue;
      for (const NodeId next : neighbours(network_, node))
        if ((server(node) == kNoServer || server(node) == server(next)) &&
            !std::exchange(seen[next], 1))
          open.push_back(next);
    }
    return seen;
  }

  const Cluster& cluster_;
  const Network& network_;
  std::map<std::set<NodeId>, std::vector<char>> behind_;
};

std::vector<Cost> distances(const Network& network, const View& view, NodeId source) {
  std::vector<Cost> distance(boost::num_vertices(network), kFarAway);
  const auto index = boost::get(boost::vertex_index, network);
  boost::dijkstra_shortest_paths(
      view, source,
      boost::weight_map(boost::get(&Arc::cost, view))
          .distance_map(boost::make_iterator_property_map(distance.begin(), index))
          .vertex_index_map(index)
          .distance_compare(std::less<Cost>())
          .distance_combine(Sum())
          .distance_inf(kFarAway)
          .distance_zero(Cost{}));
  return distance;
}

/// The last arc of a shortest route to `node`: of equally good ones, number `choice` modulo their
/// count.
ArcId last_arc(const View& view, const std::vector<Cost>& distance, NodeId node, int choice) {
  std::vector<ArcId> tight;
  const auto [begin, end] = boost::in_edges(node, view);
  for (auto arc = begin; arc != end; ++arc)
    if (Sum()(distance[boost::source(*arc, view)], view[*arc].cost) == distance[node])
      tight.push_back(*arc);
  ORRERY_ASSERT(!tight.empty());
  std::sort(tight.begin(), tight.end(),
            [&](const ArcId& a, const ArcId& b) { return view[a].hop.link < view[b].hop.link; });
  return tight[at(choice) % tight.size()];
}

}  // namespace

struct Router::Graph {
  explicit Graph(const Cluster& cluster) : network(network_of(cluster)) {}
  Network network;
};

Router::Router(const Cluster& cluster)
    : cluster_(cluster), graph_(std::make_unique<Graph>(cluster)) {}
Router::~Router() = default;
Router::Router(Router&&) noexcept = default;

std::int64_t Router::picoseconds(const ClusterLink& link) {
  // A link below 1 KiB/s counts as 1 KiB/s: sums must not overflow.
  const double seconds = link.latency_seconds + kReferenceMessageBytes / link.bytes_per_second;
  return std::llround(std::min(seconds, 1024.0) * 1e12);
}

std::vector<Route> Router::from(int rank) const {
  std::vector<int> all(cluster_.devices.size());
  std::iota(all.begin(), all.end(), 0);
  return from(rank, all);
}

std::vector<Route> Router::from(int rank, const std::vector<int>& targets) const {
  std::vector<int> nodes;
  for (const int target : targets) nodes.push_back(cluster_.devices[at(target)].node);
  return routes(cluster_.devices[at(rank)].node, nodes, targets);
}

std::vector<Route> Router::between_nodes(int node, const std::vector<int>& nodes) const {
  std::vector<int> choices(nodes.size());
  std::iota(choices.begin(), choices.end(), 0);
  return routes(node, nodes, choices);
}

std::vector<Route> Router::routes(int from, const std::vector<int>& nodes,
                                  const std::vector<int>& choices) const {
  const auto source = static_cast<NodeId>(from);
  const Network& network = graph_->network;
  std::vector<char> has_target(at(cluster_.servers()), 0);
  for (const int node : nodes)
    if (const int server = cluster_.nodes[at(node)].server; server != kNoServer)
      has_target[at(server)] = 1;
  const View view(network, Allowed{&cluster_, &network, source, &has_target});
  const std::vector<Cost> distance = distances(network, view, source);

  std::vector<Route> routes;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto target = static_cast<NodeId>(nodes[i]);
    Route route{{}, std::numeric_limits<double>::infinity(), 0};
    if (distance[target] == kFarAway)
      throw ConfigError(
          cluster_.nodes[target].name,
          fmt::format("unreachable {}: no route from {}", to_string(cluster_.nodes[target].kind),
                      cluster_.nodes[source].name));
    for (NodeId at = target; at != source;) {
      const ArcId arc = last_arc(view, distance, at, choices[i]);
      const ClusterLink& link = cluster_.links[orrery::at(view[arc].hop.link)];
      route.hops.push_back(view[arc].hop);
      route.bytes_per_second = std::min(route.bytes_per_second, link.bytes_per_second);
      at = boost::source(arc, view);
    }
    std::reverse(route.hops.begin(), route.hops.end());
    for (const Hop& hop : route.hops)
      route.latency_seconds += cluster_.links[at(hop.link)].latency_seconds;
    routes.push_back(std::move(route));
  }
  return routes;
}

Route Router::between(int rank, int target) const { return from(rank, {target}).front(); }

PairMatrices pair_matrices(const Cluster& cluster, const std::vector<int>& ranks) {
  const Router router(cluster);
  PairMatrices matrices;
  for (const int rank : ranks) {
    const std::vector<Route> routes = router.from(rank);
    std::vector<double> rates, latencies;
    for (const int target : ranks) {
      rates.push_back(routes[at(target)].bytes_per_second);
      latencies.push_back(routes[at(target)].latency_seconds);
    }
    matrices.bytes_per_second.push_back(std::move(rates));
    matrices.latency_seconds.push_back(std::move(latencies));
  }
  return matrices;
}

std::optional<Unreachable> find_unreachable(const Cluster& cluster) {
  const Network network = network_of(cluster);
  Reach reach(cluster, network);
  std::optional<Unreachable> worst;
  std::size_t fewest = cluster.devices.size();
  for (std::size_t rank = 0; rank < cluster.devices.size(); ++rank) {
    const std::vector<char> reached = reach.from(static_cast<NodeId>(cluster.devices[rank].node));
    const auto count = static_cast<std::size_t>(std::ranges::count(reached, 1));
    if (count >= fewest) continue;
    fewest = count;
    worst = {static_cast<int>(rank),
             static_cast<int>(std::ranges::find(reached, 0) - reached.begin())};
  }
  return worst;
}

}  // namespace orrery
