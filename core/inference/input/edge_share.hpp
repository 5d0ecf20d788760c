// The edges that one of several ranks reads.
#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/edge_list.hpp"

namespace orrery {

/// Edges that come in pieces.
class EdgeShare {
 public:
  virtual ~EdgeShare() = default;
  /// into ← the next edges, at most `most` (which is positive); none: the end.
  ///
  /// Errors    DataError: the input is no edge, with its place
  virtual void next(std::int64_t most, std::vector<Edge>& into) = 0;
};

}  // namespace orrery
