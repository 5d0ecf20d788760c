// Ops on the entries of a sparse pattern: the sampled dense-dense product, and the softmax over the
// entries of each row with its adjoint. No atomics, so every run gives the same bits.
#include "backends/cuda/device/launch.cuh"
#include "backends/cuda/device/ops.cuh"
#include "backends/cuda/device/pattern.cuh"
#include "backends/cuda/device/reduce.cuh"
#include "backends/cuda/device/windows.cuh"

namespace orrery::cuda {
namespace {

constexpr unsigned kLanes = 32, kWarpsPerBlock = 8;
/// Lanes that sum up one head of one entry.
constexpr int kGroup = 8, kGroups = static_cast<int>(kLanes) / kGroup;

__device__ std::int64_t warp_item() {
  return std::int64_t{blockIdx.x} * kWarpsPerBlock + threadIdx.y;
}
dim3 blocks_of(std::int64_t items) { return {extent(ceil_div(items, kWarpsPerBlock)), 1, 1}; }

/// The long row that a piece is of.
__device__ std::int32_t row_of_piece(const PatternView& a, std::int64_t piece) {
  std::int64_t low = 0, high = a.long_row_count - 1;
  while (low < high) {
    const std::int64_t middle = (low + high + 1) / 2;
    if (a.long_rows[middle].first_piece <= piece)
      low = middle;
    else
      high = middle - 1;
  }
  return a.long_rows[low].row;
}

/// A warp for each work item: pieces of long rows come first, then the other rows.
__global__ void dots_of_entries(PatternView a, Window<float> x, Window<float> z, float* dots,
                                std::int64_t heads, std::int64_t columns_of_head) {
  const std::int64_t item = warp_item();
  if (item >= a.piece_count + a.row_count) return;
  const bool is_piece = item < a.piece_count;
  const std::int64_t row = is_piece ? row_of_piece(a, item) : a.rows[item - a.piece_count];
  const std::int64_t begin = is_piece ? a.pieces[item].begin : a.offsets[row];
  const std::int64_t end = is_piece ? a.pieces[item].end : a.offsets[row + 1];
  const std::int64_t group = threadIdx.x / kGroup, lane = threadIdx.x % kGroup;
  const std::int64_t all = (end - begin) * heads;  // dots of the item
  for (std::int64_t first = 0; first < all; first += kGroups) {
    const std::int64_t i = first + group;
    float sum = 0;
    if (i < all) {
      const std::int64_t column = __ldg(a.columns + begin + i / heads);
      const std::int64_t from = i % heads * columns_of_head;
      for (std::int64_t c = from + lane; c < from + columns_of_head; c += kGroup)
        sum += x(row, c) * z(column, c);
    }
    for (int bits = kGroup / 2; bits > 0; bits /= 2) sum += __shfl_xor_sync(kAllLanes, sum, bits);
    if (i < all && lane == 0) dots[begin * heads + i] = sum;
  }
}

/// The scores: `scale` times the present numbers, or two ends (left.first not null) and perhaps a number
/// of the entry's own (own not null).
struct Scores {
  Window<float> left, right;
  const float* own;  ///< [entries, heads]
  std::int64_t heads;
  float slope, scale;
  __device__ bool of_ends() const { return left.first != nullptr; }
  __device__ float ends(std::int64_t row, std::int64_t e, std::int64_t column,
                        std::int64_t head) const {
    const float sum = left(row, head) + right(column, head);
    return own != nullptr ? sum + own[e * heads + head] : sum;
  }
};

/// A warp for each row: its heads one after the other, its lanes over entries.
__global__ void softmax_of_rows(const std::int64_t* offsets, const std::int32_t* columns,
                                std::int64_t rows, float* weights, std::int64_t heads,
                                Scores scores) {
  const std::int64_t row = warp_item();
  if (row >= rows) return;
  const std::int64_t first = offsets[row] + threadIdx.x, last = offsets[row + 1];
  for (std::int64_t k = 0; k < heads; ++k) {
    float largest = -INFINITY;
    for (std::int64_t e = first; e < last; e += kLanes) {
      float score;
      if (scores.of_ends()) {
        const float u = scores.ends(row, e, columns[e], k);
        score = u > 0 ? u : scores.slope * u;
      } else {
        score = scores.scale * weights[e * heads + k];
      }
      weights[e * heads + k] = score;
      largest = score > largest ? score : largest;
    }
    largest = warp_largest(largest);
    double sum = 0;
    for (std::int64_t e = first; e < last; e += kLanes) {
      const float power = expf(weights[e * heads + k] - largest);
      weights[e * heads + k] = power;
      sum += power;
    }
    const auto share = static_cast<float>(1 / warp_sum(sum));
    for (std::int64_t e = first; e < last; e += kLanes) weights[e * heads + k] *= share;
  }
}

__global__ void softmax_of_rows_backward(const std::int64_t* offsets, const std::int32_t* columns,
                                         std::int64_t rows, const float* weights, float* gradient,
                                         std::int64_t heads, Scores scores, Window<float> dleft) {
  const std::int64_t row = warp_item();
  if (row >= rows) return;
  const std::int64_t first = offsets[row] + threadIdx.x, last = offsets[row + 1];
  for (std::int64_t k = 0; k < heads; ++k) {
    double products = 0;
    for (std::int64_t e = first; e < last; e += kLanes)
      products += static_cast<double>(weights[e * heads + k]) * gradient[e * heads + k];
    const auto mean = static_cast<float>(warp_sum(products));
    double sum = 0;
    for (std::int64_t e = first; e < last; e += kLanes) {
      float slope = scores.scale;
      if (scores.of_ends()) slope = scores.ends(row, e, columns[e], k) > 0 ? 1.0F : scores.slope;
      const float at_score = slope * weights[e * heads + k] * (gradient[e * heads + k] - mean);
      gradient[e * heads + k] = at_score;
      sum += at_score;
    }
    const double all = warp_sum(sum);
    if (dleft.first != nullptr && threadIdx.x == 0) dleft(row, k) = static_cast<float>(all);
  }
}

/// A matrix that may not be there.
Window<float> floats_or_none(const OrreryMatrix& m) {
  return m.data == nullptr ? Window<float>{} : floats(m);
}

}  // namespace

void sddmm(OrreryStream& s, const OrreryPattern* a, OrreryMatrix x, OrreryMatrix z, float* dots,
           std::int64_t heads) {
  const PatternView& view = a->view;
  launch(s, dots_of_entries, blocks_of(view.piece_count + view.row_count),
         dim3{kLanes, kWarpsPerBlock, 1}, view, floats(x), floats(z), dots, heads, x.cols / heads);
}

void edge_softmax(OrreryStream& s, const OrreryPattern* a, float* weights, std::int64_t heads,
                  OrreryMatrix left, OrreryMatrix right, const float* own, float slope,
                  float scale) {
  const Scores scores{floats_or_none(left), floats_or_none(right), own, heads, slope, scale};
  launch(s, softmax_of_rows, blocks_of(a->rows), dim3{kLanes, kWarpsPerBlock, 1}, a->view.offsets,
         a->view.columns, a->rows, weights, heads, scores);
}

void edge_softmax_backward(OrreryStream& s, const OrreryPattern* a, const float* weights,
                           float* gradient, std::int64_t heads, OrreryMatrix left,
                           OrreryMatrix right, const float* own, OrreryMatrix dleft, float slope,
                           float scale) {
  const Scores scores{floats_or_none(left), floats_or_none(right), own, heads, slope, scale};
  launch(s, softmax_of_rows_backward, blocks_of(a->rows), dim3{kLanes, kWarpsPerBlock, 1},
         a->view.offsets, a->view.columns, a->rows, weights, gradient, heads, scores,
         floats_or_none(dleft));
}

}  // namespace orrery::cuda
