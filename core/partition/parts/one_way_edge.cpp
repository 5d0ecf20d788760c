#include "core/partition/parts/one_way_edge.hpp"

#include <algorithm>

#include "core/base/temporary_folder.hpp"
#include "core/partition/parts/pair_hash.hpp"
#include "core/partition/parts/sorted_rows.hpp"

namespace orrery {
namespace {

/// Whether every edge occurs as often as its reverse.
bool is_balanced(EdgeStream& edges) {
  std::uint64_t forward = 0, backward = 0;
  for_each_edge(edges, [&](const Edge& edge) {
    forward += hash_of(edge.source, edge.destination);
    backward += hash_of(edge.destination, edge.source);
  });
  return forward == backward;
}

}  // namespace

std::optional<Edge> one_way_edge(EdgeStream& edges) {
  if (is_balanced(edges)) return std::nullopt;
  const TemporaryFolder scratch("edges");
  const auto vertices = static_cast<std::size_t>(count_edges(edges).vertices());
  const OwnerOrder order(Partition{1, std::vector<std::int32_t>(vertices)});
  SortedRows in(edges, SortedRows::Side::in, order, scratch.path() / "in");
  if (in.symmetric()) return std::nullopt;  // some occur more often than others
  SortedRows out(edges, SortedRows::Side::out, order, scratch.path() / "out");
  for (std::size_t i = 0; i < vertices; ++i) {
    const auto v = static_cast<Vertex>(i);
    const auto from = in.row(v), to = out.row(v);
    for (const Vertex u : from)
      if (!std::ranges::binary_search(to, u)) return Edge{u, v};
  }
  return std::nullopt;
}

}  // namespace orrery
