#include "core/graph/edge_list.hpp"

namespace orrery {

EdgeList join_chunks(std::int64_t vertices, std::vector<std::vector<Edge>>&& chunks) {
  return join_chunks(vertices, std::move(chunks), [](Vertex v) { return v; });
}

}  // namespace orrery
