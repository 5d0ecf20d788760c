// Layer norm, forward and backward: a warp for each row; sums in double.
#include "backends/cuda/device/launch.cuh"
#include "backends/cuda/device/ops.cuh"
#include "backends/cuda/device/reduce.cuh"
#include "backends/cuda/device/windows.cuh"

namespace orrery::cuda {
namespace {

constexpr double kEpsilon = 1e-5;
constexpr unsigned kWarpsPerBlock = 8;

__device__ std::int64_t warp_row() {
  return std::int64_t{blockIdx.x} * kWarpsPerBlock + threadIdx.y;
}

__global__ void forward(Window<float> x, const float* gain, const float* shift,
                        Window<float> normalised, float* rstd, Window<float> y, std::int64_t rows,
                        std::int64_t cols) {
  const std::int64_t i = warp_row();
  if (i >= rows) return;
  double sum = 0;
  for (std::int64_t j = threadIdx.x; j < cols; j += 32) sum += x(i, j);
  const double mean = warp_sum(sum) / static_cast<double>(cols);
  double squares = 0;
  for (std::int64_t j = threadIdx.x; j < cols; j += 32) {
    const double centred = x(i, j) - mean;
    squares += centred * centred;
  }
  const double scale = 1 / sqrt(warp_sum(squares) / static_cast<double>(cols) + kEpsilon);
  if (threadIdx.x == 0) rstd[i] = static_cast<float>(scale);
  for (std::int64_t j = threadIdx.x; j < cols; j += 32) {
    const auto value = static_cast<float>((x(i, j) - mean) * scale);
    normalised(i, j) = value;
    y(i, j) = value * gain[j] + shift[j];
  }
}

__global__ void backward(Window<float> dy, Window<float> normalised, const float* rstd,
                         const float* gain, Window<float> dx, std::int64_t rows,
                         std::int64_t cols) {
  const std::int64_t i = warp_row();
  if (i >= rows) return;
  double sum = 0, product = 0;
  for (std::int64_t j = threadIdx.x; j < cols; j += 32) {
    const double g = static_cast<double>(dy(i, j)) * gain[j];
    sum += g;
    product += g * normalised(i, j);
  }
  const auto mean = static_cast<float>(warp_sum(sum) / static_cast<double>(cols));
  const auto projection = static_cast<float>(warp_sum(product) / static_cast<double>(cols));
  for (std::int64_t j = threadIdx.x; j < cols; j += 32)
    dx(i, j) = rstd[i] * (dy(i, j) * gain[j] - mean - normalised(i, j) * projection);
}

struct ShiftTerm {
  Window<float> dy;
  __device__ double operator()(std::int64_t i, std::int64_t j) const { return dy(i, j); }
};
struct GainTerm {
  Window<float> dy, normalised;
  __device__ double operator()(std::int64_t i, std::int64_t j) const {
    return static_cast<double>(dy(i, j)) * normalised(i, j);
  }
};
struct WriteRow {
  float* to;
  __device__ void operator()(std::int64_t j, double sum) const { to[j] = static_cast<float>(sum); }
};

dim3 blocks_of(std::int64_t rows) { return {extent(ceil_div(rows, kWarpsPerBlock)), 1, 1}; }
constexpr unsigned kLanes = 32;

}  // namespace

void layer_norm(OrreryStream& s, OrreryMatrix x, const float* gain, const float* shift,
                OrreryMatrix normalised, float* rstd, OrreryMatrix y) {
  require_equal_shapes(x, normalised);
  require_equal_shapes(x, y);
  launch(s, forward, blocks_of(x.rows), dim3{kLanes, kWarpsPerBlock, 1}, floats(x), gain, shift,
         floats(normalised), rstd, floats(y), x.rows, x.cols);
}

void layer_norm_backward(OrreryStream& s, OrreryMatrix dy, OrreryMatrix normalised,
                         const float* rstd, const float* gain, OrreryMatrix dx, float* dgain,
                         float* dshift) {
  require_equal_shapes(dy, normalised);
  require_equal_shapes(dy, dx);
  // Before dx is written, which may be dy.
  auto* parts = s.scratch<double>(parts_of(dy.rows, dy.cols));
  sum_over_rows(s, dy.rows, dy.cols, ShiftTerm{floats(dy)}, WriteRow{dshift}, parts);
  sum_over_rows(s, dy.rows, dy.cols, GainTerm{floats(dy), floats(normalised)}, WriteRow{dgain},
                parts);
  launch(s, backward, blocks_of(dy.rows), dim3{kLanes, kWarpsPerBlock, 1}, floats(dy),
         floats(normalised), rstd, gain, floats(dx), dy.rows, dy.cols);
}

}  // namespace orrery::cuda
