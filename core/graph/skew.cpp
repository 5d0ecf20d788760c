#include "core/graph/skew.hpp"

#include <algorithm>

namespace orrery {

float row_skew(const Csr& a) {
  std::int64_t largest = 0;
  for (std::int64_t r = 0; r < a.rows; ++r) largest = std::max(largest, a.degree(r));
  if (largest == 0) return 1;
  return static_cast<float>(static_cast<double>(largest) * static_cast<double>(a.rows) /
                            static_cast<double>(a.nnz()));
}

}  // namespace orrery
