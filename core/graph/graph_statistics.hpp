// A graph of which nobody has the edges: what is published about it, as plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace orrery {

/// Enough for strategies that cut a random permutation of the vertices into equal blocks, because
/// there every block of the matrix is like every other.
struct GraphStatistics {
  std::string name;
  std::int64_t vertices = 0;
  std::int64_t edges = 0;  ///< as stored: each direction of a symmetric graph; no self-loops
  std::int64_t features = 0, classes = 0;
  double skew = 1;        ///< largest degree divided by the mean one
  bool symmetric = true;  ///< every edge is there in both directions
  bool multilabel = false;
  std::int64_t training_vertices = 0;            ///< the others are half validation, half test
  std::optional<std::int64_t> training_edges{};  ///< among them, where somebody has counted
};

}  // namespace orrery
