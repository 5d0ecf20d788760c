// Rows of a graph from edges in no order.
#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/csr.hpp"

namespace orrery {

/// The rows of these edges: columns ascending, each once.
///
/// Edges are dealt to blocks of rows that fit into a core's cache, and there are sorted digit by digit, so
/// that no edge is moved through main memory more than twice.
///
/// Shapes    pairs [edges, 2]: row, column
/// Requires  0 <= row < rows, 0 <= column < columns
/// Cost      12 bytes for each edge beside `pairs`, which are gone when the second half of these is taken;
///           O(edges) but for the digits of a row and a column in a block, which are few
Csr sorted_rows(std::vector<Vertex>&& pairs, std::int64_t rows, std::int64_t columns);

}  // namespace orrery
