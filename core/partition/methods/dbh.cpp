#include "core/base/cache_line.hpp"
#include "core/base/index.hpp"
#include "core/partition/methods/edge_assignment.hpp"
#include "core/partition/methods/partitioner.hpp"

namespace orrery {

StreamCut dbh_partition(EdgeStream& edges, int parts, std::uint64_t seed, const EdgeSink& sink) {
  const StreamCounts counts = count_edges(edges);
  EdgeAssignment state(counts.vertices(), parts, counts.edges, 1,
                       sink);  // a hash does not consider full parts
  const auto degree = [&](Vertex v) -> const std::uint32_t& { return counts.degree[at(v)]; };
  for_each_edge(
      edges,
      [&](const Edge& edge) {
        prefetch(&degree(edge.source));
        prefetch(&degree(edge.destination));
        state.fetch(edge);
      },
      [&](const Edge& edge) {
        // The lesser (degree, number), without a branch, because it is unpredictable.
        const auto key = [&](Vertex v) {
          return std::uint64_t{degree(v)} << 32U | static_cast<std::uint32_t>(v);
        };
        const auto low = static_cast<Vertex>(std::min(key(edge.source), key(edge.destination)));
        state.assign(edge, hashed_part(low, parts, seed));
      });
  return std::move(state).cut(counts.vertices(), seed);
}

Partitioner dbh_partitioner() {
  return {.name = "dbh",
          .description = "edges by a hash of the end of lower degree",
          .assigns = Assigns::edges,
          .drawn = true,
          .parameters = {},
          .cut = [](EdgeStream& edges, int parts, const PartitionOptions& o) {
            return dbh_partition(edges, parts, o.seed, o.assigned);
          }};
}

}  // namespace orrery
