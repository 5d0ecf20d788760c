// A sparse pattern in compressed rows: the one graph form of the project.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/index.hpp"

namespace orrery {

using Vertex = std::int32_t;     ///< global or local vertex number
using EdgeIndex = std::int64_t;  ///< position in an edge array

constexpr std::int64_t kMaxVertices = 2147483647;  ///< vertices are numbered by int32

/// Compressed sparse rows. As an adjacency, row v lists the in-neighbours of v (edge u -> v is the
/// entry (v, u)), because a vertex aggregates these. Columns ascend within a row and are distinct.
///
/// Shapes    offsets [rows + 1], columns [nnz]
struct Csr {
  std::int64_t rows = 0, cols = 0;
  std::vector<EdgeIndex> offsets{0};
  std::vector<Vertex> columns;

  std::int64_t nnz() const { return static_cast<std::int64_t>(columns.size()); }
  std::int64_t degree(std::int64_t row) const { return offsets[at(row) + 1] - offsets[at(row)]; }
  std::span<const Vertex> row(std::int64_t r) const {
    return {columns.data() + offsets[at(r)], static_cast<std::size_t>(degree(r))};
  }
  bool operator==(const Csr&) const = default;
};

/// A list of directed edges: source[i] -> destination[i].
struct EdgeList {
  std::int64_t vertices = 0;
  std::vector<Vertex> source, destination;
  std::int64_t size() const { return static_cast<std::int64_t>(source.size()); }
};

/// In-neighbour adjacency of the edges source[i] -> destination[i]; duplicate edges are merged,
/// self-loops kept. Parallel; the result does not depend on the order of the edges or the number of
/// threads.
///
/// Shapes    source [edges], destination [edges]
/// Cost      two passes over the edges and one sort per row; 8 bytes per edge besides the result
/// Errors    ORRERY_ASSERT: every id in [0, vertices) (readers check their input and name the
///           position)
Csr build_csr(std::int64_t vertices, std::span<const Vertex> source,
              std::span<const Vertex> destination);
Csr build_csr(const EdgeList& edges);

/// The transpose: row u lists the v with u in row v.
Csr transpose(const Csr& a);

/// The union of two patterns of the same shape.
Csr merge(const Csr& a, const Csr& b);

/// Adds the reverse of every edge (a must be square); duplicates are merged.
Csr symmetrise(const Csr& a);

/// True if the pattern equals its transpose.
bool is_symmetric(const Csr& a);

}  // namespace orrery
