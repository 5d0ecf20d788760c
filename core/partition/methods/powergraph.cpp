#include "core/base/cache_line.hpp"
#include "core/base/index.hpp"
#include "core/partition/methods/edge_assignment.hpp"
#include "core/partition/methods/partitioner.hpp"
#include "core/partition/partition_options.hpp"

namespace orrery {
namespace {

/// The part by the rule; -1 if all accepted parts are full.
std::int32_t greedy_part(const EdgeAssignment& state, const Edge& edge,
                         const std::vector<std::uint32_t>& to_come) {
  const auto [u, v] = edge;
  const Replicas& a = state.replicas;
  const int held_u = a.count(u), held_v = a.count(v);
  if (held_u > 0 && held_v > 0) {
    const std::int32_t both =
        state.least_loaded([&](std::int32_t p) { return a.has(u, p) && a.has(v, p); });
    if (both >= 0) return both;
    const bool more_of_u = to_come[at(u)] >= to_come[at(v)];
    return state.least_loaded([&](std::int32_t p) { return a.has(more_of_u ? u : v, p); });
  }
  if (held_u + held_v == 0) return state.least_loaded();
  return state.least_loaded([&](std::int32_t p) { return a.has(held_u > 0 ? u : v, p); });
}

}  // namespace

StreamCut powergraph_partition(EdgeStream& edges, int parts, std::uint64_t seed,
                               const PowergraphOptions& options, const EdgeSink& sink) {
  StreamCounts counts = count_edges(edges);
  const std::int64_t vertices = counts.vertices();
  EdgeAssignment state(vertices, parts, counts.edges, options.balance, sink);
  // Remaining edges of each vertex.
  std::vector<std::uint32_t>& to_come = counts.degree;
  for_each_edge(
      edges,
      [&](const Edge& edge) {
        prefetch_to_write(&to_come[at(edge.source)]);
        prefetch_to_write(&to_come[at(edge.destination)]);
        state.fetch(edge);
      },
      [&](const Edge& edge) {
        const std::int32_t part = greedy_part(state, edge, to_come);
        state.assign(edge, part >= 0 ? part : state.least_loaded());
        --to_come[at(edge.source)];
        --to_come[at(edge.destination)];
      });
  return std::move(state).cut(vertices, seed);
}

Partitioner powergraph_partitioner() {
  return {.name = "powergraph",
          .description = "edges to where their ends are, greedily",
          .assigns = Assigns::edges,
          .drawn = true,
          .parameters = {{"balance",
                          [](const PartitionOptions& o) -> ParameterValue {
                            return o.powergraph.balance;
                          },
                          {}}},
          .cut = [](EdgeStream& edges, int parts, const PartitionOptions& o) {
            return powergraph_partition(edges, parts, o.seed, o.powergraph, o.assigned);
          }};
}

}  // namespace orrery
