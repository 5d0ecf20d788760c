// What an experiment file says under "inference", as plain data.
#pragma once

#include <cstdint>

#include "core/sample/neighbour_sampler.hpp"

namespace orrery {

/// How rows that are spread over the ranks of a part are multiplied by W.
///   ring    tiles travel around: a rank gets its share of the rows whole, multiplies it, and the
///           result travels back
///   reduce  a rank multiplies its columns by the rows of W that they meet, and all add up what they
///           got
enum class DenseProduct : std::uint8_t { ring, reduce };

struct InferenceConfig {
  int fanout = kAllNeighbours;  ///< neighbours of each vertex in each layer, at most
  int rows = 1;                 ///< P: parts of the vertices
  int columns = 1;              ///< M: shares of the columns of each part
  /// Rows of other parts are fetched in groups of at most so many bytes (of one row at least); 0: all
  /// of one part together.
  std::int64_t group_bytes = 0;
  DenseProduct gemm = DenseProduct::ring;
  std::uint64_t seed = 0;  ///< of the neighbours that are drawn
};

}  // namespace orrery
