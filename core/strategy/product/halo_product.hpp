// A·x if the ranks of a group hold the rows of x: before it multiplies, each rank receives each
// distinct row of another rank that its rows of A need, once.
//
// A rank keeps its rows of A as two blocks, [own columns | halo columns]. It multiplies the own
// block while the halo travels.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/strategy/product/local_matrix.hpp"
#include "core/strategy/structure/halo_structure.hpp"

namespace orrery {

/// The travelling rows, kept together because consecutive products share it.
///
/// Placement sent: copies of this rank's rows; received: copies of rows of other ranks
class HaloBuffers {
 public:
  HaloBuffers() = default;
  HaloBuffers(Runtime& rt, std::int64_t sent, std::int64_t received, std::int64_t width)
      : sent_(rt, {sent, width}, DType::f32, "halo/rows sent"),
        received_(rt, {received, width}, DType::f32, "halo/rows received") {}
  explicit operator bool() const { return static_cast<bool>(sent_); }
  Tensor sent(std::int64_t rows, std::int64_t width) const { return sent_.view(rows, width); }
  Tensor received(std::int64_t rows, std::int64_t width) const {
    return received_.view(rows, width);
  }

 private:
  Buffer sent_, received_;
};

/// The rows of one product in one direction that were received last, and those under way.
///
/// Placement copies of rows of other ranks
struct HaloInFlight {
  HaloBuffers buffers;
  std::optional<Event> arrived;  ///< when all have arrived; nothing: none has been sent yet
  /// If not 0, rows are used as their moving average: this share of what was used last, and the
  /// rest of what came in. It begins with what the first, exact call received.
  float smoothing = 0;
  Buffer average{};  ///< room for incoming rows; with smoothing
  bool averages = false;
};

/// The product of one rank.
///
/// Placement A, x, y: rows of this rank; the others' are on the other ranks of the group
class HaloProduct {
 public:
  /// Loads the blocks on the copy lane; the compute lane waits for it. `symmetric`: the own block
  /// is its own transpose; overlap: the halo travels during the own block's product. `part` must
  /// outlive this.
  HaloProduct(Runtime& rt, const HaloStructure& part, Group group, bool symmetric, bool overlap,
              int column_tiles);
  /// Only the own block: use_halo() brings the rest before the first product.
  HaloProduct(Runtime& rt, const SparseMatrix& own_block, Group group, bool symmetric, bool overlap,
              int column_tiles);

  /// Takes the halo of `part`, whose own block is loaded, and replaces the present halo. `part`
  /// must outlive its use.
  void use_halo(const HaloStructure& part);

  /// y ← A·x + beta·y.
  ///
  /// Requires  buffers for part's rows of x's width
  void multiply(const Tensor& x, const Tensor& y, float beta, const HaloBuffers& buffers) const;
  /// dx ← Aᵀ·dy + beta·dx
  void multiply_adjoint(const Tensor& dy, const Tensor& dx, float beta,
                        const HaloBuffers& buffers) const;

  /// The same with the halo's rows of the last call, while those of this call travel; the first
  /// call is exact. The compute lane waits only for what was sent last. Each aggregated product has
  /// its own `halo`.
  void multiply_stale(const Tensor& x, const Tensor& y, float beta, HaloInFlight& halo) const;
  void multiply_adjoint_stale(const Tensor& dy, const Tensor& dx, float beta,
                              HaloInFlight& halo) const;

 private:
  /// A halo's data on the device.
  struct Halo {
    LocalMatrix block, adjoint;
    Buffer send_index;
  };
  void load_own_adjoint(const SparseMatrix& adjoint);
  const LocalMatrix& own_adjoint() const { return own_adjoint_ ? *own_adjoint_ : own_; }
  Tensor sent(const HaloBuffers& buffers, std::int64_t width) const {
    return buffers.sent(part_->sent(), width);
  }
  Tensor received(const HaloBuffers& buffers, std::int64_t width) const {
    return buffers.received(part_->received(), width);
  }
  void exchange(const Tensor& from, const Tensor& to, const HaloStructure::RowCounts& out,
                const HaloStructure::RowCounts& in) const;
  /// The received rows that a stale product uses.
  Tensor smoothed(const Tensor& in, HaloInFlight& halo) const;

  Runtime& rt_;
  Group group_;
  bool overlap_;
  int column_tiles_;
  LocalMatrix own_;
  std::optional<LocalMatrix> own_adjoint_;
  const HaloStructure* part_ = nullptr;
  std::optional<Halo> halo_;
};

}  // namespace orrery
