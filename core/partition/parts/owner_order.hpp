// The vertices part by part, and the place of each.
#pragma once

#include <span>
#include <vector>

#include "core/base/index.hpp"
#include "core/partition/partition.hpp"

namespace orrery {

/// The vertices in the order (owner, number). A vertex's row at its owner is its position minus
/// that of the owner's first vertex.
///
/// Cost      8 bytes per vertex
struct OwnerOrder {
  explicit OwnerOrder(const Partition& partition);

  int parts() const { return static_cast<int>(begin.size()) - 1; }
  std::int64_t vertices() const { return static_cast<std::int64_t>(position.size()); }
  /// The vertices that a part owns, ascending.
  std::span<const Vertex> owned(int part) const {
    const auto first = static_cast<std::size_t>(begin[at(part)]);
    const auto last = static_cast<std::size_t>(begin[at(part) + 1]);
    return {vertex.data() + first, last - first};
  }
  std::int32_t owner(Vertex v) const;
  Vertex row(Vertex v) const { return position[at(v)] - begin[at(owner(v))]; }

  std::vector<Vertex> begin;     ///< position of each part's first vertex; then their total
  std::vector<Vertex> position;  ///< position of each vertex
  std::vector<Vertex> vertex;    ///< vertex at each position
};

}  // namespace orrery
