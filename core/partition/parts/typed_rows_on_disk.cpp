#include "core/partition/parts/typed_rows_on_disk.hpp"

#include <fmt/core.h>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/partition/parts/pair_hash.hpp"

namespace orrery {
namespace {

/// Sums of hashes of (source, destination) of some edges, and of the reverses of these edges. Two
/// sets of edges have the same sums only if they are equal, except for one case in 2^64.
struct EdgeSums {
  std::uint64_t forward = 0, backward = 0;
  void add(Vertex source, Vertex destination) {
    forward += hash_of(source, destination);
    backward += hash_of(destination, source);
  }
};

/// Throws unless each relation's reverse has the reverses of its edges.
void require_reverses(const TypedEdges& edges, const std::vector<EdgeSums>& sums) {
  for (std::int32_t r = 0; r < edges.stored_relations(); ++r) {
    const auto reverse = edges.reverse_of(r);
    if (!reverse || sums[at(r)].backward == sums[at(*reverse)].forward) continue;
    const auto& relations = edges.typed().relations;
    throw ConfigError("dataset.symmetric",
                      fmt::format("{} is no reverse of {}: some edges differ. Give it another "
                                  "name, or set dataset.symmetric to false",
                                  relations[at(*reverse)].text(), relations[at(r)].text()));
  }
}

}  // namespace

TypedRowsOnDisk::TypedRowsOnDisk(TypedEdges& edges, const OwnerOrder& order,
                                 const std::filesystem::path& scratch)
    : in_(edges, RowSide::in, order, scratch / "in"),
      out_(edges, RowSide::out, order, scratch / "out"),
      degree_(at(order.vertices())) {
  count(edges, order);
}

/// One pass over the vertices in the order of the parts, as their rows lie in the file.
void TypedRowsOnDisk::count(const TypedEdges& edges, const OwnerOrder& order) {
  std::vector<EdgeSums> sums(edges.typed().relations.size());
  edges_of_.resize(sums.size());
  EdgeSums all;
  for (const Vertex v : order.vertex) {
    Vertex before = -1;
    for (const auto& [u, relation] : in_.row(v)) {
      ++edges_of_[at(relation)];
      sums[at(relation)].add(u, v);
      if (u == before) continue;
      before = u;  // its smallest relation comes first
      ++edges_;
      if (relation < edges.stored_relations()) ++stored_edges_;
      if (u != v) ++degree_[at(v)];
      all.add(u, v);
    }
  }
  symmetric_ = all.forward == all.backward;
  merged_ = edges.stored_edges();
  for (std::int32_t r = 0; r < edges.stored_relations(); ++r) merged_ -= edges_of_[at(r)];
  require_reverses(edges, sums);
}

std::span<const Vertex> TypedRowsOnDisk::distinct(std::span<const TypedNeighbour> row,
                                                  std::vector<Vertex>& found) {
  found.clear();
  for (const TypedNeighbour& neighbour : row)
    if (found.empty() || found.back() != neighbour.vertex) found.push_back(neighbour.vertex);
  return found;
}

}  // namespace orrery
