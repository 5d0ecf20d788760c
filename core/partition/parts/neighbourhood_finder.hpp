// Which vertices a part holds, and which edges.
#pragma once

#include <functional>
#include <vector>

#include "core/base/index.hpp"
#include "core/partition/parts/graph_rows.hpp"
#include "core/partition/parts/owner_order.hpp"

namespace orrery {

constexpr int kMostHops = 3;

/// V_p(k) = the vertices that part p owns and all within k hops of them, directions ignored. The
/// part's edges are those with an end less than k hops away; for k = 0 those between its own
/// vertices. So for k >= 1 every vertex less than k hops away has its complete neighbourhood.
///
/// Local numbers: own vertices first, ascending, then the others by (distance, owner, row there).
///
/// Cost      4 bytes per vertex of the graph, and 4 per vertex of the part. Finding and listing
///           read each row of a vertex less than k hops away: in order where k <= 1, else with
///           jumps between the rows of other parts
class NeighbourhoodFinder {
 public:
  /// Requires  rows and order outlive it; 0 <= hops <= kMostHops
  NeighbourhoodFinder(GraphRows& rows, const OwnerOrder& order, int hops);

  /// Goes on to a part.
  void find(int part);

  /// Of the part, in the order of local numbers.
  const std::vector<Vertex>& vertices() const { return vertices_; }
  std::int64_t owned() const { return first_[1]; }
  /// Hops from the part's own vertices.
  int distance(std::int64_t local) const;
  /// The part's edges as visit(local source, local destination), always in the same order.
  template <class Visit>
  void for_each_edge(const Visit& visit);

 private:
  void add_neighbours(std::span<const Vertex> neighbours);

  GraphRows& rows_;
  const OwnerOrder& order_;
  int hops_;
  std::vector<Vertex> vertices_;
  std::vector<std::int64_t> first_;  ///< local number of the first vertex at each distance; all
  std::vector<Vertex> local_;        ///< of each vertex of the graph; -1: not of the part
};

template <class Visit>
void NeighbourhoodFinder::for_each_edge(const Visit& visit) {
  const auto inside = static_cast<Vertex>(hops_ == 0 ? owned() : first_[at(hops_)]);
  for (Vertex v = 0; v < inside; ++v) {
    for (const Vertex u : rows_.in(vertices_[at(v)]))
      if (local_[at(u)] >= 0) visit(local_[at(u)], v);
    if (hops_ == 0) continue;
    for (const Vertex u : rows_.out(vertices_[at(v)]))  // those inside have listed theirs
      if (local_[at(u)] >= inside) visit(v, local_[at(u)]);
  }
}

}  // namespace orrery
