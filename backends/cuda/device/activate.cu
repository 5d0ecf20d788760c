// Bias, activation and dropout in one pass, forward and backward.
//
// A thread takes the eight columns that share one random draw.
#include <cmath>

#include "backends/cuda/device/launch.cuh"
#include "backends/cuda/device/ops.cuh"
#include "backends/cuda/device/varying.cuh"
#include "backends/cuda/device/windows.cuh"
#include "core/base/rng.hpp"

namespace orrery::cuda {
namespace {

constexpr int kUnit = 8;

/// Dropout in the form for kernels; without row_ids nothing is dropped.
struct Mask {
  const std::int32_t* row_ids = nullptr;
  std::uint64_t seed = 0;
  OrreryVarying epoch{};
  std::uint32_t layer = 0;
  std::uint32_t threshold = 0;  ///< draws below it are dropped
  std::uint32_t first_unit = 0;
  float scale = 1;
};

Mask mask_of(const OrreryDropout& d) {
  if (d.row_ids == nullptr) return {};
  require(d.col0 % kUnit == 0, "dropout: col0 must be a multiple of 8");
  return {d.row_ids,
          d.seed,
          d.epoch,
          d.layer,
          static_cast<std::uint32_t>(std::lround(d.p * 65536)),
          static_cast<std::uint32_t>(d.col0 / kUnit),
          static_cast<float>(1 / (1 - d.p))};
}

/// Bit k: is column 8·unit + k of row i kept?
///
/// Source    Dropout's rule in core/ops/ops.hpp
__device__ unsigned kept_bits(const Mask& mask, std::int64_t i, std::int64_t unit) {
  const r123::Philox4x32::key_type key{
      {static_cast<std::uint32_t>(mask.seed), static_cast<std::uint32_t>(mask.seed >> 32U)}};
  const r123::Philox4x32::ctr_type counter{{static_cast<std::uint32_t>(mask.row_ids[i]),
                                            mask.first_unit + static_cast<std::uint32_t>(unit),
                                            value_of(mask.epoch) * 4096 + mask.layer,
                                            static_cast<std::uint32_t>(Purpose::dropout)}};
  const auto words = r123::Philox4x32{}(counter, key);
  unsigned bits = 0;
  for (unsigned k = 0; k < kUnit; ++k) {
    const std::uint32_t drawn = (words[k / 2] >> (16 * (k % 2))) & 0xFFFFU;
    bits |= (drawn >= mask.threshold ? 1U : 0U) << k;
  }
  return bits;
}

__device__ float on_curve(OrreryActivation activation, float v) {
  if (activation == kOrreryNoActivation || !(v < 0)) return v;
  return activation == kOrreryRelu ? 0 : expm1f(v);
}

template <int V>
__global__ void forward(Window<float> x, const float* bias, Window<float> y, std::int64_t rows,
                        std::int64_t cols, OrreryActivation activation, Mask mask) {
  const std::int64_t i = tile_row(), unit = tile_unit();
  if (i >= rows || unit * kUnit >= cols) return;
  const unsigned kept = mask.row_ids != nullptr ? kept_bits(mask, i, unit) : ~0U;
  for (int part = 0; part < kUnit; part += V) {
    const std::int64_t j = unit * kUnit + part;
    if (j >= cols) return;
    Pack<V> values = pack_at<V>(x, i, j);
    for (int k = 0; k < V; ++k) {
      float& v = values.at[k];
      if (bias != nullptr) v += bias[j + k];
      v = on_curve(activation, v);
      v = (kept >> (part + k) & 1U) != 0 ? v * mask.scale : 0;
    }
    pack_at<V>(y, i, j) = values;
  }
}

/// With relu, y shows what passed: it is positive exactly there. With elu it gives the slope.
template <int V>
__global__ void backward(Window<float> dy, Window<float> y, Window<float> dx, std::int64_t rows,
                         std::int64_t cols, OrreryActivation activation, Mask mask) {
  const std::int64_t i = tile_row(), unit = tile_unit();
  if (i >= rows || unit * kUnit >= cols) return;
  const bool relu = activation == kOrreryRelu, elu = activation == kOrreryElu;
  const bool draws = !relu && mask.row_ids != nullptr;
  const unsigned kept = draws ? kept_bits(mask, i, unit) : ~0U;
  for (int part = 0; part < kUnit; part += V) {
    const std::int64_t j = unit * kUnit + part;
    if (j >= cols) return;
    Pack<V> values = pack_at<V>(dy, i, j);
    Pack<V> outputs{};
    if (relu || elu) outputs = pack_at<V>(y, i, j);
    for (int k = 0; k < V; ++k) {
      const bool passes = relu ? outputs.at[k] > 0 : (kept >> (part + k) & 1U) != 0;
      const float slope = elu && outputs.at[k] < 0 ? 1 + outputs.at[k] / mask.scale : 1;
      values.at[k] = passes ? values.at[k] * slope * mask.scale : 0;
    }
    pack_at<V>(dx, i, j) = values;
  }
}

}  // namespace

void activate(OrreryStream& s, OrreryMatrix x, const float* bias, OrreryMatrix y,
              OrreryActivation activation, OrreryDropout dropout) {
  require_equal_shapes(x, y);
  const Window<float> from = floats(x), to = floats(y);
  const int v = pack_width(x.cols, from, to);
  const auto kernel = v == 4 ? forward<4> : v == 2 ? forward<2> : forward<1>;
  const Tiles tiles(x.rows, ceil_div(x.cols, kUnit));
  launch(s, kernel, tiles.grid, tiles.block, from, bias, to, x.rows, x.cols, activation,
         mask_of(dropout));
}

void activate_backward(OrreryStream& s, OrreryMatrix dy, const float* y, std::int64_t ld_y,
                       OrreryMatrix dx, OrreryActivation activation, OrreryDropout dropout) {
  require_equal_shapes(dy, dx);
  require((activation != kOrreryNoActivation) == (y != nullptr),
          "activate_backward: y is needed for relu and elu, and only there");
  const Window<float> from = floats(dy), to = floats(dx);
  const Window<float> outputs{const_cast<float*>(y), y != nullptr ? ld_y : 0};
  const int v = pack_width(dx.cols, from, outputs, to);
  const auto kernel = v == 4 ? backward<4> : v == 2 ? backward<2> : backward<1>;
  const Tiles tiles(dx.rows, ceil_div(dx.cols, kUnit));
  launch(s, kernel, tiles.grid, tiles.block, from, outputs, to, dx.rows, dx.cols, activation,
         mask_of(dropout));
}

}  // namespace orrery::cuda
