#include <algorithm>

#include "core/base/cache_line.hpp"
#include "core/base/index.hpp"
#include "core/partition/methods/edge_assignment.hpp"
#include "core/partition/methods/partitioner.hpp"
#include "core/partition/partition_options.hpp"

namespace orrery {
namespace {

/// The open part with the highest score.
std::int32_t best_part(const EdgeAssignment& state, const Edge& edge, double theta_u,
                       double lambda) {
  const auto [u, v] = edge;
  const auto [least, most] = std::minmax_element(state.load.begin(), state.load.end());
  const double weight = lambda / static_cast<double>(1 + *most - *least);
  const double gain_u = 2 - theta_u, gain_v = 1 + theta_u;
  std::int32_t best = -1;
  double highest = 0;
  for (std::int32_t p = 0; p < state.parts(); ++p) {
    if (state.full(p)) continue;
    const double score = (state.replicas.has(u, p) ? gain_u : 0) +
                         (state.replicas.has(v, p) ? gain_v : 0) +
                         weight * static_cast<double>(*most - state.load[at(p)]);
    if (best < 0 || score > highest) {
      best = p;
      highest = score;
    }
  }
  return best;
}

}  // namespace

StreamCut hdrf_partition(EdgeStream& edges, int parts, std::uint64_t seed,
                         const HdrfOptions& options, const EdgeSink& sink) {
  StreamCounts counts = count_edges(edges);
  const std::int64_t vertices = counts.vertices();
  EdgeAssignment state(vertices, parts, counts.edges, options.balance, sink);
  std::vector<std::uint32_t>& so_far = counts.degree;
  std::fill(so_far.begin(), so_far.end(), 0);
  for_each_edge(
      edges,
      [&](const Edge& edge) {
        prefetch_to_write(&so_far[at(edge.source)]);
        prefetch_to_write(&so_far[at(edge.destination)]);
        state.fetch(edge);
      },
      [&](const Edge& edge) {
        const double d_u = ++so_far[at(edge.source)];
        const double d_v = ++so_far[at(edge.destination)];
        state.assign(edge, best_part(state, edge, d_u / (d_u + d_v), options.lambda));
      });
  return std::move(state).cut(vertices, seed);
}

Partitioner hdrf_partitioner() {
  return {
      .name = "hdrf",
      .description = "edges, replicating high degrees first",
      .assigns = Assigns::edges,
      .drawn = true,
      .parameters = {{"lambda",
                      [](const PartitionOptions& o) -> ParameterValue { return o.hdrf.lambda; },
                      {}},
                     {"balance",
                      [](const PartitionOptions& o) -> ParameterValue { return o.hdrf.balance; },
                      {}}},
      .cut = [](EdgeStream& edges, int parts, const PartitionOptions& o) {
        return hdrf_partition(edges, parts, o.seed, o.hdrf, o.assigned);
      }};
}

}  // namespace orrery
