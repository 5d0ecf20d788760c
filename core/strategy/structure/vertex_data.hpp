// The vertices of a part, and the source of their features, labels and split.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "core/graph/dataset.hpp"
#include "core/strategy/structure/index_list.hpp"

namespace orrery {

/// Vertices of a split, indexed by Split (train, validation, test).
using SplitCounts = std::array<std::int64_t, 3>;

/// Vertices in an order of their own, with their data.
///
/// Placement the vertices of one part
class VertexData {
 public:
  VertexData() = default;
  /// `rows`: row in `data` of each of the part's vertices.
  VertexData(std::shared_ptr<const Dataset> data, std::shared_ptr<const std::vector<Vertex>> rows)
      : data_(std::move(data)), rows_(std::move(rows)) {}
  /// Counted only: `splits` counts the first `own` vertices.
  VertexData(std::int64_t vertices, std::int64_t own, const SplitCounts& splits)
      : rows_(IndexList::counted(vertices)), own_(own), splits_(splits) {}
  /// `times` copies of each of these vertices, of which the first `own` may be targets; counted
  /// only.
  VertexData magnified(std::int64_t own, std::int64_t times) const;

  /// The part with these of its vertices, in this order.
  ///
  /// Requires  vertices that are not only counted
  VertexData of(const std::vector<Vertex>& rows) const;

  std::int64_t vertices() const { return rows_.size(); }
  /// The features of all its vertices, beginning with a column.
  Source features(std::int64_t first_column) const;
  /// The labels of its first `count` vertices.
  Source labels(std::int64_t count) const;
  /// `weight` of the class of each of these targets, times that of `beside` if there is one.
  ///
  /// Shapes    targets [t] · weight [classes] · beside [t] · result [t]
  Source class_weights(const IndexList& targets, const std::vector<float>& weight,
                       const std::vector<float>* beside) const;
  /// Which of its first `count` vertices are in the split (train, validation or test); ascending.
  IndexList targets(Split split, std::int64_t count) const;

 private:
  std::shared_ptr<const Dataset> data_;  ///< null if only counts are known
  IndexList rows_;
  std::int64_t own_ = 0;
  SplitCounts splits_{};
};

}  // namespace orrery
