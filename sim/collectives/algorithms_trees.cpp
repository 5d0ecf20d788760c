#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/index.hpp"
#include "sim/collectives/algorithms.hpp"
#include "sim/collectives/message_list.hpp"
#include "sim/collectives/trees.hpp"

namespace orrery::sim {
namespace {

void broadcast(MessageList& list, const Tree& tree, double bytes, int piece) {
  for (const Edge& e : tree) list.send(e.from, e.to, bytes, {piece}, Arrival::replaces);
}

/// From the leaves up: each rank adds what comes from below to its own.
void reduce(MessageList& list, const Tree& tree, double bytes, int piece) {
  for (auto e = tree.rbegin(); e != tree.rend(); ++e)
    list.send(e->to, e->from, bytes, {piece}, Arrival::adds);
}

/// Broadcast or reduction, with one share of the data along each tree.
template <class TreeOf>
Expansion along(const Task& task, const std::string& name, int trees, double chunk,
                const TreeOf& tree_of) {
  const double bytes = task.shape.bytes / trees;
  MessageList list(task.shape.ranks, trees, chunk);
  list.reserve(static_cast<std::size_t>(trees) * static_cast<std::size_t>(task.shape.ranks));
  for (int t = 0; t < trees; ++t) {
    if (task.shape.kind == CollectiveKind::broadcast)
      broadcast(list, tree_of(t), bytes, t);
    else
      reduce(list, tree_of(t), bytes, t);
  }
  return list.take(name + channels_text(static_cast<std::size_t>(trees)) +
                   chunks_text(chunk, bytes));
}

std::vector<int> from_root(const Task& task) {
  std::vector<int> order(static_cast<std::size_t>(task.shape.ranks));
  std::iota(order.begin(), order.end(), task.shape.root);
  for (int& member : order) member %= task.shape.ranks;
  return order;
}

/// A chain passes every chunk on at full rate, but through all servers. The root of a binomial tree
/// sends everything log2(servers) times.
bool chain_is_faster(const Task& task, int channels) {
  const Speeds& s = task.layout.speeds;
  const double bytes = task.shape.bytes / channels, latency = s.across_latency_seconds;
  const double servers = task.layout.server_count(), rounds = std::ceil(std::log2(servers));
  const double rate = s.across / std::max(channels, task.layout.channel_count());
  const double hop = latency + std::min(task.chunk(kChunkBytes), bytes) / rate;
  return bytes / rate + latency + (servers - 2) * hop < rounds * (latency + bytes / rate);
}

int channels_by_servers(const Task& task) {
  std::size_t inside = task.layout.server_rings.front().size();
  for (const auto& rings : task.layout.server_rings) inside = std::min(inside, rings.size());
  const int most = std::max(static_cast<int>(inside), task.layout.channel_count());
  if (task.options.channels > 0) return std::min(task.options.channels, most);
  return task.many() ? std::clamp(kMessagesOfMany / (task.shape.ranks - 1), 1, most) : most;
}

}  // namespace

Expansion flat(const Task& task) {
  return along(task, "flat", 1, 0,
               [&](int) { return flat_tree(task.shape.ranks, task.shape.root); });
}

Expansion binomial(const Task& task) {
  return along(task, "binomial tree", 1, 0, [&](int) { return binomial_tree(from_root(task)); });
}

Expansion pipelined_chain(const Task& task) {
  return along(task, "chain", 1, task.chunk(kChunkBytes),
               [&](int) { return chain(from_root(task)); });
}

/// Both kinds go round in the direction of the ring: a reduction begins after its root and ends
/// there, so that those of successive roots follow each other closely, as broadcasts do.
///
/// Source    NCCL src/device/reduce.h, runRing: the rank whose predecessor is the root sends first
Expansion pipelined_ring(const Task& task) {
  return along(task, "ring", task.layout.channel_count(), task.chunk(kChunkBytes), [&](int c) {
    Ring order = rotated(task.layout.channels[at(c)], task.shape.root);
    if (task.shape.kind == CollectiveKind::reduce) std::reverse(order.begin() + 1, order.end());
    return chain(order);
  });
}

/// With one channel the root itself sends to the other servers; otherwise each channel's head does,
/// so that all adapters are used.
Expansion over_servers(const Task& task, std::string_view how, int channels, bool chained) {
  const Layout& layout = task.layout;
  const int root = task.shape.root;
  const int home = layout.server_of[at(root)];
  const auto tree_of = [&](int c) {
    std::vector<int> heads;
    for (const auto& of_server : layout.heads) heads.push_back(of_server[at(c) % of_server.size()]);
    if (channels == 1) heads[at(home)] = root;
    return server_tree(layout, c, root, heads, chained);
  };
  const auto name = fmt::format("{}, {} over {} servers", how, chained ? "chain" : "binomial tree",
                                layout.server_count());
  return along(task, name, channels, task.chunk(kChunkBytes), tree_of);
}

Expansion by_servers(const Task& task) {
  if (task.layout.server_count() == 1) return pipelined_ring(task);
  const int channels = channels_by_servers(task);
  return over_servers(task, "hierarchical", channels, chain_is_faster(task, channels));
}

Expansion ring_by_servers(const Task& task) {
  if (task.layout.server_count() == 1) return pipelined_ring(task);
  return over_servers(task, "ring by servers", channels_by_servers(task), true);
}

/// Over several servers: binary trees over their heads, and chains inside. Over one server: binary
/// trees over its ranks.
///
/// Source    NCCL src/graph/connect.cc, connectTrees
/// Departs   inside one server NCCL's tree is a chain
Expansion double_tree(const Task& task) {
  const Layout& layout = task.layout;
  const bool across = layout.server_count() > 1;
  const int trees = task.many() ? 2 : (std::max(2, layout.channel_count()) + 1) / 2 * 2;
  const double bytes = task.shape.bytes / trees, chunk = task.chunk(kChunkBytes);
  MessageList list(task.shape.ranks, trees, chunk);
  list.reserve(2 * static_cast<std::size_t>(trees) * static_cast<std::size_t>(task.shape.ranks));
  for (int t = 0; t < trees; ++t) {
    Tree tree;
    if (across) {
      std::vector<int> heads;
      for (const auto& of_server : layout.heads)
        heads.push_back(of_server[at(t) % of_server.size()]);
      tree = binary_tree(heads, t % 2 == 1);
      for (int s = 0; s < layout.server_count(); ++s)
        extend_along(tree, layout.ring_of(s, t), heads[at(s)]);
    } else {
      tree = binary_tree(layout.ring_of(0, t / 2), t % 2 == 1);
    }
    reduce(list, tree, bytes, t);
    broadcast(list, tree, bytes, t);
  }
  return list.take("double tree" + (trees == 2 ? "" : fmt::format(", {} trees", trees)) +
                   chunks_text(chunk, bytes));
}

}  // namespace orrery::sim
