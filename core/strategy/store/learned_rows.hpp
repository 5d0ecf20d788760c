// Learned features in batches: rows travel between their owners and the ranks that ask for them.
#pragma once

#include <optional>
#include <vector>

#include "core/runtime/buffer.hpp"
#include "core/strategy/store/learned_table.hpp"
#include "core/strategy/store/row_exchange.hpp"
#include "core/strategy/structure/vertex_data.hpp"

namespace orrery {

/// One rank's rows of the table, and the exchange with the others. Owners send a batch's rows when
/// its step begins, and get their gradients back when it ends. The owner adds up the gradients of a
/// row in the order of the ranks that send them, and takes one step of a sparse Adam on the rows
/// with gradients.
///
/// Staleness none: what is brought has every update before, because owners send rows behind the
///           updates on their compute lanes. A rank waits only for the rows that are sent to it,
///           not for all others. A rank has one version of the table: that of the last step.
/// Memory    of width d: 3·own·d, the rows that travel both ways, and 4·d for each distinct row
///           that is updated in a step
/// Source    Kingma and Ba 2015; on the rows that have a gradient alone as PyTorch's SparseAdam:
///           moments of the others stay, the step counts for all rows together
/// Departs   the order of sums is fixed, where servers of parameters (DistDGL's among them) add
///           gradients as they arrive. No weight decay
class LearnedRows final : public LearnedTable {
 public:
  /// Starts with the features of its own vertices. `owners` must outlive this.
  LearnedRows(Runtime& rt, const VertexData& own, const RowOwners& owners, std::int64_t width,
              double rate);

  /// The numbers of one exchange, on the device.
  class Batch {
   public:
    /// Loads them on the copy lane; the compute lane does not wait yet.
    Batch(Runtime& rt, RowExchange exchange);

   private:
    friend class LearnedRows;
    RowExchange exchange_;
    Buffer places_, order_, asked_, distinct_, into_;
  };

  /// features ← the present rows of a batch, on the compute lane. A collective.
  ///
  /// Shapes    features [rows of the batch, width]
  void bring(const Batch& batch, const Tensor& features);
  /// Updates all rows with the gradients of all ranks' batches, on the compute lane. A collective.
  ///
  /// Shapes    gradient [rows of the batch, width]; step counts from 1
  void learn(const Batch& batch, const Tensor& gradient, int epoch, int step);
  /// features ← the rows of own vertices, on the compute lane.
  ///
  /// Shapes    features [vertices, width]
  void copy_own(const IndexList& vertices, const Tensor& features);

 private:
  Buffer table_;
  Buffer out_, in_;                       ///< rows that others request, and rows that are brought
  Buffer sum_, change_, first_, second_;  ///< of distinct rows
  Buffer own_numbers_;                    ///< of the last copy_own()
};

}  // namespace orrery
