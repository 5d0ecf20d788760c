// Vertices drawn in proportion to their degrees.
#pragma once

#include <algorithm>
#include <vector>

#include "core/graph/generate/generate.hpp"

namespace orrery {

/// Ends of edges ("stubs") laid out vertex by vertex, in ascending order of degree, so that a
/// uniform stub is a vertex drawn in proportion to its degree.
class Stubs {
 public:
  explicit Stubs(const std::vector<DegreeClass>& classes) {
    for (const DegreeClass& c : classes) {
      runs_.push_back({c.degree, vertices_, stubs_});
      vertices_ += c.vertices;
      stubs_ += c.vertices * c.degree;
    }
  }
  std::int64_t vertices() const { return vertices_; }
  std::int64_t edges() const { return stubs_ / 2; }
  std::int64_t draw(Sequence& random) const {
    const auto stub = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(stubs_)));
    const Run& run = *(std::ranges::upper_bound(runs_, stub, {}, &Run::first_stub) - 1);
    return run.first_vertex + (stub - run.first_stub) / run.degree;
  }

 private:
  /// Consecutive vertices of one degree.
  struct Run {
    std::int64_t degree, first_vertex, first_stub;
  };
  std::vector<Run> runs_;
  std::int64_t vertices_ = 0, stubs_ = 0;
};

}  // namespace orrery
