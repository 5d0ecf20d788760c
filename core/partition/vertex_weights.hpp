// Weights of vertices in the balance of parts.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/csr.hpp"
#include "core/graph/dataset.hpp"

namespace orrery {

/// All parts get equal shares of these. Types stand for one constraint for each type of vertices.
enum class Constraint { work, vertices, edges, training, validation, test, types };
std::string_view name_of(Constraint constraint);
std::vector<std::string> names_of(std::span<const Constraint> constraints);

/// A weight per vertex and constraint: values[v·constraints + c].
struct VertexWeights {
  int constraints = 1;
  std::vector<std::int32_t> values;
};

/// work: 1 + degree; vertices: 1; edges: degree; training, validation, test: 1 for vertices of the
/// split; types: a constraint for each type, 1 for vertices of the type. Degrees are counted without
/// self-loops.
///
/// Requires  a symmetric graph; `split` of every vertex, or empty; `type_counts`: the vertices of
///           each type, in the order of their numbers, or empty if vertices have no types
/// Errors    ConfigError if no vertex has a share of a constraint, or vertices have no types
/// Source    a constraint for each type: DistDGLv2 4.1.2
VertexWeights vertex_weights(const Csr& graph, std::span<const Constraint> constraints,
                             std::span<const Split> split,
                             std::span<const std::int64_t> type_counts = {});

/// Largest share of a part / mean, for each constraint.
std::vector<double> balances(const VertexWeights& weights, std::span<const std::int32_t> owner,
                             int parts);

}  // namespace orrery
