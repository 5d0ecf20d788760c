// The memory of one rank while operations are timed: operands are windows of existing memory, so a
// grid of thousands of points needs no page twice.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/runtime/execute/memory.hpp"
#include "core/runtime/execute/rank_device.hpp"

namespace orrery::calibrate {

/// Operands of operations. Small operands are on small pages and large ones on huge pages, as
/// RankMemory has them in a real run. Inputs have values in [−1, 1) and keep them; outputs hold the
/// values last written.
class Workspace {
 public:
  /// Room for inputs and for outputs of this many bytes each, in this process.
  explicit Workspace(std::int64_t bytes);
  /// The same on a device: Loads of one of its lanes bring what the host makes there. The device
  /// and the lane must outlive the workspace.
  ///
  /// Errors    std::bad_alloc
  Workspace(std::int64_t bytes, RankDevice& device, DeviceLane& lane);

  Tensor input(std::int64_t rows, std::int64_t cols) { return window(inputs_, rows, cols); }
  Tensor output(std::int64_t rows, std::int64_t cols) { return window(outputs_, rows, cols); }
  /// A tensor of this many i32 elements; element i is value(i).
  Tensor integers(std::int64_t rows, std::int64_t cols,
                  const std::function<std::int64_t(std::int64_t)>& value);
  Tensor doubles(std::int64_t cols);
  Sparse pattern(std::shared_ptr<const Csr> csr, double reuse);
  /// For a pattern that an operation makes.
  Sparse room(const Counts& counts);
  /// Whether another set of operands of this many bytes surely fits.
  bool has_room(std::int64_t bytes) const;
  /// Gives all operands back.
  ///
  /// Requires  nothing that uses them is under way
  void clear();
  const RankMemory& memory() const { return memory_; }

 private:
  /// Allocations; windows of them are handed out one behind the other.
  struct Arena {
    std::uint32_t huge = 0;
    std::vector<std::uint32_t> small;
    std::int64_t huge_bytes = 0, huge_used = 0, small_used = 0;
  };
  Arena arena(std::int64_t bytes);
  Tensor window(Arena& arena, std::int64_t rows, std::int64_t cols);
  std::uint32_t allocate(std::int64_t bytes);
  void fill(std::uint32_t id, std::int64_t elements);
  void load(Source values, const Tensor& to);

  RankDevice* device_ = nullptr;  // none, as the lane: the host writes operands itself
  DeviceLane* lane_ = nullptr;
  RankMemory memory_;
  std::uint32_t next_id_ = 0, first_own_id_ = 0;  // clear() frees ids from the latter on
  std::uint32_t patterns_ = 0;
  Arena inputs_, outputs_;  // take the first ids
};

}  // namespace orrery::calibrate
