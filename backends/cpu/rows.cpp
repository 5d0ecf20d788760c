// Movement of rows, sums over rows, layer norm.
#include "backends/cpu/cpu_apply.hpp"
#include "core/base/index.hpp"

namespace orrery::cpu {
namespace {

IndexedArgs indexed_args(const RankMemory& memory, const Tensor& x, const Tensor& index,
                         const Tensor& y) {
  return {.x = inputs_of(memory, x),
          .index = memory.data<std::int32_t>(index),
          .indices = index.rows(),
          .y = rows_of(memory, y),
          .width = x.cols()};
}

}  // namespace

void apply(const GatherRows& op, const RankMemory& memory, const RangeKernels& kernels) {
  if (op.x.dtype == DType::f16 && op.y.dtype == DType::f32) {
    const HalfRowsArgs halves{.x = {memory.data<std::uint16_t>(op.x), op.x.ld},
                              .index = memory.data<std::int32_t>(op.index),
                              .indices = op.index.rows(),
                              .y = rows_of(memory, op.y),
                              .width = op.x.cols()};
    return parallel_for(
        halves.indices, rows_per_range(halves.width),
        [&](std::int64_t begin, std::int64_t end) { kernels.gather_halves(halves, begin, end); });
  }
  const IndexedArgs args = indexed_args(memory, op.x, op.index, op.y);
  parallel_for(args.indices, rows_per_range(args.width),
               [&](std::int64_t begin, std::int64_t end) { kernels.gather(args, begin, end); });
}

/// Every thread reads all indices but adds only to its own target rows, so rows are added in the
/// order of the indices for any number of threads.
void apply(const ScatterAddRows& op, const RankMemory& memory, const RangeKernels& kernels) {
  const IndexedArgs args = indexed_args(memory, op.x, op.index, op.y);
  const std::int64_t targets = op.y.rows(), threads = loop_threads();
  const std::int64_t parts = threads == 1 ? 1 : 4 * threads;
  parallel_for(targets, (targets + parts - 1) / parts, [&](std::int64_t begin, std::int64_t end) {
    kernels.scatter_add(args, begin, end);
  });
}

void apply(const ColumnSum& op, const RankMemory& memory, const RangeKernels& kernels) {
  const std::int64_t width = op.x.cols();
  const auto sums =
      sums_over_rows(op.x.rows(), width, [&](std::int64_t begin, std::int64_t end, double* part) {
        kernels.column_sum(inputs_of(memory, op.x), width, begin, end, part);
      });
  float* y = memory.data<float>(op.y);
  for (std::int64_t c = 0; c < width; ++c) {
    const double before = op.beta == 0 ? 0 : static_cast<double>(op.beta * y[c]);
    y[c] = static_cast<float>(sums[at(c)] + before);
  }
}

void apply(const LayerNorm& op, const RankMemory& memory, const RangeKernels& kernels) {
  const LayerNormArgs args{.x = inputs_of(memory, op.x),
                           .gain = memory.data<float>(op.gain),
                           .shift = memory.data<float>(op.shift),
                           .normalised = rows_of(memory, op.normalised),
                           .rstd = rows_of(memory, op.rstd),
                           .y = rows_of(memory, op.y),
                           .width = op.x.cols()};
  parallel_for(op.x.rows(), rows_per_range(args.width),
               [&](std::int64_t begin, std::int64_t end) { kernels.layer_norm(args, begin, end); });
}

void apply(const LayerNormBackward& op, const RankMemory& memory, const RangeKernels& kernels) {
  const std::int64_t width = op.dy.cols();
  const LayerNormBackwardArgs args{.dy = inputs_of(memory, op.dy),
                                   .normalised = inputs_of(memory, op.normalised),
                                   .rstd = inputs_of(memory, op.rstd),
                                   .gain = memory.data<float>(op.gain),
                                   .dx = rows_of(memory, op.dx),
                                   .width = width};
  const auto sums = sums_over_rows(
      op.dy.rows(), 2 * width, [&](std::int64_t begin, std::int64_t end, double* part) {
        kernels.layer_norm_backward(args, begin, end, part, part + width);
      });
  const auto to_float = [](double v) { return static_cast<float>(v); };
  std::transform(sums.begin(), sums.begin() + width, memory.data<float>(op.dgain), to_float);
  std::transform(sums.begin() + width, sums.end(), memory.data<float>(op.dshift), to_float);
}

}  // namespace orrery::cpu
