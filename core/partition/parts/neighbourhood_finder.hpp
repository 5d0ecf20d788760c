// Which vertices and edges a part holds.
#pragma once

#include <optional>
#include <vector>

#include "core/base/index.hpp"
#include "core/partition/cross_edges.hpp"
#include "core/partition/parts/graph_rows.hpp"
#include "core/partition/parts/owner_order.hpp"

namespace orrery {

constexpr int kMostHops = 3;

/// V_p(k) = the vertices that part p owns and all within k hops of them, ignoring directions. The
/// part's edges are those with an end less than k hops away; for k = 0 those between its own
/// vertices. So for k >= 1 every vertex less than k hops away has its complete neighbourhood. For k
/// = 0 and `one_sided` an edge between two parts is in one of them (drawn_end): that part also has
/// the edge and its other end, at distance 1.
///
/// Local numbers: own vertices first, ascending, then the others by (distance, owner, row there).
///
/// Cost      4 bytes per vertex of the graph, and 4 per vertex of the part. Finding and listing
///           read each row of a vertex less than k hops away: in order if k <= 1, else with jumps
///           between the rows of other parts
class NeighbourhoodFinder {
 public:
  /// `one_sided`: the seed of the draws; nothing: without hops no edge leaves a part.
  ///
  /// Requires  rows and order outlive it; 0 <= hops <= kMostHops, 0 with one_sided
  NeighbourhoodFinder(GraphRows& rows, const OwnerOrder& order, int hops,
                      std::optional<std::uint64_t> one_sided = std::nullopt);

  /// Moves on to a part.
  void find(int part);

  /// The vertices of the part, in the order of local numbers.
  const std::vector<Vertex>& vertices() const { return vertices_; }
  std::int64_t owned() const { return first_[1]; }
  /// Hops from the part's own vertices.
  int distance(std::int64_t local) const;
  /// Calls visit(local source, local destination) for the part's edges, always in the same order.
  template <class Visit>
  void for_each_edge(const Visit& visit) {
    for_each_entry([&](Vertex v) { return rows_.in(v); }, [&](Vertex v) { return rows_.out(v); },
                   [&](Vertex, Vertex source, Vertex destination) { visit(source, destination); });
  }
  /// Calls visit(relation, local source, local destination) for them in that order, once for each
  /// relation that has the edge.
  ///
  /// Requires  the graph's edges have relations
  template <class Visit>
  void for_each_typed_edge(const Visit& visit) {
    for_each_entry([&](Vertex v) { return rows_.in_by_relation(v); },
                   [&](Vertex v) { return rows_.out_by_relation(v); },
                   [&](const TypedNeighbour& neighbour, Vertex source, Vertex destination) {
                     visit(neighbour.relation, source, destination);
                   });
  }

 private:
  /// Calls visit(neighbour, local source, local destination) for the part's edges among the
  /// neighbours in(v) and out(v) of its vertices.
  template <class In, class Out, class Visit>
  void for_each_entry(const In& in, const Out& out, const Visit& visit);
  template <class Wanted>
  void add_neighbours(std::span<const Vertex> neighbours, const Wanted& wanted);
  void number_found();
  /// Whether the edge between an own vertex and one of another part is in this part.
  bool drawn(Vertex own, Vertex other) const {
    return one_sided_ && drawn_end(*one_sided_, own, other) == own;
  }

  GraphRows& rows_;
  const OwnerOrder& order_;
  int hops_;
  std::optional<std::uint64_t> one_sided_;
  std::vector<Vertex> vertices_;
  /// local number of the first vertex at each distance; then their total
  std::vector<std::int64_t> first_;
  /// local number of each vertex of the graph; -1: not in the part
  std::vector<Vertex> local_;
};

template <class In, class Out, class Visit>
void NeighbourhoodFinder::for_each_entry(const In& in, const Out& out, const Visit& visit) {
  const auto inside = static_cast<Vertex>(hops_ == 0 ? owned() : first_[at(hops_)]);
  for (Vertex v = 0; v < inside; ++v) {
    const Vertex vertex = vertices_[at(v)];
    const auto held = [&](Vertex u) {
      return local_[at(u)] >= 0 && (hops_ > 0 || local_[at(u)] < inside || drawn(vertex, u));
    };
    for (const auto& neighbour : in(vertex))
      if (const Vertex u = vertex_of(neighbour); held(u)) visit(neighbour, local_[at(u)], v);
    if (hops_ == 0 && !one_sided_) continue;
    for (const auto& neighbour : out(vertex))  // those inside have listed theirs
      if (const Vertex u = vertex_of(neighbour); local_[at(u)] >= inside && held(u))
        visit(neighbour, v, local_[at(u)]);
  }
}

}  // namespace orrery
