// The memory of one rank while operations are timed: operands are windows of memory that is there
// already, so that a grid of thousands of points needs no page twice.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/runtime/memory.hpp"

namespace orrery::calibrate {

/// Operands of operations. Small ones lie on small pages and large ones on huge pages, as
/// RankMemory has them in a real run. Values of inputs are in [−1, 1) and stay; outputs hold
/// whatever was written last.
class Workspace {
 public:
  /// Room for inputs and for outputs of so many bytes each.
  explicit Workspace(std::int64_t bytes);

  Tensor input(std::int64_t rows, std::int64_t cols) { return window(inputs_, rows, cols); }
  Tensor output(std::int64_t rows, std::int64_t cols) { return window(outputs_, rows, cols); }
  /// A tensor of so many i32 elements, element i being value(i).
  Tensor integers(std::int64_t rows, std::int64_t cols,
                  const std::function<std::int64_t(std::int64_t)>& value);
  Tensor doubles(std::int64_t cols);
  Sparse pattern(std::shared_ptr<const Csr> csr, double reuse);
  /// Whether another set of operands of so many bytes surely fits.
  bool has_room(std::int64_t bytes) const;
  /// Gives all operands back.
  void clear();
  const RankMemory& memory() const { return memory_; }

 private:
  /// Allocations of which windows are handed out one behind the other.
  struct Arena {
    std::uint32_t huge = 0;
    std::vector<std::uint32_t> small;
    std::int64_t huge_bytes = 0, huge_used = 0, small_used = 0;
  };
  Arena arena(std::int64_t bytes);
  Tensor window(Arena& arena, std::int64_t rows, std::int64_t cols);
  std::uint32_t allocate(std::int64_t bytes);

  RankMemory memory_;
  std::uint32_t next_id_ = 0, first_own_id_ = 0;  // ids from the latter on go with clear()
  std::uint32_t patterns_ = 0;
  Arena inputs_, outputs_;  // take the first ids
};

}  // namespace orrery::calibrate
