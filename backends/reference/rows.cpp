// Movement of rows, sums over rows, layer norm.
#include <cmath>

#include "backends/reference/reference_apply.hpp"
#include "core/base/half.hpp"

namespace orrery::reference {

void apply(const GatherRows& op, const RankMemory& memory) {
  const Floats y(memory, op.y);
  const Integers index(memory, op.index);
  const auto gather = [&](const auto& row_of) {
    for (std::int64_t i = 0; i < op.y.rows(); ++i)
      for (std::int64_t j = 0; j < op.y.cols(); ++j) y(i, j) = row_of(index(i, 0), j);
  };
  if (op.x.dtype == DType::f16 && op.y.dtype == DType::f32)
    return gather([x = Window<Half>(memory, op.x)](std::int64_t i, std::int64_t j) {
      return to_float(x(i, j));
    });
  gather(Floats(memory, op.x));
}

void apply(const ScatterAddRows& op, const RankMemory& memory) {
  const Floats x(memory, op.x), y(memory, op.y);
  const Integers index(memory, op.index);
  for (std::int64_t i = 0; i < op.x.rows(); ++i)
    for (std::int64_t j = 0; j < op.x.cols(); ++j) y(index(i, 0), j) += x(i, j);
}

void apply(const ColumnSum& op, const RankMemory& memory) {
  const Floats x(memory, op.x), y(memory, op.y);
  for (std::int64_t j = 0; j < op.x.cols(); ++j) {
    double sum = op.beta == 0 ? 0 : static_cast<double>(op.beta) * y(0, j);
    for (std::int64_t i = 0; i < op.x.rows(); ++i) sum += x(i, j);
    y(0, j) = static_cast<float>(sum);
  }
}

void apply(const LayerNorm& op, const RankMemory& memory) {
  const Floats x(memory, op.x), gain(memory, op.gain), shift(memory, op.shift),
      normalised(memory, op.normalised), rstd(memory, op.rstd), y(memory, op.y);
  const std::int64_t f = op.x.cols();
  for (std::int64_t i = 0; i < op.x.rows(); ++i) {
    double mean = 0, variance = 0;
    for (std::int64_t j = 0; j < f; ++j) mean += x(i, j) / static_cast<double>(f);
    for (std::int64_t j = 0; j < f; ++j)
      variance += (x(i, j) - mean) * (x(i, j) - mean) / static_cast<double>(f);
    const double scale = 1 / std::sqrt(variance + 1e-5);
    rstd(i, 0) = static_cast<float>(scale);
    for (std::int64_t j = 0; j < f; ++j) {
      const double centred = (x(i, j) - mean) * scale;
      normalised(i, j) = static_cast<float>(centred);
      y(i, j) = static_cast<float>(centred * gain(0, j) + shift(0, j));
    }
  }
}

void apply(const LayerNormBackward& op, const RankMemory& memory) {
  const Floats dy(memory, op.dy), normalised(memory, op.normalised), rstd(memory, op.rstd),
      gain(memory, op.gain), dx(memory, op.dx), dgain(memory, op.dgain), dshift(memory, op.dshift);
  const std::int64_t n = op.dy.rows(), f = op.dy.cols();
  for (std::int64_t j = 0; j < f; ++j) {
    double gain_sum = 0, shift_sum = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      gain_sum += static_cast<double>(dy(i, j)) * normalised(i, j);
      shift_sum += dy(i, j);
    }
    dgain(0, j) = static_cast<float>(gain_sum);
    dshift(0, j) = static_cast<float>(shift_sum);
  }
  for (std::int64_t i = 0; i < n; ++i) {
    double mean = 0, projection = 0;
    for (std::int64_t j = 0; j < f; ++j) {
      const double g = static_cast<double>(dy(i, j)) * gain(0, j);
      mean += g / static_cast<double>(f);
      projection += g * normalised(i, j) / static_cast<double>(f);
    }
    for (std::int64_t j = 0; j < f; ++j) {
      const double g = static_cast<double>(dy(i, j)) * gain(0, j);
      dx(i, j) = static_cast<float>(rstd(i, 0) * (g - mean - normalised(i, j) * projection));
    }
  }
}

}  // namespace orrery::reference
