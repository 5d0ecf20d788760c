#include "core/partition/methods/edge_assignment.hpp"
#include "core/partition/methods/partitioner.hpp"

namespace orrery {

StreamCut hash_partition(EdgeStream& edges, int parts, std::uint64_t seed) {
  const StreamCounts counts = count_edges(edges);
  StreamCut cut;
  cut.partition = {parts, std::vector<std::int32_t>(counts.degree.size())};
  for (std::size_t v = 0; v < counts.degree.size(); ++v)
    cut.partition.owner[v] = hashed_part(static_cast<Vertex>(v), parts, seed);
  return cut;
}

Partitioner hash_partitioner() {
  return {.name = "hash",
          .description = "vertices by a random hash",
          .assigns = Assigns::vertices,
          .drawn = true,
          .parameters = {},
          .cut = [](EdgeStream& edges, int parts, const PartitionOptions& o) {
            return hash_partition(edges, parts, o.seed);
          }};
}

}  // namespace orrery
