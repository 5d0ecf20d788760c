// Movement of rows and sums over them.
#include <cub/device/device_radix_sort.cuh>

#include "backends/cuda/device/launch.cuh"
#include "backends/cuda/device/ops.cuh"
#include "backends/cuda/device/pattern.cuh"
#include "backends/cuda/device/reduce.cuh"
#include "backends/cuda/device/windows.cuh"

namespace orrery::cuda {
namespace {

template <int V>
__global__ void gather(Window<float> x, const std::int32_t* index, Window<float> y,
                       std::int64_t rows, std::int64_t cols) {
  const std::int64_t i = tile_row(), j = tile_unit() * V;
  if (i < rows && j < cols) pack_at<V>(y, i, j) = pack_at<V>(x, index[i], j);
}

/// The same as to_float() of core/base/half.hpp.
__device__ __forceinline__ float widened(std::uint16_t half) {
  const auto number = [](std::uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
  };
  constexpr std::uint32_t kExponent = 0x7C00U << 13U, kRebias = (127U - 15U) << 23U;
  std::uint32_t bits = (half & 0x7FFFU) << 13U;
  const std::uint32_t exponent = bits & kExponent;
  bits += kRebias;
  if (exponent == kExponent) bits += kRebias;
  if (exponent == 0) {
    const float small = number(bits + (1U << 23U)) - number(kRebias + (1U << 23U));
    memcpy(&bits, &small, sizeof bits);
  }
  return number(bits | (half & 0x8000U) << 16U);
}

template <int V>
__global__ void gather_halves(Window<std::uint16_t> x, const std::int32_t* index, Window<float> y,
                              std::int64_t rows, std::int64_t cols) {
  const std::int64_t i = tile_row(), j = tile_unit() * V;
  if (i >= rows || j >= cols) return;
  const std::uint16_t* from = &x(index[i], j);
  Pack<V> to;
  for (int k = 0; k < V; ++k) to.at[k] = widened(from[k]);
  pack_at<V>(y, i, j) = to;
}

/// For indices that are all different.
template <int V>
__global__ void scatter_add_distinct(Window<float> x, const std::int32_t* index, Window<float> y,
                                     std::int64_t rows, std::int64_t cols) {
  const std::int64_t i = tile_row(), j = tile_unit() * V;
  if (i >= rows || j >= cols) return;
  Pack<V>& to = pack_at<V>(y, index[i], j);
  Pack<V> sum = to;
  const Pack<V> from = pack_at<V>(x, i, j);
  for (int k = 0; k < V; ++k) sum.at[k] += from.at[k];
  to = sum;
}

__global__ void count_up(std::int32_t* to, std::int64_t n) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) to[i] = static_cast<std::int32_t>(i);
}

/// The first row of a run of equal indices adds the whole run, in order.
template <int V>
__global__ void scatter_add_runs(Window<float> x, const std::int32_t* sorted_index,
                                 const std::int32_t* source, Window<float> y, std::int64_t rows,
                                 std::int64_t cols) {
  const std::int64_t p = tile_row(), j = tile_unit() * V;
  if (p >= rows || j >= cols) return;
  const std::int32_t target = sorted_index[p];
  if (p > 0 && sorted_index[p - 1] == target) return;
  Pack<V> sum = pack_at<V>(y, target, j);
  for (std::int64_t q = p; q < rows && sorted_index[q] == target; ++q) {
    const Pack<V> from = pack_at<V>(x, source[q], j);
    for (int k = 0; k < V; ++k) sum.at[k] += from.at[k];
  }
  pack_at<V>(y, target, j) = sum;
}

}  // namespace

SortedRows sort_rows(OrreryStream& s, const std::int32_t* index, std::int64_t n) {
  const auto sort = [&](void* scratch, std::size_t& bytes, const SortedRows& to,
                        const std::int32_t* rows) {
    check(cub::DeviceRadixSort::SortPairs(scratch, bytes, index, to.index, rows, to.source, n, 0,
                                          32, s.stream),
          "cub::DeviceRadixSort::SortPairs");
  };
  std::size_t bytes = 0;
  sort(nullptr, bytes, {}, nullptr);
  const std::int64_t each = ceil_div(n, 64) * 64;  // so that every part begins aligned
  auto* numbers = s.scratch<std::int32_t>(3 * each + ceil_div(static_cast<std::int64_t>(bytes), 4));
  launch(s, count_up, dim3{extent(ceil_div(n, 256)), 1, 1}, dim3{256, 1, 1}, numbers, n);
  const SortedRows sorted{numbers + each, numbers + 2 * each};
  sort(numbers + 3 * each, bytes, sorted, numbers);
  return sorted;
}

void gather_rows(OrreryStream& s, OrreryMatrix x, const std::int32_t* index, OrreryMatrix y) {
  require(x.cols == y.cols, "gather_rows: x and y must have equal widths");
  if (x.dtype == kOrreryF16 && y.dtype == kOrreryF32) {
    const Window<std::uint16_t> from{static_cast<std::uint16_t*>(x.data), x.ld};
    const Window<float> to = floats(y);
    const int v = pack_width(y.cols, to);
    const Tiles tiles(y.rows, y.cols / v);
    launch(s,
           v == 4   ? gather_halves<4>
           : v == 2 ? gather_halves<2>
                    : gather_halves<1>,
           tiles.grid, tiles.block, from, index, to, y.rows, y.cols);
    return;
  }
  // Four bytes are moved unchanged: i32 goes as f32.
  require(x.dtype == y.dtype && x.dtype != kOrreryF64 && x.dtype != kOrreryF16,
          "gather_rows needs elements of four bytes");
  const Window<float> from{static_cast<float*>(x.data), x.ld};
  const Window<float> to{static_cast<float*>(y.data), y.ld};
  const int v = pack_width(y.cols, from, to);
  const Tiles tiles(y.rows, y.cols / v);
  launch(s,
         v == 4   ? gather<4>
         : v == 2 ? gather<2>
                  : gather<1>,
         tiles.grid, tiles.block, from, index, to, y.rows, y.cols);
}

void scatter_add_rows(OrreryStream& s, OrreryMatrix x, const std::int32_t* index, OrreryMatrix y,
                      std::int64_t max_repeats) {
  require(x.cols == y.cols, "scatter_add_rows: x and y must have equal widths");
  if (x.rows == 0) return;
  const Window<float> from = floats(x), to = floats(y);
  const int v = pack_width(x.cols, from, to);
  const Tiles tiles(x.rows, x.cols / v);
  if (max_repeats == 1) {
    launch(s,
           v == 4   ? scatter_add_distinct<4>
           : v == 2 ? scatter_add_distinct<2>
                    : scatter_add_distinct<1>,
           tiles.grid, tiles.block, from, index, to, x.rows, x.cols);
    return;
  }
  const SortedRows sorted = sort_rows(s, index, x.rows);
  launch(s,
         v == 4   ? scatter_add_runs<4>
         : v == 2 ? scatter_add_runs<2>
                  : scatter_add_runs<1>,
         tiles.grid, tiles.block, from, static_cast<const std::int32_t*>(sorted.index),
         static_cast<const std::int32_t*>(sorted.source), to, x.rows, x.cols);
}

namespace {

struct ElementTerm {
  Window<float> x;
  __device__ double operator()(std::int64_t i, std::int64_t j) const { return x(i, j); }
};
struct UpdateRow {
  float* y;
  float beta;
  __device__ void operator()(std::int64_t j, double sum) const {
    y[j] = static_cast<float>(beta == 0 ? sum : sum + static_cast<double>(beta) * y[j]);
  }
};

}  // namespace

void column_sum(OrreryStream& s, OrreryMatrix x, float* y, float beta) {
  sum_over_rows(s, x.rows, x.cols, ElementTerm{floats(x)}, UpdateRow{y, beta},
                s.scratch<double>(parts_of(x.rows, x.cols)));
}

}  // namespace orrery::cuda
