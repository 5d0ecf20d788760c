#include "core/partition/methods/greedy_vertices.hpp"
#include "core/partition/partition_options.hpp"

namespace orrery {

StreamCut ldg_partition(VertexStream& vertices, int parts, const LdgOptions& options) {
  const double most = options.balance * static_cast<double>(vertices.vertices()) / parts;
  return place_vertices(vertices, parts, most, [&](double neighbours, double size) {
    return neighbours * (1 - size / most);
  });
}

}  // namespace orrery
