// Repeatable sums: fixed pieces, combined in order.
#pragma once

#include "backends/cuda/device/launch.cuh"

namespace orrery::cuda {

constexpr unsigned kAllLanes = ~0U;

/// The sum over the 32 lanes of a warp, on every lane.
///
/// Requires  all lanes call it
template <class T>
__device__ T warp_sum(T value) {
  for (int bits = 16; bits > 0; bits /= 2) value += __shfl_xor_sync(kAllLanes, value, bits);
  return value;
}

__device__ __forceinline__ float warp_largest(float value) {
  for (int bits = 16; bits > 0; bits /= 2) {
    const float other = __shfl_xor_sync(kAllLanes, value, bits);
    value = other > value ? other : value;
  }
  return value;
}

/// Rows of a matrix are summed in slabs; a block is 32 columns wide and 8 rows high.
constexpr int kReduceColumns = 32, kReduceRows = 8;

/// The sum of term(i, j) over the rows [first, last) of the block, for column j of the thread, on
/// threads with threadIdx.y = 0. The order depends only on the extents.
template <class Term>
__device__ double block_rows_sum(std::int64_t first, std::int64_t last, std::int64_t j, bool inside,
                                 Term term) {
  __shared__ double parts[kReduceRows][kReduceColumns];
  double sum = 0;
  if (inside)
    for (std::int64_t i = first + threadIdx.y; i < last; i += kReduceRows) sum += term(i, j);
  parts[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0) return 0;
  for (int k = 1; k < kReduceRows; ++k) sum += parts[k][threadIdx.x];
  return sum;
}

template <class Term>
__global__ void sum_slabs(Term term, std::int64_t rows, std::int64_t cols, std::int64_t slab,
                          double* parts) {
  const std::int64_t j = std::int64_t{blockIdx.x} * kReduceColumns + threadIdx.x;
  const std::int64_t first = blockIdx.y * slab;
  const std::int64_t last = first + slab < rows ? first + slab : rows;
  const double sum = block_rows_sum(first, last, j, j < cols, term);
  if (threadIdx.y == 0 && j < cols) parts[blockIdx.y * cols + j] = sum;
}

template <class Finish>
__global__ void sum_parts(const double* parts, std::int64_t slabs, std::int64_t cols,
                          Finish finish) {
  const std::int64_t j = std::int64_t{blockIdx.x} * kReduceColumns + threadIdx.x;
  const double sum = block_rows_sum(
      0, slabs, j, j < cols, [&](std::int64_t i, std::int64_t c) { return parts[i * cols + c]; });
  if (threadIdx.y == 0 && j < cols) finish(j, sum);
}

/// Number of slabs of the rows: enough to fill a device, none with fewer than 64 rows.
inline std::int64_t slabs_of(std::int64_t rows) {
  const std::int64_t slabs = ceil_div(rows, 64);
  return slabs < 512 ? slabs : 512;
}

/// Number of intermediate results of sum_over_rows().
inline std::int64_t parts_of(std::int64_t rows, std::int64_t cols) { return slabs_of(rows) * cols; }

/// finish(j, Σ_i term(i, j)) for every column j, summed in double; also without rows.
///
/// Shapes    parts [parts_of(rows, cols)]
template <class Term, class Finish>
void sum_over_rows(OrreryStream& s, std::int64_t rows, std::int64_t cols, Term term, Finish finish,
                   double* parts) {
  const std::int64_t slabs = slabs_of(rows);
  const unsigned across = extent(ceil_div(cols, kReduceColumns));
  const dim3 block{kReduceColumns, kReduceRows, 1};
  launch(s, sum_slabs<Term>, dim3{across, extent(slabs), 1}, block, term, rows, cols,
         slabs == 0 ? 0 : ceil_div(rows, slabs), parts);
  launch(s, sum_parts<Finish>, dim3{across, 1, 1}, block, parts, slabs, cols, finish);
}

}  // namespace orrery::cuda
