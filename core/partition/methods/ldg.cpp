#include "core/partition/methods/greedy_vertices.hpp"
#include "core/partition/methods/partitioner.hpp"
#include "core/partition/partition_options.hpp"

namespace orrery {

StreamCut ldg_partition(VertexStream& vertices, int parts, const LdgOptions& options) {
  const double most = options.balance * static_cast<double>(vertices.vertices()) / parts;
  return place_vertices(vertices, parts, most, [&](double neighbours, double size) {
    return neighbours * (1 - size / most);
  });
}

Partitioner ldg_partitioner() {
  return {.name = "ldg",
          .description = "vertices to where their neighbours are, with a linear penalty",
          .assigns = Assigns::vertices,
          .drawn = false,
          .parameters = {{"balance",
                          [](const PartitionOptions& o) -> ParameterValue { return o.ldg.balance; },
                          {}}},
          .cut = [](VertexStream& vertices, int parts, const PartitionOptions& o) {
            return ldg_partition(vertices, parts, o.ldg);
          }};
}

}  // namespace orrery
