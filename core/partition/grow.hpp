// Extends a cut of some of a graph's vertices to all of them.
#pragma once

#include <span>

#include "core/graph/csr.hpp"
#include "core/partition/partition.hpp"

namespace orrery {

/// Every other vertex, in ascending order, joins the part that holds most of its in-neighbours so
/// far, among the parts with fewer than ⌈n / parts⌉ vertices. Ties go to the smallest part, then to
/// the first.
///
/// Shapes    vertices: ascending, those that `cut` covers, in its order
/// Cost      one pass over the rows of the other vertices, each with a look at all parts
Partition grow(const Partition& cut, std::span<const Vertex> vertices, const Csr& graph);

}  // namespace orrery
