// A·x where the ranks of a group hold the rows of x: before it multiplies, each rank receives each
// distinct row of another one that its rows of A need, once.
//
// A rank's rows of A are kept as two blocks, [own columns | halo columns], so that the own block is
// multiplied while the halo travels.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/strategy/blocks.hpp"
#include "core/strategy/index_list.hpp"
#include "core/strategy/part_source.hpp"

namespace orrery {

/// The structure of one rank: of its rows of y, and what it sends of its rows of x.
struct HaloPart {
  using RowCounts = std::shared_ptr<const std::vector<std::int64_t>>;  ///< by index in the group
  RowCounts receive, send;      ///< distinct rows from and to each rank
  IndexList send_rows;          ///< own row of each sent one, by receiver
  Block own_block, halo_block;  ///< halo columns by owner, ascending within

  std::int64_t received() const { return halo_block.shape().cols; }
  std::int64_t sent() const { return send_rows.size(); }
};

/// What a rank receives are the columns of its rows of A that it does not own; what it sends are
/// its rows of x that have an entry in another rank's rows of A: rows of Aᵀ with an entry in that
/// rank's columns.
///
/// Shapes    tiles [own rows of y, rows of x of rank j] · adjoint [own rows of x, rows of y of rank
/// j], which may be the same where A = Aᵀ; `index`: of this rank in the group
HaloPart make_halo_part(const std::vector<Block>& tiles, const std::vector<Block>& adjoint,
                        int index);

HaloPart::RowCounts magnified(const HaloPart::RowCounts& counts, std::int64_t times);
/// The part of a graph in which every vertex stands for `times` ones: so many times the rows,
/// entries and rows that travel, counted only.
HaloPart magnified(const HaloPart& part, std::int64_t times);

/// The same of a rank that owns the part of its number.
HaloPart make_halo_part(const PartSource& source, int rank);

/// What travels, kept together: products that run one after the other share it.
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

/// The rows of one product in one direction that were received last, and those that are under way.
struct HaloInFlight {
  HaloBuffers buffers;
  std::optional<Event> arrived;  ///< when all is there; nothing: none has been sent yet
};

class HaloProduct {
 public:
  /// Loads the blocks on the copy lane; the compute lane waits for it. `symmetric`: the own block
  /// is its own transpose; overlap: the halo travels beside the own block's product. `part` must
  /// outlive this.
  HaloProduct(Runtime& rt, const HaloPart& part, Group group, bool symmetric, bool overlap,
              int column_tiles);
  /// The own block alone: use_halo() brings the rest before the first product.
  HaloProduct(Runtime& rt, const Block& own_block, Group group, bool symmetric, bool overlap,
              int column_tiles);

  /// Takes the halo of `part`, whose own block is the one that is there, in place of what halo
  /// there was. `part` must outlive its use.
  void use_halo(const HaloPart& part);

  /// y ← A·x + beta·y.   Requires  buffers for part's rows of x's width
  void multiply(const Tensor& x, const Tensor& y, float beta, const HaloBuffers& buffers) const;
  /// dx ← Aᵀ·dy + beta·dx
  void multiply_adjoint(const Tensor& dy, const Tensor& dx, float beta,
                        const HaloBuffers& buffers) const;

  /// The same with the halo's rows of the last call, while those of this one travel; the first call
  /// is exact. The compute lane waits only for what was sent last. Each product that is aggregated
  /// in turn has a `halo` of its own.
  void multiply_stale(const Tensor& x, const Tensor& y, float beta, HaloInFlight& halo) const;
  void multiply_adjoint_stale(const Tensor& dy, const Tensor& dx, float beta,
                              HaloInFlight& halo) const;

 private:
  /// What is on the device for a halo.
  struct Halo {
    LocalMatrix block, adjoint;
    Buffer send_index;
  };
  void load_own_adjoint(const Block& own_block);
  const LocalMatrix& own_adjoint() const { return own_adjoint_ ? *own_adjoint_ : own_; }
  Tensor sent(const HaloBuffers& buffers, std::int64_t width) const {
    return buffers.sent(part_->sent(), width);
  }
  Tensor received(const HaloBuffers& buffers, std::int64_t width) const {
    return buffers.received(part_->received(), width);
  }
  void exchange(const Tensor& from, const Tensor& to, const HaloPart::RowCounts& out,
                const HaloPart::RowCounts& in) const;

  Runtime& rt_;
  Group group_;
  bool overlap_;
  int column_tiles_;
  LocalMatrix own_;
  std::optional<LocalMatrix> own_adjoint_;
  const HaloPart* part_ = nullptr;
  std::optional<Halo> halo_;
};

}  // namespace orrery
