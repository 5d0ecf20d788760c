// Loss and score: a warp for each row, sums of blocks in double, combined in order.
#include "backends/cuda/device/launch.cuh"
#include "backends/cuda/device/ops.cuh"
#include "backends/cuda/device/reduce.cuh"
#include "backends/cuda/device/windows.cuh"

namespace orrery::cuda {
namespace {

constexpr unsigned kLanes = 32, kWarpsPerBlock = 8;

__device__ std::int64_t warp_row() {
  return std::int64_t{blockIdx.x} * kWarpsPerBlock + threadIdx.y;
}
dim3 blocks_of(std::int64_t rows) { return {extent(ceil_div(rows, kWarpsPerBlock)), 1, 1}; }

struct Targets {
  const std::int32_t* rows;  ///< ascending, distinct
  std::int64_t count;
  const float* weights;  ///< of each, or null: 1
};

/// The place of a row among the targets; −1: it is none.
__device__ std::int64_t place_of(const Targets& targets, std::int64_t row) {
  std::int64_t first = 0, last = targets.count;
  while (first < last) {
    const std::int64_t middle = (first + last) / 2;
    if (targets.rows[middle] < row)
      first = middle + 1;
    else
      last = middle;
  }
  return first < targets.count && targets.rows[first] == row ? first : -1;
}

/// parts[n·block + k] ← Σ of values[k] over the warps of the block, in order.
///
/// Requires  all threads call it; values are those of every lane of a warp
template <int n>
__device__ void write_block_sums(const double (&values)[n], double* parts) {
  __shared__ double of_warp[kWarpsPerBlock][n];
  if (threadIdx.x < n) of_warp[threadIdx.y][threadIdx.x] = values[threadIdx.x];
  __syncthreads();
  if (threadIdx.y != 0 || threadIdx.x >= n) return;
  double sum = 0;
  for (unsigned w = 0; w < kWarpsPerBlock; ++w) sum += of_warp[w][threadIdx.x];
  parts[std::int64_t{blockIdx.x} * n + threadIdx.x] = sum;
}

/// −log softmax(logits)[label] of row i; its gradient goes to the row of `grad`.
__device__ double softmax_loss(const Window<float>& logits, std::int32_t label,
                               const Window<float>& grad, std::int64_t classes, double scale,
                               std::int64_t i) {
  float largest = -INFINITY;
  for (std::int64_t c = threadIdx.x; c < classes; c += kLanes)
    largest = logits(i, c) > largest ? logits(i, c) : largest;
  largest = warp_largest(largest);
  double sum = 0;
  for (std::int64_t c = threadIdx.x; c < classes; c += kLanes) sum += expf(logits(i, c) - largest);
  sum = warp_sum(sum);
  const double of_label = logits(i, label);
  __syncwarp();  // every lane has read the label's logit before the gradient may overwrite it
  for (std::int64_t c = threadIdx.x; c < classes; c += kLanes) {
    const double probability = expf(logits(i, c) - largest) / sum;
    grad(i, c) = static_cast<float>(scale * (probability - (c == label ? 1 : 0)));
  }
  return log(sum) + static_cast<double>(largest) - of_label;
}

/// Mean over the classes of the binary cross-entropies of row i; its gradient likewise.
__device__ double sigmoid_loss(const Window<float>& logits, const std::int32_t* labels,
                               const Window<float>& grad, std::int64_t classes, double scale,
                               std::int64_t i) {
  double loss = 0;
  for (std::int64_t c = threadIdx.x; c < classes; c += kLanes) {
    const float z = logits(i, c), label = static_cast<float>(labels[c]);
    loss += (z > 0 ? z : 0) - z * label + log1pf(expf(-fabsf(z)));
    const float probability = 1 / (1 + expf(-z));
    grad(i, c) = static_cast<float>(scale * (probability - label) / static_cast<double>(classes));
  }
  return warp_sum(loss) / static_cast<double>(classes);
}

__global__ void loss_rows(OrreryLossKind kind, Window<float> logits, const std::int32_t* labels,
                          std::int64_t ld_labels, Targets targets, Window<float> grad,
                          std::int64_t rows, std::int64_t classes, double scale, double* parts) {
  const std::int64_t i = warp_row();
  const std::int64_t place = i < rows ? place_of(targets, i) : -1;
  double sum = 0;
  if (place >= 0) {
    const std::int32_t* of_row = labels + i * ld_labels;
    const double times = targets.weights != nullptr ? targets.weights[place] : 1;
    sum = times * (kind == kOrrerySoftmax
                       ? softmax_loss(logits, *of_row, grad, classes, times * scale, i)
                       : sigmoid_loss(logits, of_row, grad, classes, times * scale, i));
  } else if (i < rows) {
    for (std::int64_t c = threadIdx.x; c < classes; c += kLanes) grad(i, c) = 0;
  }
  write_block_sums<1>({sum}, parts);
}

/// What one target row adds to the counts, on every lane.
struct Counted {
  std::int32_t true_positives = 0, false_positives = 0, false_negatives = 0;
};

__device__ Counted count_softmax(const Window<float>& logits, std::int32_t label,
                                 std::int64_t classes, std::int64_t i) {
  float largest = -INFINITY;
  auto predicted = static_cast<std::int32_t>(classes);
  for (std::int64_t c = threadIdx.x; c < classes; c += kLanes)
    if (logits(i, c) > largest || predicted == classes) {
      largest = logits(i, c);
      predicted = static_cast<std::int32_t>(c);
    }
  for (int bits = 16; bits > 0; bits /= 2) {
    const float other = __shfl_xor_sync(kAllLanes, largest, bits);
    const std::int32_t of_other = __shfl_xor_sync(kAllLanes, predicted, bits);
    if (other > largest || (other == largest && of_other < predicted)) {
      largest = other;
      predicted = of_other;
    }
  }
  const std::int32_t right = predicted == label ? 1 : 0;
  return {right, 1 - right, 1 - right};
}

__device__ Counted count_sigmoid(const Window<float>& logits, const std::int32_t* labels,
                                 std::int64_t classes, std::int64_t i) {
  Counted n;
  for (std::int64_t c = threadIdx.x; c < classes; c += kLanes) {
    const bool predicted = logits(i, c) > 0, positive = labels[c] != 0;
    n.true_positives += predicted && positive ? 1 : 0;
    n.false_positives += predicted && !positive ? 1 : 0;
    n.false_negatives += !predicted && positive ? 1 : 0;
  }
  return {warp_sum(n.true_positives), warp_sum(n.false_positives), warp_sum(n.false_negatives)};
}

__global__ void score_rows(OrreryLossKind kind, Window<float> logits, const std::int32_t* labels,
                           std::int64_t ld_labels, Targets targets, std::int64_t classes,
                           double* parts) {
  const std::int64_t t = warp_row();
  Counted n;
  if (t < targets.count) {
    const std::int64_t i = targets.rows[t];
    const std::int32_t* of_row = labels + i * ld_labels;
    n = kind == kOrrerySoftmax ? count_softmax(logits, *of_row, classes, i)
                               : count_sigmoid(logits, of_row, classes, i);
  }
  write_block_sums<3>(
      {static_cast<double>(n.true_positives), static_cast<double>(n.false_positives),
       static_cast<double>(n.false_negatives)},
      parts);
}

/// to[j] ← factor·sum, with `accumulate` added to what it held.
struct Accumulate {
  double* to;
  double factor;
  bool accumulate;
  __device__ void operator()(std::int64_t j, double sum) const {
    to[j] = factor * sum + (accumulate ? to[j] : 0);
  }
};

/// One number, or three, of every block.
struct PartTerm {
  const double* parts;
  std::int64_t cols;
  __device__ double operator()(std::int64_t i, std::int64_t j) const { return parts[i * cols + j]; }
};

/// Room for the numbers of `blocks` blocks, and for their sums.
double* parts_for(OrreryStream& s, std::int64_t blocks, std::int64_t cols) {
  return s.scratch<double>(blocks * cols + parts_of(blocks, cols));
}
void finish(OrreryStream& s, double* parts, std::int64_t blocks, std::int64_t cols, Accumulate to) {
  sum_over_rows(s, blocks, cols, PartTerm{parts, cols}, to, parts + blocks * cols);
}

}  // namespace

void loss(OrreryStream& s, OrreryLossKind kind, OrreryMatrix logits, const std::int32_t* labels,
          std::int64_t ld_labels, const std::int32_t* targets, std::int64_t target_count,
          const float* weights, OrreryMatrix grad, double* loss, double scale, double weight,
          std::int32_t accumulate) {
  require_equal_shapes(logits, grad);
  const dim3 blocks = blocks_of(logits.rows);
  auto* parts = parts_for(s, blocks.x, 1);
  launch(s, loss_rows, blocks, dim3{kLanes, kWarpsPerBlock, 1}, kind, floats(logits), labels,
         ld_labels, Targets{targets, target_count, weights}, floats(grad), logits.rows, logits.cols,
         scale, parts);
  finish(s, parts, blocks.x, 1, {loss, weight * scale, accumulate != 0});
}

void score(OrreryStream& s, OrreryLossKind kind, OrreryMatrix logits, const std::int32_t* labels,
           std::int64_t ld_labels, const std::int32_t* targets, std::int64_t target_count,
           double* counts, std::int32_t accumulate) {
  const dim3 blocks = blocks_of(target_count);
  auto* parts = parts_for(s, blocks.x, 3);
  launch(s, score_rows, blocks, dim3{kLanes, kWarpsPerBlock, 1}, kind, floats(logits), labels,
         ld_labels, Targets{targets, target_count, nullptr}, logits.cols, parts);
  finish(s, parts, blocks.x, 3, {counts, 1, accumulate != 0});
}

}  // namespace orrery::cuda
