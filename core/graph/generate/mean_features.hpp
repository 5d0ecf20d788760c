// Features for vertices whose type has none.
#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/typed_graph.hpp"

namespace orrery {

/// Gives each vertex of a type without features the mean of its neighbours' features. Neighbours
/// are those of edges in both directions; one counts once, whatever relations lead to it. Types
/// that a relation joins with a type that has features come first, then those that are joined with
/// these, and so on; a vertex counts the neighbours of the types before its own alone, and of
/// these the ones that have features. Sums are double, in the order of the neighbours' numbers.
/// Returns the number of vertices that have no such neighbours; their rows stay 0. Parallel; the
/// result does not depend on the number of threads.
///
/// Shapes    values [vertices, width], row-major; has [types]: whether the type has features
/// Requires  graph is the union of the relations; rows of types without features are 0
/// Cost      the edges twice in memory, and an addition for each edge and column
std::int64_t fill_with_means(std::vector<float>& values, std::int64_t width,
                             const std::vector<bool>& has, const TypedGraph& typed,
                             const Csr& graph);

}  // namespace orrery
