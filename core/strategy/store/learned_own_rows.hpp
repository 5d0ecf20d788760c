// Learned features in whole-graph training: a rank computes with the rows of its own vertices, where
// they are learned.
#pragma once

#include <vector>

#include "core/strategy/store/learned_table.hpp"
#include "core/strategy/structure/vertex_data.hpp"

namespace orrery {

/// One rank's rows, which are the features that its model works on. Nothing travels for them but
/// what the first layer moves, as every other layer does: rows forward, gradients backward.
///
/// Memory    of width d: 2·own·d for the moments, beside the features and their gradients
/// Source    Kingma and Ba 2015; as every row has a gradient in every step, a sparse Adam
///           (learned_rows.hpp) is that of all rows. No weight decay
class LearnedOwnRows final : public LearnedTable {
 public:
  /// `learned`: whether the features of each own vertex are. `owners` must outlive this.
  LearnedOwnRows(Runtime& rt, const RowOwners& owners, std::int64_t width, double rate,
                 const std::vector<bool>& learned);

  /// From now on these features are the rows; they begin with those of the data, which come on the
  /// copy lane. Called once.
  ///
  /// Shapes    features [own vertices, width]
  void begin_in(const Tensor& features, const VertexData& data);
  /// Updates the rows that are learned, on the compute lane.
  ///
  /// Shapes    gradient [own vertices, width]; step counts from 1
  void learn(const Tensor& gradient, int epoch, int step);

 private:
  struct Run {
    std::int64_t first = 0, count = 0;
  };
  std::vector<Run> runs_;  ///< of rows that are learned: one for each type where all are ordered
};

}  // namespace orrery
