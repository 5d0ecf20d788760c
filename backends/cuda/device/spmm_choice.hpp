// Which product a pattern uses: a function of counts, so that every run chooses the same.
#pragma once

#include <cstdint>

namespace orrery::cuda {

struct SpmmFacts {
  std::int64_t rows, nnz, longest;  ///< longest: entries of the longest row
  std::int64_t width;               ///< columns of the dense operand
  std::int64_t heads;               ///< values of each entry
  bool valued;
};

/// Whether our own product is used instead of cuSPARSE's repeatable one.
///
/// Rule      cuSPARSE where rows are about equally long (longest <= 4 · mean), not very short
///           (mean >= 16) and x is wide enough to fill its tiles (width >= 32), has one value of
///           its own for each entry (it knows no pattern of ones, and no heads) and 32-bit offsets;
///           else ours.
/// Source    assumption: 4, 16 and 32 are guesses until the benchmark has run on a GPU
inline bool prefer_own(const SpmmFacts& f) {
  if (!f.valued || f.heads > 1 || f.nnz >= std::int64_t{1} << 31U) return true;
  const bool even = f.longest * f.rows <= 4 * f.nnz, short_rows = f.nnz < 16 * f.rows;
  return !even || short_rows || f.width < 32;
}

}  // namespace orrery::cuda
