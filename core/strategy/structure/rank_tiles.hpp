// What a rank multiplies with where rows of other ranks pass by.
#pragma once

#include <vector>

#include "core/graph/sparse_matrix.hpp"

namespace orrery {

/// The structure of one rank: its tiles of A and of Aᵀ, one for each block of rows that passes by.
struct RankTiles {
  std::vector<SparseMatrix> forward, adjoint;  ///< no adjoint where A = Aᵀ
};

}  // namespace orrery
