#include "core/strategy/product/halo_product.hpp"

#include "core/strategy/product/local_matrix.hpp"

namespace orrery {
namespace {

/// A product has two stages: local rows, which need no communication, and the halo.
constexpr int kOwnStage = 0, kHaloStage = 1;

}  // namespace

HaloProduct::HaloProduct(Runtime& rt, const SparseMatrix& own_block, Group group, bool symmetric,
                         bool overlap, int column_tiles)
    : rt_(rt),
      group_(group),
      overlap_(overlap),
      column_tiles_(column_tiles),
      own_(rt, own_block, column_tiles, "own block") {
  if (!symmetric) load_own_adjoint(transpose(own_block));
}

HaloProduct::HaloProduct(Runtime& rt, const HaloStructure& part, Group group, bool symmetric,
                         bool overlap, int column_tiles)
    : HaloProduct(rt, part.own_block, group, true, overlap, column_tiles) {
  use_halo(part);
  if (!symmetric)
    load_own_adjoint(part.own_adjoint ? *part.own_adjoint : transpose(part.own_block));
}

void HaloProduct::load_own_adjoint(const SparseMatrix& adjoint) {
  own_adjoint_.emplace(rt_, adjoint, column_tiles_, "own block transposed");
}

void HaloProduct::use_halo(const HaloStructure& part) {
  halo_.reset();  // before the next one takes memory
  part_ = &part;
  halo_ = Halo{LocalMatrix(rt_, part.halo_block, column_tiles_, "halo block"),
               LocalMatrix(rt_, part.halo_adjoint ? *part.halo_adjoint : transpose(part.halo_block),
                           1, "halo block transposed"),
               Buffer(rt_, {part.sent(), 1}, DType::i32, "indices/rows to send")};
  rt_.submit(Lane::copy, Load{part.send_rows.source(), halo_->send_index.tensor()});
  rt_.wait(Lane::compute, rt_.record(Lane::copy));
}

void HaloProduct::multiply(const Tensor& x, const Tensor& y, float beta,
                           const HaloBuffers& buffers) const {
  const Tensor out = sent(buffers, x.cols()), in = received(buffers, x.cols());
  rt_.submit(Lane::compute, GatherRows{x, halo_->send_index.tensor(), out});
  rt_.begin_product(x.cols());
  rt_.product_stage(kHaloStage);
  exchange(out, in, part_->send, part_->receive);
  rt_.product_stage(kOwnStage);
  own_.multiply(rt_, x, y, beta);
  rt_.product_stage(kHaloStage);
  rt_.wait(Lane::compute, rt_.record(Lane::comm));
  halo_->block.multiply(rt_, in, y, 1);
  rt_.end_product();
}

void HaloProduct::multiply_adjoint(const Tensor& dy, const Tensor& dx, float beta,
                                   const HaloBuffers& buffers) const {
  const Tensor out = received(buffers, dx.cols()), in = sent(buffers, dx.cols());
  halo_->adjoint.multiply(rt_, dy, out, 0);
  rt_.begin_product(dx.cols());
  rt_.product_stage(kHaloStage);
  exchange(out, in, part_->receive, part_->send);
  rt_.product_stage(kOwnStage);
  own_adjoint().multiply(rt_, dy, dx, beta);
  rt_.product_stage(kHaloStage);
  rt_.wait(Lane::compute, rt_.record(Lane::comm));
  rt_.submit(Lane::compute, ScatterAddRows{in, halo_->send_index.tensor(), dx});
  rt_.end_product();
}

void HaloProduct::multiply_stale(const Tensor& x, const Tensor& y, float beta,
                                 HaloInFlight& halo) const {
  if (!halo.arrived) {
    multiply(x, y, beta, halo.buffers);
  } else {
    const Tensor out = sent(halo.buffers, x.cols()), in = received(halo.buffers, x.cols());
    rt_.begin_product(x.cols());
    rt_.product_stage(kOwnStage);
    own_.multiply(rt_, x, y, beta);
    rt_.product_stage(kHaloStage);
    rt_.wait(Lane::compute, *halo.arrived);
    halo_->block.multiply(rt_, smoothed(in, halo), y, 1);
    rt_.end_product();
    rt_.submit(Lane::compute, GatherRows{x, halo_->send_index.tensor(), out});
    exchange(out, in, part_->send, part_->receive);
  }
  halo.arrived = rt_.record(Lane::comm);
}

void HaloProduct::multiply_adjoint_stale(const Tensor& dy, const Tensor& dx, float beta,
                                         HaloInFlight& halo) const {
  if (!halo.arrived) {
    multiply_adjoint(dy, dx, beta, halo.buffers);
  } else {
    const Tensor out = received(halo.buffers, dx.cols()), in = sent(halo.buffers, dx.cols());
    rt_.begin_product(dx.cols());
    rt_.product_stage(kOwnStage);
    own_adjoint().multiply(rt_, dy, dx, beta);
    rt_.product_stage(kHaloStage);
    rt_.wait(Lane::compute, *halo.arrived);
    rt_.submit(Lane::compute, ScatterAddRows{smoothed(in, halo), halo_->send_index.tensor(), dx});
    rt_.end_product();
    halo_->adjoint.multiply(rt_, dy, out, 0);
    exchange(out, in, part_->receive, part_->send);
  }
  halo.arrived = rt_.record(Lane::comm);
}

Tensor HaloProduct::smoothed(const Tensor& in, HaloInFlight& halo) const {
  if (halo.smoothing == 0) return in;
  const Tensor average = halo.average.view(in.rows(), in.cols());
  if (halo.averages) {
    rt_.submit(Lane::compute, Copy{average, average, halo.smoothing});
    rt_.submit(Lane::compute, Copy{in, average, 1 - halo.smoothing, true});
  } else {
    rt_.submit(Lane::compute, Copy{in, average});
    halo.averages = true;
  }
  return average;
}

void HaloProduct::exchange(const Tensor& from, const Tensor& to,
                           const HaloStructure::RowCounts& out,
                           const HaloStructure::RowCounts& in) const {
  rt_.wait(Lane::comm, rt_.record(Lane::compute));
  rt_.submit(Lane::comm, AllToAllV{from, to, out, in, group_});
  if (!overlap_) rt_.wait(Lane::compute, rt_.record(Lane::comm));
}

}  // namespace orrery
