// A graph without known edges: its published counts, as plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace orrery {

/// Enough for strategies that cut a random permutation of the vertices into equal blocks, because
/// every block of the matrix is then like every other.
struct GraphStatistics {
  std::string name;
  std::int64_t vertices = 0;
  std::int64_t edges = 0;  ///< as stored: each direction of a symmetric graph; no self-loops
  std::int64_t features = 0, classes = 0;
  double skew = 1;        ///< largest degree divided by the mean degree
  bool symmetric = true;  ///< every edge exists in both directions
  bool multilabel = false;
  std::int64_t training_vertices = 0;            ///< the others are half validation, half test
  std::optional<std::int64_t> training_edges{};  ///< edges among them, if somebody has counted
};

}  // namespace orrery
