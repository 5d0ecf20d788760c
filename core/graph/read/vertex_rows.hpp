// Row by row, what a data set knows about its vertices besides the graph, in any place.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/graph/dataset.hpp"

namespace orrery {

/// Features, labels and split of `count` vertices. Absent data is null.
struct VertexRows {
  std::int64_t count = 0;
  std::shared_ptr<const Features> features;
  std::int64_t classes = 0;
  bool multilabel = false;
  /// Writes the labels of the vertices, `columns()` each, in the form of Labels.
  std::function<void(std::span<const Vertex> vertices, std::int32_t* out)> labels;
  std::function<void(std::span<const Vertex> vertices, Split* out)> split;

  std::int64_t columns() const { return multilabel ? classes : 1; }
};

/// The rows of a data set in memory.
///
/// Requires  a data set that outlives them
VertexRows rows_of(const Dataset& data);

/// The rows of some vertices, in their order, numbered from 0.
///
/// Requires  `vertices` outlives them
VertexRows rows_of(const VertexRows& whole, std::span<const Vertex> vertices);

}  // namespace orrery
