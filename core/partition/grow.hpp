// A cut of some of a graph's vertices, grown to all of them.
#pragma once

#include <span>

#include "core/graph/csr.hpp"
#include "core/partition/partition.hpp"

namespace orrery {

/// Every other vertex, by ascending number, joins the part that holds most of its in-neighbours so
/// far, of the parts with fewer than ⌈n / parts⌉ vertices; of several the smallest, then the first.
///
/// Shapes    vertices: ascending, those that `cut` is about, in its order
/// Cost      one pass over the rows of the other vertices, in each a look at all parts
Partition grow(const Partition& cut, std::span<const Vertex> vertices, const Csr& graph);

}  // namespace orrery
