// The features of a rank's vertices without their zeros, for a first layer that multiplies them by
// its weights first.
#pragma once

#include <map>
#include <memory>
#include <set>

#include "core/model/sparse_input.hpp"
#include "core/strategy/product/local_matrix.hpp"
#include "core/strategy/structure/cut_rows.hpp"

namespace orrery {

struct Problem;

/// Errors    ConfigError if model.sparse_input cannot be honoured: the input would be dropped
///           out, aggregated first, split by columns, or is not known
void require_possible_sparse_input(const Problem& problem);

class SparseFeatures final : public SparseInput {
 public:
  /// The rows of `features` and, as separate matrices, its first `counts` rows. Loaded on the copy
  /// lane; the compute lane waits for it.
  ///
  /// Memory    for each count 16 bytes per entry, 8 per row and per column
  /// Errors    NeedsStructure if the features are not known
  SparseFeatures(Runtime& rt, const Source& features, std::int64_t width,
                 const std::set<std::int64_t>& counts);

  void multiply(const Tensor& w, const Tensor& y, float beta) const override;
  void weight_gradient(const Tensor& dy, const Tensor& dw) const override;

 private:
  struct Rows {
    LocalMatrix matrix, transposed;
  };
  Runtime& rt_;
  std::map<std::int64_t, Rows> rows_;  ///< by their number
};

}  // namespace orrery
