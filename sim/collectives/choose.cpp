#include "sim/collectives/choose.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "core/base/error.hpp"

namespace orrery::sim {
namespace {

/// Latency of a protocol in microseconds, and its shares of the rates.
struct Protocol {
  double base, nvlink, pcie, network, share;
};
// LL, LL128, Simple.
constexpr std::array<Protocol, 3> kRing{{{6.6, .6, 1.0, 2.7, .5},  //
                                         {14, 1.9, 2.5, 4.0, .92},
                                         {8.4, 3.4, 5.7, 14, 1}}};
constexpr std::array<Protocol, 3> kTree{{{6.8, .6, 1.0, 5.0, 1 / 3.8},  //
                                         {14, 1.25, 1.9, 8.5, .92},
                                         {8.4, 4.0, 4.0, 14, 1}}};
constexpr double kTreeShare = .92;
constexpr std::size_t kLL128 = 1;

/// The least sum of latency and bytes over the protocols, for this many consecutive collectives.
template <class Latency>
double least(const std::array<Protocol, 3>& protocols, bool nvlink, double seconds_at_full_rate,
             const Latency& microseconds, int collectives = 1) {
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < protocols.size(); ++i) {
    const Protocol& p = protocols[i];
    if (i == kLL128 && !nvlink) continue;  // needs NVLink
    const double latency =
        collectives * p.base + microseconds(nvlink ? p.nvlink : p.pcie, p.network);
    best = std::min(best, latency * 1e-6 + seconds_at_full_rate / p.share);
  }
  return best;
}

std::string_view all_reduce_by_nccl(const Task& task) {
  if (task.shape.ranks == 2) return "ring";
  const AllReduceTimes t = nccl_all_reduce_seconds(task.layout, task.shape.bytes);
  const bool levels = task.layout.equal && task.layout.server_count() > 1;
  if (levels && t.hierarchical < t.double_tree && (task.many() || t.hierarchical < t.ring))
    return "hierarchical";
  return !task.many() && t.ring <= t.double_tree ? "ring" : "double tree";
}

std::string_view by_nccl(const Task& task) {
  switch (task.shape.kind) {
    case CollectiveKind::send_recv:
      return "direct";
    case CollectiveKind::all_to_all:
      return "pairwise";
    case CollectiveKind::all_reduce:
      return all_reduce_by_nccl(task);
    case CollectiveKind::broadcast:
    case CollectiveKind::reduce:
      return task.many() ? "ring by servers" : "ring";
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::all_gather:
      return task.many() && task.layout.equal ? "hierarchical" : "ring";
  }
  return "";
}

/// The same as in backends/comm_mpi and backends/comm_threads.
std::string_view by_ours(const Task& task, bool mpi) {
  switch (task.shape.kind) {
    case CollectiveKind::send_recv:
      return "direct";
    case CollectiveKind::broadcast:
      if (!mpi) return "flat";
      return task.shape.bytes <= kChunkBytes ? "binomial tree" : "chain";
    case CollectiveKind::reduce:
      return "flat";
    case CollectiveKind::all_reduce:
      return mpi ? "slices" : "flat";
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::all_gather:
    case CollectiveKind::all_to_all:
      return "pairwise";
  }
  return "";
}

}  // namespace

Chooser chooser_of(std::string_view library) {
  if (library == "nccl") return Chooser::nccl;
  if (library == "mpi") return Chooser::mpi;
  if (library == "threads") return Chooser::threads;
  throw ConfigError(
      "libraries", "no rules for library '" + std::string(library) + "'; use nccl, mpi or threads");
}

std::string_view choose(Chooser chooser, const Task& task) {
  return chooser == Chooser::nccl ? by_nccl(task) : by_ours(task, chooser == Chooser::mpi);
}

AllReduceTimes nccl_all_reduce_seconds(const Layout& layout, double bytes) {
  const double p = layout.ranks, servers = layout.server_count(), per_server = p / servers;
  const Speeds& s = layout.speeds;
  const bool many = layout.ranks > kManyRanks && servers > 1;
  const double channels = layout.channel_count();
  const double bus = std::min(s.inside, s.across);
  const double tree_bus = many ? std::min(s.inside, s.across * std::min(1.0, 2 / channels)) : bus;
  const double crossings = 2 * (servers - 1), hops = 2 * (p - 1) - crossings;
  const auto tree_latency = [&](double intra, double net) {
    return 2 * ((per_server - 1) * intra + std::log2(servers) * net);
  };
  AllReduceTimes t;
  t.ring = least(kRing, s.nvlink, 2 * (p - 1) / p * bytes / bus,
                 [&](double intra, double net) { return hops * intra + crossings * net; });
  t.double_tree = least(kTree, s.nvlink, 2 * bytes / (kTreeShare * tree_bus), tree_latency);
  t.hierarchical = least(kTree, s.nvlink,
                         2 * (per_server - 1) / per_server * bytes / s.first_ring +
                             2 * bytes / (kTreeShare * s.across),
                         tree_latency, 3);
  return t;
}

}  // namespace orrery::sim
