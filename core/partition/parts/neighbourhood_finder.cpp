#include "core/partition/parts/neighbourhood_finder.hpp"

#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/index.hpp"

namespace orrery {

NeighbourhoodFinder::NeighbourhoodFinder(GraphRows& rows, const OwnerOrder& order, int hops,
                                         std::optional<std::uint64_t> one_sided)
    : rows_(rows),
      order_(order),
      hops_(hops),
      one_sided_(one_sided),
      local_(order.position.size(), -1) {
  ORRERY_ASSERT(hops >= 0 && hops <= kMostHops && (hops == 0 || !one_sided));
  vertices_.reserve(local_.size());  // so that it never grows to twice its size
}

void NeighbourhoodFinder::find(int part) {
  for (const Vertex v : vertices_) local_[at(v)] = -1;
  const auto own = order_.owned(part);
  vertices_.assign(own.begin(), own.end());
  first_ = {0, std::ssize(own)};
  for (std::size_t i = 0; i < own.size(); ++i) local_[at(own[i])] = static_cast<Vertex>(i);
  const auto add_around = [&](Vertex v, const auto& wanted) {
    add_neighbours(rows_.in(v), wanted);
    if (!rows_.symmetric()) add_neighbours(rows_.out(v), wanted);
  };
  for (int d = 0; d < hops_; ++d) {
    for (std::int64_t i = first_[at(d)]; i < first_.back(); ++i)
      add_around(vertices_[at(i)], [](Vertex) { return true; });
    number_found();
  }
  if (!one_sided_) return;
  for (const Vertex v : own) add_around(v, [&](Vertex u) { return drawn(v, u); });
  number_found();
}

/// Those that were added last are all at the next distance.
void NeighbourhoodFinder::number_found() {
  const auto found = vertices_.begin() + first_.back();
  std::sort(found, vertices_.end(),
            [&](Vertex a, Vertex b) { return order_.position[at(a)] < order_.position[at(b)]; });
  for (auto i = static_cast<std::size_t>(first_.back()); i < vertices_.size(); ++i)
    local_[at(vertices_[i])] = static_cast<Vertex>(i);
  first_.push_back(std::ssize(vertices_));
}

template <class Wanted>
void NeighbourhoodFinder::add_neighbours(std::span<const Vertex> neighbours, const Wanted& wanted) {
  for (const Vertex u : neighbours) {
    if (local_[at(u)] >= 0 || !wanted(u)) continue;
    local_[at(u)] = 0;  // until the whole distance is known and sorted
    vertices_.push_back(u);
  }
}

int NeighbourhoodFinder::distance(std::int64_t local) const {
  int d = 0;
  while (local >= first_[at(d) + 1]) ++d;
  return d;
}

}  // namespace orrery
