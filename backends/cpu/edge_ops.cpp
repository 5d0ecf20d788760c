// Ops on the entries of a sparse pattern.
#include "backends/cpu/cpu_apply.hpp"
#include "backends/cpu/row_ranges.hpp"

namespace orrery::cpu {
namespace {

/// Shared by forward and adjoint.
EdgeSoftmaxArgs softmax_args(const Csr& a, const Tensor& weights,
                             const std::optional<EndScores>& ends, float scale,
                             const RankMemory& memory) {
  EdgeSoftmaxArgs args{.offsets = a.offsets.data(),
                       .columns = a.columns.data(),
                       .heads = weights.cols(),
                       .weights = memory.data<float>(weights),
                       .left = {},
                       .right = {},
                       .own = nullptr,
                       .slope = 0,
                       .scale = scale,
                       .last_edge = a.nnz() - 1};
  if (ends) {
    args.left = inputs_of(memory, ends->left);
    args.right = inputs_of(memory, ends->right);
    if (ends->own) args.own = memory.data<float>(*ends->own);
    args.slope = ends->slope;
  }
  return args;
}

/// A row's softmax needs all of the row: a long row is the work of one thread.
template <class RowRange>
void for_whole_rows(const Csr& a, std::int64_t heads, const RowRange& rows) {
  for_ranges_of_rows(a, rows_per_range(heads), rows, [&](std::int64_t row) { rows(row, row + 1); });
}

}  // namespace

void apply(const Sddmm& op, const RankMemory& memory, const RangeKernels& kernels) {
  const Csr& a = memory.pattern(op.a);
  if (a.nnz() == 0) return;
  const SddmmArgs args{.offsets = a.offsets.data(),
                       .columns = a.columns.data(),
                       .heads = op.heads(),
                       .x = inputs_of(memory, op.x),
                       .z = inputs_of(memory, op.z),
                       .width = op.x.cols(),
                       .dots = memory.data<float>(op.dots),
                       .last_edge = a.nnz() - 1};
  const std::int64_t block = work_per_range(std::max<std::int64_t>(1, args.width));
  for_ranges_of_rows(
      a, block, [&](std::int64_t first, std::int64_t last) { kernels.sddmm(args, first, last); },
      [&](std::int64_t row) {
        const EdgeIndex from = a.offsets[at(row)];
        parallel_for(a.degree(row), block, [&](std::int64_t begin, std::int64_t end) {
          const EdgeIndex offsets[] = {from + begin, from + end};
          SddmmArgs piece = args;
          piece.offsets = offsets;
          piece.x.first = args.x.row(row);
          kernels.sddmm(piece, 0, 1);
        });
      });
}

void apply(const EdgeSoftmax& op, const RankMemory& memory, const RangeKernels& kernels) {
  const Csr& a = memory.pattern(op.a);
  if (a.nnz() == 0) return;
  const EdgeSoftmaxArgs args = softmax_args(a, op.weights, op.ends, op.scale, memory);
  for_whole_rows(a, args.heads, [&](std::int64_t first, std::int64_t last) {
    kernels.edge_softmax(args, first, last);
  });
}

void apply(const EdgeSoftmaxBackward& op, const RankMemory& memory, const RangeKernels& kernels) {
  const Csr& a = memory.pattern(op.a);
  const EdgeSoftmaxArgs args = softmax_args(a, op.weights, op.ends, op.scale, memory);
  const EdgeGradientArgs gradient{memory.data<float>(op.gradient),
                                  op.dleft ? rows_of(memory, *op.dleft) : Rows<float>{}};
  for_whole_rows(a, args.heads, [&](std::int64_t first, std::int64_t last) {
    kernels.edge_softmax_backward(args, gradient, first, last);
  });
}

}  // namespace orrery::cpu
