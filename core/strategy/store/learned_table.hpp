// Features that are learned: a row of numbers for each vertex, on the rank that owns it.
#pragma once

#include <vector>

#include "core/runtime/buffer.hpp"
#include "core/strategy/structure/sampled_batches.hpp"

namespace orrery {

/// One rank's rows on its device, with the moments of their Adam.
///
/// Placement each row, with its moments, on the rank that owns its vertex
class LearnedTable {
 public:
  /// Number of rows of its state in a checkpoint: the table and both moments.
  static constexpr std::size_t kStates = 3;
  /// The state of all ranks, on rank 0: kStates rows, each with the numbers of all vertices in
  /// their order. Nothing on other ranks. A collective.
  std::vector<Buffer> gather();
  /// Continues from such rows; the first has number `first`.
  ///
  /// Errors    ConfigError: of another number of vertices or columns
  void restore(const std::vector<std::vector<float>>& state, std::size_t first);

 protected:
  /// Moments are 0; rows_ is for who derives from this to set. `owners` must outlive this.
  LearnedTable(Runtime& rt, const RowOwners& owners, std::int64_t width, double rate);
  ~LearnedTable() = default;

  /// An Adam with the rate of the table, for a step that counts from 1.
  Adam adam(const Tensor& rows, const Tensor& gradient, const Tensor& first, const Tensor& second,
            int step) const;

  Runtime& rt_;
  const RowOwners& owners_;
  std::int64_t width_;
  Tensor rows_;  ///< [own vertices, width]
  Buffer first_moment_, second_moment_;

 private:
  std::int64_t vertices() const { return static_cast<std::int64_t>(owners_.owner.size()); }

  double rate_;
  std::vector<std::int64_t> owned_;  ///< rows of each rank
};

}  // namespace orrery
