// Fill, copies of windows, sums of arrays.
#include "backends/cuda/device/launch.cuh"
#include "backends/cuda/device/ops.cuh"
#include "backends/cuda/device/windows.cuh"

namespace orrery::cuda {
namespace {

template <class T>
__global__ void fill_kernel(Window<T> y, std::int64_t rows, std::int64_t cols, T value) {
  const std::int64_t i = tile_row(), j = tile_unit();
  if (i < rows && j < cols) y(i, j) = value;
}

template <class T>
void fill_as(OrreryStream& s, const OrreryMatrix& y, double value) {
  const Tiles tiles(y.rows, y.cols);
  launch(s, fill_kernel<T>, tiles.grid, tiles.block, Window<T>{static_cast<T*>(y.data), y.ld},
         y.rows, y.cols, static_cast<T>(value));
}

template <int V>
__global__ void scaled_copy(Window<float> x, Window<float> y, std::int64_t rows, std::int64_t cols,
                            float scale, bool accumulate) {
  const std::int64_t i = tile_row(), j = tile_unit() * V;
  if (i >= rows || j >= cols) return;
  Pack<V> in = pack_at<V>(x, i, j);
  for (float& v : in.at) v *= scale;
  Pack<V>& out = pack_at<V>(y, i, j);
  if (accumulate)
    for (int k = 0; k < V; ++k) in.at[k] += out.at[k];
  out = in;
}

template <class T>
__global__ void add_kernel(const T* x, T* y, std::int64_t n) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) y[i] += x[i];
}

template <class T>
void add_as(OrreryStream& s, const void* x, void* y, std::int64_t n) {
  launch(s, add_kernel<T>, dim3{extent(ceil_div(n, 256)), 1, 1}, dim3{256, 1, 1},
         static_cast<const T*>(x), static_cast<T*>(y), n);
}

}  // namespace

void fill(OrreryStream& s, OrreryMatrix y, double value) {
  switch (y.dtype) {
    case kOrreryF32:
      return fill_as<float>(s, y, value);
    case kOrreryI32:
      return fill_as<std::int32_t>(s, y, value);
    case kOrreryF64:
      return fill_as<double>(s, y, value);
    case kOrreryF16:
      break;
  }
  throw Failure{kOrreryFailed, "fill: unknown element type"};
}

void copy(OrreryStream& s, OrreryMatrix x, OrreryMatrix y, float scale, std::int32_t accumulate) {
  require_equal_shapes(x, y);
  require(x.dtype == y.dtype, "copy: x and y must have one element type");
  if (x.rows == 0 || x.cols == 0) return;
  if (scale == 1 && accumulate == 0) {
    const auto bytes = static_cast<std::size_t>(x.dtype == kOrreryF64   ? 8
                                                : x.dtype == kOrreryF16 ? 2
                                                                        : 4);
    const auto in_bytes = [&](std::int64_t n) { return static_cast<std::size_t>(n) * bytes; };
    if (x.rows == 1 || (x.ld == x.cols && y.ld == y.cols))
      check(cudaMemcpyAsync(y.data, x.data, in_bytes(x.rows * x.cols), cudaMemcpyDefault, s.stream),
            "cudaMemcpyAsync");
    else
      check(cudaMemcpy2DAsync(y.data, in_bytes(y.ld), x.data, in_bytes(x.ld), in_bytes(x.cols),
                              static_cast<std::size_t>(x.rows), cudaMemcpyDefault, s.stream),
            "cudaMemcpy2DAsync");
    return;
  }
  const Window<float> from = floats(x), to = floats(y);
  const int v = pack_width(x.cols, from, to);
  const auto kernel = v == 4 ? scaled_copy<4> : v == 2 ? scaled_copy<2> : scaled_copy<1>;
  const Tiles tiles(x.rows, x.cols / v);
  launch(s, kernel, tiles.grid, tiles.block, from, to, x.rows, x.cols, scale, accumulate != 0);
}

void add(OrreryStream& s, OrreryDType dtype, const void* x, void* y, std::int64_t n) {
  switch (dtype) {
    case kOrreryF32:
      return add_as<float>(s, x, y, n);
    case kOrreryF64:
      return add_as<double>(s, x, y, n);
    case kOrreryI32:
    case kOrreryF16:
      break;
  }
  throw Failure{kOrreryFailed, "add: sums are of f32 or f64"};
}

}  // namespace orrery::cuda
