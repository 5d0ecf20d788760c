// Batch norm, forward and backward, and the sums over columns that it needs: sums in double.
#include "backends/cuda/device/launch.cuh"
#include "backends/cuda/device/ops.cuh"
#include "backends/cuda/device/reduce.cuh"
#include "backends/cuda/device/windows.cuh"

namespace orrery::cuda {
namespace {

constexpr double kEpsilon = 1e-5;

struct SumTerm {
  Window<float> x;
  __device__ double operator()(std::int64_t i, std::int64_t j) const { return x(i, j); }
};
struct ProductTerm {
  Window<float> x, z;
  __device__ double operator()(std::int64_t i, std::int64_t j) const {
    return static_cast<double>(x(i, j)) * z(i, j);
  }
};
template <class T>
struct WriteRow {
  T* to;
  __device__ void operator()(std::int64_t j, double sum) const { to[j] = static_cast<T>(sum); }
};

template <class T>
void moments_as(OrreryStream& s, const OrreryMatrix& x, const OrreryMatrix& z, void* sum,
                void* product) {
  auto* parts = s.scratch<double>(parts_of(x.rows, x.cols));
  sum_over_rows(s, x.rows, x.cols, SumTerm{floats(x)}, WriteRow<T>{static_cast<T*>(sum)}, parts);
  sum_over_rows(s, x.rows, x.cols, ProductTerm{floats(x), floats(z)},
                WriteRow<T>{static_cast<T*>(product)}, parts);
}

/// Mean and variance of a column by Σx, Σx² and the number of rows.
struct Column {
  double mean, variance;
  __device__ float rstd() const { return static_cast<float>(1 / sqrt(variance + kEpsilon)); }
};
__device__ Column by_moments(const double* moments, std::int64_t j, std::int64_t cols) {
  const double rows = moments[2 * cols], mean = moments[j] / rows;
  const double variance = moments[cols + j] / rows - mean * mean;
  return {mean, variance > 0 ? variance : 0};
}

__global__ void move_averages(const double* moments, Window<float> averages, std::int64_t cols) {
  const std::int64_t j = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (j >= cols) return;
  const Column column = by_moments(moments, j, cols);
  averages(0, j) = static_cast<float>(0.9 * averages(0, j) + 0.1 * column.mean);
  averages(1, j) = static_cast<float>(0.9 * averages(1, j) + 0.1 * column.variance);
}

__global__ void forward(Window<float> x, const double* moments, Window<float> averages,
                        const float* gain, const float* shift, Window<float> normalised,
                        Window<float> y, std::int64_t rows, std::int64_t cols) {
  const std::int64_t i = tile_row(), j = tile_unit();
  if (i >= rows || j >= cols) return;
  const bool trains = moments != nullptr;
  const Column column =
      trains ? by_moments(moments, j, cols) : Column{averages(0, j), averages(1, j)};
  const float value = (x(i, j) - static_cast<float>(column.mean)) * column.rstd();
  if (trains) normalised(i, j) = value;
  y(i, j) = value * gain[j] + shift[j];
}

__global__ void backward(Window<float> dy, Window<float> normalised, const double* moments,
                         const float* sums, const float* gain, Window<float> dx, std::int64_t rows,
                         std::int64_t cols, std::int64_t counted) {
  const std::int64_t i = tile_row(), j = tile_unit();
  if (i >= rows || j >= cols) return;
  const double scale = static_cast<double>(gain[j]) * by_moments(moments, j, cols).rstd();
  double through = 0;
  if (i < counted)
    through =
        (sums[j] + static_cast<double>(normalised(i, j)) * sums[cols + j]) / moments[2 * cols];
  dx(i, j) = static_cast<float>(scale * (dy(i, j) - through));
}

}  // namespace

void column_moments(OrreryStream& s, OrreryMatrix x, OrreryMatrix z, OrreryDType sums, void* sum,
                    void* product) {
  require_equal_shapes(x, z);
  switch (sums) {
    case kOrreryF32:
      return moments_as<float>(s, x, z, sum, product);
    case kOrreryF64:
      return moments_as<double>(s, x, z, sum, product);
    case kOrreryI32:
    case kOrreryF16:
      break;
  }
  throw Failure{kOrreryFailed, "column_moments: sums are of f32 or f64"};
}

void batch_norm(OrreryStream& s, OrreryMatrix x, const double* moments, OrreryMatrix averages,
                const float* gain, const float* shift, OrreryMatrix normalised, OrreryMatrix y) {
  require_equal_shapes(x, y);
  require((moments == nullptr) == (normalised.data == nullptr),
          "batch_norm: moments and normalised go together");
  Window<float> kept;
  if (moments != nullptr) {
    require_equal_shapes(x, normalised);
    kept = floats(normalised);
    launch(s, move_averages, dim3{extent(ceil_div(x.cols, 256)), 1, 1}, dim3{256, 1, 1}, moments,
           floats(averages), x.cols);
  }
  const Tiles tiles(x.rows, x.cols);
  launch(s, forward, tiles.grid, tiles.block, floats(x), moments, floats(averages), gain, shift,
         kept, floats(y), x.rows, x.cols);
}

void batch_norm_backward(OrreryStream& s, OrreryMatrix dy, OrreryMatrix normalised,
                         const double* moments, const float* sums, const float* gain,
                         OrreryMatrix dx, std::int64_t counted) {
  require_equal_shapes(dy, normalised);
  require_equal_shapes(dy, dx);
  const Tiles tiles(dy.rows, dy.cols);
  launch(s, backward, tiles.grid, tiles.block, floats(dy), floats(normalised), moments, sums, gain,
         floats(dx), dy.rows, dy.cols, counted);
}

}  // namespace orrery::cuda
