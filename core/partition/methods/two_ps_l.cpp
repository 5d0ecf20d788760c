#include "core/base/cache_line.hpp"
#include "core/base/index.hpp"
#include "core/partition/methods/edge_assignment.hpp"
#include "core/partition/methods/list_scheduling.hpp"
#include "core/partition/methods/none.hpp"
#include "core/partition/methods/partitioner.hpp"
#include "core/partition/partition_options.hpp"

namespace orrery {
namespace {

class TwoPsL {
 public:
  TwoPsL(EdgeStream& edges, int parts, std::uint64_t seed, const TwoPsLOptions& options,
         const EdgeSink& sink)
      : edges_(edges),
        seed_(seed),
        counts_(count_edges(edges)),
        state_(counts_.vertices(), parts, counts_.edges, options.balance, sink),
        cluster_(counts_.degree.size(), kNone),
        max_volume_(options.max_volume * 2 * static_cast<double>(counts_.edges) / parts) {}

  StreamCut cut() && {
    for_each_edge(
        edges_, [&](const Edge& e) { fetch(e); }, [&](const Edge& e) { gather(e); });
    LeastLoaded loads(state_.parts());
    part_ = schedule(std::span<const std::int64_t>(volume_), loads);
    for_each_edge(
        edges_, [&](const Edge& e) { fetch(e); },
        [&](const Edge& e) {
          if (part_of(e.source) == part_of(e.destination)) assign(e, part_of(e.source));
        });
    for_each_edge(
        edges_, [&](const Edge& e) { fetch(e); },
        [&](const Edge& e) {
          const std::int32_t p = part_of(e.source), q = part_of(e.destination);
          if (p != q) assign(e, score(e, p) >= score(e, q) ? p : q);
        });
    return std::move(state_).cut(counts_.vertices(), seed_);
  }

 private:
  double degree(Vertex v) const { return counts_.degree[at(v)]; }
  double volume_of(Vertex v) const { return static_cast<double>(volume_[at(cluster_[at(v)])]); }
  std::int32_t part_of(Vertex v) const { return part_[at(cluster_[at(v)])]; }

  void fetch(const Edge& e) const {
    for (const Vertex v : {e.source, e.destination}) {
      prefetch(&counts_.degree[at(v)]);
      prefetch_to_write(&cluster_[at(v)]);
      state_.replicas.fetch(v);
    }
  }

  /// First phase: the end whose cluster is smaller without it moves to that of the other end.
  void gather(const Edge& e) {
    for (const Vertex v : {e.source, e.destination})
      if (cluster_[at(v)] == kNone) {
        cluster_[at(v)] = static_cast<std::int32_t>(volume_.size());
        volume_.push_back(counts_.degree[at(v)]);
      }
    const auto [u, v] = e;
    if (cluster_[at(u)] == cluster_[at(v)]) return;
    if (volume_of(u) > max_volume_ || volume_of(v) > max_volume_) return;
    const bool u_moves = volume_of(u) - degree(u) <= volume_of(v) - degree(v);
    const Vertex small = u_moves ? u : v, large = u_moves ? v : u;
    if (volume_of(large) + degree(small) > max_volume_) return;
    volume_[at(cluster_[at(large)])] += counts_.degree[at(small)];
    volume_[at(cluster_[at(small)])] -= counts_.degree[at(small)];
    cluster_[at(small)] = cluster_[at(large)];
  }

  double score(const Edge& e, std::int32_t p) const {
    const auto [u, v] = e;
    const double degrees = degree(u) + degree(v), volumes = volume_of(u) + volume_of(v);
    double sum = 0;
    if (state_.replicas.has(u, p)) sum += 2 - degree(u) / degrees;
    if (state_.replicas.has(v, p)) sum += 2 - degree(v) / degrees;
    if (part_of(u) == p) sum += volume_of(u) / volumes;
    if (part_of(v) == p) sum += volume_of(v) / volumes;
    return sum;
  }

  void assign(const Edge& e, std::int32_t part) {
    if (state_.full(part)) {
      const Vertex high = degree(e.source) >= degree(e.destination) ? e.source : e.destination;
      part = hashed_part(high, state_.parts(), seed_);
    }
    state_.assign(e, state_.full(part) ? state_.least_loaded() : part);
  }

  EdgeStream& edges_;
  std::uint64_t seed_;
  StreamCounts counts_;
  EdgeAssignment state_;
  std::vector<std::int32_t> cluster_, part_;  ///< cluster of each vertex; part of each cluster
  std::vector<std::int64_t> volume_;          ///< Σ degrees of each cluster
  double max_volume_;
};

}  // namespace

StreamCut two_ps_l_partition(EdgeStream& edges, int parts, std::uint64_t seed,
                             const TwoPsLOptions& options, const EdgeSink& sink) {
  return TwoPsL(edges, parts, seed, options, sink).cut();
}

Partitioner two_ps_l_partitioner() {
  return {.name = "2ps-l",
          .description = "edges by clusters of their ends",
          .assigns = Assigns::edges,
          .drawn = true,
          .parameters =
              {{"max_volume",
                [](const PartitionOptions& o) -> ParameterValue { return o.two_ps_l.max_volume; },
                {}},
               {"balance",
                [](const PartitionOptions& o) -> ParameterValue { return o.two_ps_l.balance; },
                {}}},
          .cut = [](EdgeStream& edges, int parts, const PartitionOptions& o) {
            return two_ps_l_partition(edges, parts, o.seed, o.two_ps_l, o.assigned);
          }};
}

}  // namespace orrery
