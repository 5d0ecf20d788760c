// The sparse-dense product, our own: a group of G lanes walks the entries of one row, or of one
// piece of a long row, and keeps R packs of V columns each in registers. No atomics, so the sums of
// every run have the same bits.
#include "backends/cuda/device/launch.cuh"
#include "backends/cuda/device/pattern.cuh"
#include "backends/cuda/device/windows.cuh"

namespace orrery::cuda {
namespace {

constexpr int kBlockThreads = 256;

/// The lanes of a warp that form this thread's group.
template <int G>
__device__ unsigned group_mask() {
  if constexpr (G == 32)
    return ~0U;
  else
    return ((1U << G) - 1) << (threadIdx.y % (32 / G) * G);
}

/// The weight of an entry: one, or `heads` numbers, each for several columns.
struct Weights {
  const float* values;  ///< [nnz, heads]; null: ones
  std::int64_t heads, columns_of_head;
};

/// Work item i: pieces of long rows come first, then the other rows. With kHeads each pack, whose
/// columns belong to one head, reads its own weight: lanes of one head read the same number, and
/// those of an entry are adjacent.
template <int V, int G, int R, bool kHeads>
__global__ void __launch_bounds__(kBlockThreads)
    multiply(PatternView a, Weights weights, Window<float> x, Window<float> y,
             Window<float> piece_sums, std::int64_t cols, float beta) {
  // Loads under way at once: more if a lane has fewer registers to fill.
  [[maybe_unused]] constexpr int kInFlight = R >= 4 ? 4 : 8;
  const std::int64_t item = std::int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (item >= a.piece_count + a.row_count) return;
  const std::int64_t j0 = std::int64_t{blockIdx.y} * (G * V * R) + threadIdx.x * V;
  const bool is_piece = item < a.piece_count;
  const std::int64_t row = is_piece ? item : a.rows[item - a.piece_count];
  const std::int64_t begin = is_piece ? a.pieces[item].begin : a.offsets[row];
  const std::int64_t end = is_piece ? a.pieces[item].end : a.offsets[row + 1];

  [[maybe_unused]] std::int64_t head[R] = {};
  if constexpr (kHeads)
    for (int r = 0; r < R; ++r) head[r] = (j0 + r * G * V) / weights.columns_of_head;

  Pack<V> sums[R] = {};
  const auto accumulate = [&](std::int32_t column, float value, [[maybe_unused]] std::int64_t e) {
#pragma unroll
    for (int r = 0; r < R; ++r) {
      const std::int64_t j = j0 + r * G * V;
      if (j >= cols) break;
      const Pack<V> from = pack_at<V>(x, column, j);
      if constexpr (kHeads) value = __ldg(weights.values + e * weights.heads + head[r]);
#pragma unroll
      for (int k = 0; k < V; ++k) sums[r].at[k] += value * from.at[k];
    }
  };
  // The lanes of a group load the next G entries together and pass them round.
  const unsigned mask = group_mask<G>();
  for (std::int64_t e = begin; e < end; e += G) {
    const bool mine = e + threadIdx.x < end;
    const std::int32_t column = mine ? __ldg(a.columns + e + threadIdx.x) : 0;
    float value = 1;
    if constexpr (!kHeads)
      if (mine && weights.values != nullptr) value = __ldg(weights.values + e + threadIdx.x);
    const int count = end - e < G ? static_cast<int>(end - e) : G;
#pragma unroll kInFlight
    for (int k = 0; k < count; ++k)
      accumulate(__shfl_sync(mask, column, k, G), kHeads ? 0.0F : __shfl_sync(mask, value, k, G),
                 e + k);
  }

  const Window<float>& to = is_piece ? piece_sums : y;
  const bool updates = !is_piece && beta != 0;
#pragma unroll
  for (int r = 0; r < R; ++r) {
    const std::int64_t j = j0 + r * G * V;
    if (j >= cols) break;
    Pack<V>& out = pack_at<V>(to, row, j);
    if (updates) {
      const Pack<V> old = out;
      for (int k = 0; k < V; ++k) sums[r].at[k] += beta * old.at[k];
    }
    out = sums[r];
  }
}

constexpr int kCombineColumns = 32, kCombineSlices = 8;

/// A block for each long row and 32 of its columns: eight slices of its pieces are summed at once,
/// each in order, then the slices in order.
__global__ void combine(PatternView a, Window<float> piece_sums, Window<float> y, std::int64_t cols,
                        float beta) {
  __shared__ float slices[kCombineSlices][kCombineColumns];
  const Preparation::LongRow row = a.long_rows[blockIdx.x];
  const std::int64_t j = std::int64_t{blockIdx.y} * kCombineColumns + threadIdx.x;
  const int each = (row.pieces + kCombineSlices - 1) / kCombineSlices;
  const int first = static_cast<int>(threadIdx.y) * each;
  const int last = first + each < row.pieces ? first + each : row.pieces;
  float sum = 0;
  if (j < cols)
    for (int p = first; p < last; ++p) sum += piece_sums(row.first_piece + p, j);
  slices[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || j >= cols) return;
  for (int k = 1; k < kCombineSlices; ++k) sum += slices[k][threadIdx.x];
  y(row.row, j) = beta == 0 ? sum : sum + beta * y(row.row, j);
}

using Multiply = decltype(&multiply<1, 4, 1, false>);

struct Variant {
  Multiply kernel;
  int group, columns;  ///< lanes for a row; columns that one pass over its entries covers
};

template <int V, bool kHeads>
Variant variant_of(std::int64_t cols) {
  const std::int64_t packs = cols / V;
  if (packs <= 4) return {multiply<V, 4, 1, kHeads>, 4, 4 * V};
  if (packs <= 8) return {multiply<V, 8, 1, kHeads>, 8, 8 * V};
  if (packs <= 16) return {multiply<V, 16, 1, kHeads>, 16, 16 * V};
  if (packs <= 32) return {multiply<V, 32, 1, kHeads>, 32, 32 * V};
  if (packs <= 64) return {multiply<V, 32, 2, kHeads>, 32, 64 * V};
  return {multiply<V, 32, 4, kHeads>, 32, 128 * V};
}

template <bool kHeads>
Variant variant_of(int v, std::int64_t cols) {
  return v == 4   ? variant_of<4, kHeads>(cols)
         : v == 2 ? variant_of<2, kHeads>(cols)
                  : variant_of<1, kHeads>(cols);
}

}  // namespace

void spmm_own(OrreryStream& s, const OrreryPattern& a, const float* values, std::int64_t heads,
              OrreryMatrix x, OrreryMatrix y, float beta) {
  const Window<float> from = floats(x), to = floats(y);
  const Weights weights{values, heads, x.cols / heads};
  const bool many = values != nullptr && heads > 1;
  const int v = pack_width(many ? weights.columns_of_head : x.cols, from, to);
  const Variant variant = many ? variant_of<true>(v, x.cols) : variant_of<false>(v, x.cols);
  const PatternView& view = a.view;
  const Window<float> piece_sums{s.scratch<float>(view.piece_count * x.cols), x.cols};
  const std::int64_t per_block = kBlockThreads / variant.group;
  const dim3 grid{extent(ceil_div(view.piece_count + view.row_count, per_block)),
                  extent(ceil_div(x.cols, variant.columns), 65535), 1};
  launch(s, variant.kernel, grid,
         dim3{static_cast<unsigned>(variant.group), static_cast<unsigned>(per_block), 1}, view,
         weights, from, to, piece_sums, x.cols, beta);
  launch(s, combine,
         dim3{extent(view.long_row_count), extent(ceil_div(x.cols, kCombineColumns), 65535), 1},
         dim3{kCombineColumns, kCombineSlices, 1}, view, piece_sums, to, x.cols, beta);
}

}  // namespace orrery::cuda
