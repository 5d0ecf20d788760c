// Sparse-dense product: how rows and edges are shared among threads. The pieces of a long row are
// summed up separately, and the sums added.
#include <cstdint>
#include <vector>

#include "backends/cpu/cpu_apply.hpp"
#include "backends/cpu/row_ranges.hpp"
#include "core/base/index.hpp"

namespace orrery::cpu {
namespace {

/// A y of this size or more is written past the caches: nothing of it would survive there until it
/// is read.
constexpr std::int64_t kStreamBytes = std::int64_t{64} << 20;

/// One row by pieces of `piece` edges; their sums are added in order.
void long_row(const Csr& a, std::int64_t row, std::int64_t piece, const SpmmArgs& args,
              const RangeKernels& kernels) {
  const EdgeIndex first = a.offsets[at(row)];
  const std::int64_t width = args.width, edges = a.degree(row);
  const std::int64_t pieces = (edges + piece - 1) / piece;
  std::vector<float> sums(static_cast<std::size_t>(pieces * width));
  parallel_for(edges, piece, [&](std::int64_t begin, std::int64_t end) {
    const EdgeIndex offsets[] = {first + begin, first + end};
    SpmmArgs part = args;
    part.offsets = offsets;
    part.y = {sums.data() + begin / piece * width, width};
    part.beta = 0;
    part.stream = false;
    kernels.spmm(part, 0, 1);
  });
  float* y = args.y.row(row);
  for (std::int64_t c = 0; c < width; ++c) {
    float sum = args.beta == 0 ? 0 : args.beta * y[c];
    for (std::int64_t p = 0; p < pieces; ++p) sum += sums[at(p * width + c)];
    y[c] = sum;
  }
}

/// The columns of each head begin at those of a vector.
bool streamable(const SpMM& op, const float* first) {
  const Tensor& y = op.y;
  return y.bytes() >= kStreamBytes && y.cols() / op.heads() % 16 == 0 && y.ld % 16 == 0 &&
         reinterpret_cast<std::uintptr_t>(first) % 64 == 0;
}

}  // namespace

void apply(const SpMM& op, const RankMemory& memory, const RangeKernels& kernels) {
  const Csr& a = memory.pattern(op.a);
  if (op.y.shape.size() == 0) return;
  const SpmmArgs args{.offsets = a.offsets.data(),
                      .columns = a.columns.data(),
                      .values = op.values ? memory.data<float>(*op.values) : nullptr,
                      .heads = op.heads(),
                      .x = inputs_of(memory, op.x),
                      .y = rows_of(memory, op.y),
                      .width = op.y.cols(),
                      .beta = op.beta,
                      .last_edge = a.nnz() - 1,
                      .stream = streamable(op, memory.data<float>(op.y))};
  const std::int64_t block = work_per_range(args.width);
  for_ranges_of_rows(
      a, block, [&](std::int64_t first, std::int64_t last) { kernels.spmm(args, first, last); },
      [&](std::int64_t row) { long_row(a, row, block, args, kernels); });
}

}  // namespace orrery::cpu
