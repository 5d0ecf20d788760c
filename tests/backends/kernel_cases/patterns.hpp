// Sparse patterns that products are tried on.
#pragma once

#include "tests/backends/world.hpp"

namespace orrery::testing {

/// Row `rows / 2` is about `longest` entries long, every third row is empty, the others have five.
Csr random_pattern(Sequence& draw, std::int64_t rows, std::int64_t cols, std::int64_t longest);

/// Rows of these lengths; a row that is longer than `cols` names columns more than once.
Csr pattern_of_lengths(const std::vector<std::int64_t>& lengths, std::int64_t cols);

/// An R-MAT draw on 2^10 vertices, sorted, without duplicates.
Csr rmat_pattern(Sequence& draw, std::int64_t entries);

/// A product on a pattern: y = a·x + beta·y, x and y with gaps between their rows.
struct ProductForm {
  std::int64_t width;
  bool valued;
  float beta;
  std::int64_t gap = 0;
  std::int64_t heads = 1;  ///< values of an entry, where it has some
};
SpMM product_of(World& w, Csr pattern, const ProductForm& form);

}  // namespace orrery::testing
