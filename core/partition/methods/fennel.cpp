#include <cmath>

#include "core/partition/methods/greedy_vertices.hpp"
#include "core/partition/methods/partitioner.hpp"
#include "core/partition/partition_options.hpp"

namespace orrery {

StreamCut fennel_partition(VertexStream& vertices, int parts, const FennelOptions& options) {
  const auto n = static_cast<double>(vertices.vertices());
  const double gamma = options.gamma, most = options.balance * n / parts;
  const double alpha =
      std::sqrt(parts) * static_cast<double>(vertices.undirected_edges()) / std::pow(n, 1.5);
  return place_vertices(vertices, parts, most, [&](double neighbours, double size) {
    return neighbours - alpha * gamma * std::pow(size, gamma - 1);
  });
}

Partitioner fennel_partitioner() {
  return {
      .name = "fennel",
      .description = "vertices to where their neighbours are, with a power of the size as penalty",
      .assigns = Assigns::vertices,
      .drawn = false,
      .parameters = {{"gamma",
                      [](const PartitionOptions& o) -> ParameterValue { return o.fennel.gamma; },
                      {}},
                     {"balance",
                      [](const PartitionOptions& o) -> ParameterValue { return o.fennel.balance; },
                      {}}},
      .cut = [](VertexStream& vertices, int parts, const PartitionOptions& o) {
        return fennel_partition(vertices, parts, o.fennel);
      }};
}

}  // namespace orrery
