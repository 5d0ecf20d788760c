// The local ops of the cpu backend: each cuts its work into ranges and hands them to the kernels of
// one instruction set. No result depends on the number of threads: ranges depend only on shapes,
// and partial sums are combined in the order of the ranges.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <vector>

#include "backends/cpu/range_kernels.hpp"
#include "core/base/index.hpp"
#include "core/base/parallel.hpp"
#include "core/ops/ops.hpp"
#include "core/runtime/execute/memory.hpp"

namespace orrery::cpu {

/// Under a limit on the address space, takes once what the library of dense products needs there.
///
/// Errors    Error: the limit is too low
void prepare_products();

void apply(const Load& op, const RankMemory& memory, const RangeKernels& kernels);
void apply(const Fill& op, const RankMemory& memory, const RangeKernels& kernels);
void apply(const Save& op, const RankMemory& memory, const RangeKernels& kernels);
void apply(const Copy& op, const RankMemory& memory, const RangeKernels& kernels);
void apply(const SpMM& op, const RankMemory& memory, const RangeKernels& kernels);
void apply(const Sddmm& op, const RankMemory& memory, const RangeKernels& kernels);
void apply(const EdgeSoftmax& op, const RankMemory& memory, const RangeKernels& kernels);
void apply(const EdgeSoftmaxBackward& op, const RankMemory& memory, const RangeKernels& kernels);
void apply(const Gemm& op, const RankMemory& memory, const RangeKernels& kernels);
void apply(const GatherRows& op, const RankMemory& memory, const RangeKernels& kernels);
void apply(const ScatterAddRows& op, const RankMemory& memory, const RangeKernels& kernels);
void apply(const Relabel& op, const RankMemory& memory, const RangeKernels& kernels);
void apply(const TransposeSparse& op, const RankMemory& memory, const RangeKernels& kernels);
void apply(const EntriesByColumn& op, const RankMemory& memory, const RangeKernels& kernels);
void apply(const Activate& op, const RankMemory& memory, const RangeKernels& kernels);
void apply(const ActivateBackward& op, const RankMemory& memory, const RangeKernels& kernels);
void apply(const ColumnSum& op, const RankMemory& memory, const RangeKernels& kernels);
void apply(const LayerNorm& op, const RankMemory& memory, const RangeKernels& kernels);
void apply(const LayerNormBackward& op, const RankMemory& memory, const RangeKernels& kernels);
void apply(const ColumnMoments& op, const RankMemory& memory, const RangeKernels& kernels);
void apply(const BatchNorm& op, const RankMemory& memory, const RangeKernels& kernels);
void apply(const BatchNormBackward& op, const RankMemory& memory, const RangeKernels& kernels);
void apply(const Loss& op, const RankMemory& memory, const RangeKernels& kernels);
void apply(const Score& op, const RankMemory& memory, const RangeKernels& kernels);
void apply(const Sgd& op, const RankMemory& memory, const RangeKernels& kernels);
void apply(const Adam& op, const RankMemory& memory, const RangeKernels& kernels);

inline Rows<float> rows_of(const RankMemory& memory, const Tensor& t) {
  return {memory.data<float>(t), t.ld};
}
inline Rows<const float> inputs_of(const RankMemory& memory, const Tensor& t) {
  return {memory.data<float>(t), t.ld};
}

/// Elements of one range of an element-wise loop: some microseconds of work.
constexpr std::int64_t kRange = std::int64_t{1} << 14;

/// Rows of `width` elements that make one range.
inline std::int64_t rows_per_range(std::int64_t width) {
  return std::max<std::int64_t>(1, kRange / std::max<std::int64_t>(1, width));
}

/// Calls body(row, column, count) for runs of neighbouring elements that cover windows of one
/// shape: rows, or pieces of the whole if every window is contiguous (row and column then belong to
/// a matrix with one row).
template <class Body>
void for_each_run(std::initializer_list<Tensor> windows, const Body& body) {
  const Shape shape = windows.begin()->shape;
  if (std::all_of(windows.begin(), windows.end(), [](const Tensor& t) { return t.contiguous(); }))
    return parallel_for(shape.size(), kRange, [&](std::int64_t begin, std::int64_t end) {
      body(std::int64_t{0}, begin, end - begin);
    });
  parallel_for(shape.rows, rows_per_range(shape.cols), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) body(i, std::int64_t{0}, shape.cols);
  });
}

/// Rows per range for sums over `rows` rows: at most 64 ranges, so that their partial sums stay
/// small beside the matrix.
inline std::int64_t rows_per_sum(std::int64_t rows) {
  return std::max<std::int64_t>(64, (rows + 63) / 64);
}

/// Doubles of a cache line.
struct alignas(64) Line {
  double values[8];
};

/// Sums of `width` columns over `rows` rows: add(begin, end, sums) adds a range's part. Parts share
/// no cache line; otherwise threads that add to neighbouring ones would take it from each other.
template <class Add>
std::vector<double> sums_over_rows(std::int64_t rows, std::int64_t width, const Add& add) {
  const std::int64_t block = rows_per_sum(rows), blocks = (rows + block - 1) / block;
  const std::int64_t lines = (width + 7) / 8;
  std::vector<Line> parts(static_cast<std::size_t>(blocks * lines), Line{});
  const auto part = [&](std::int64_t b) {
    return reinterpret_cast<double*>(parts.data() + b * lines);  // may have no columns
  };
  parallel_for(rows, block,
               [&](std::int64_t begin, std::int64_t end) { add(begin, end, part(begin / block)); });
  std::vector<double> sums(static_cast<std::size_t>(width));
  for (std::int64_t b = 0; b < blocks; ++b)
    for (std::int64_t c = 0; c < width; ++c) sums[at(c)] += part(b)[c];
  return sums;
}

}  // namespace orrery::cpu
