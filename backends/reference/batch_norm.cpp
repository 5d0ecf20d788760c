// Sums over columns for batch norm, and batch norm.
#include <algorithm>
#include <cmath>

#include "backends/reference/reference_apply.hpp"

namespace orrery::reference {
namespace {

struct Column {
  double rows, mean, variance;
  double rstd() const { return 1 / std::sqrt(variance + 1e-5); }
};

/// Column j of f by Σx, Σx² and the number of rows.
Column by_moments(const Window<double>& moments, std::int64_t j, std::int64_t f) {
  const double rows = moments(0, 2 * f), mean = moments(0, j) / rows;
  return {rows, mean, std::max(0.0, moments(0, f + j) / rows - mean * mean)};
}

template <class T>
void moments(const ColumnMoments& op, const RankMemory& memory) {
  const Floats x(memory, op.x), z(memory, op.z);
  const Window<T> sum(memory, op.sum), product(memory, op.product);
  for (std::int64_t j = 0; j < op.x.cols(); ++j) {
    double of_x = 0, of_both = 0;
    for (std::int64_t i = 0; i < op.x.rows(); ++i) {
      of_x += x(i, j);
      of_both += static_cast<double>(x(i, j)) * z(i, j);
    }
    sum(0, j) = static_cast<T>(of_x);
    product(0, j) = static_cast<T>(of_both);
  }
}

}  // namespace

void apply(const ColumnMoments& op, const RankMemory& memory) {
  if (op.sum.dtype == DType::f64)
    moments<double>(op, memory);
  else
    moments<float>(op, memory);
}

void apply(const BatchNorm& op, const RankMemory& memory) {
  const Floats x(memory, op.x), averages(memory, op.averages), gain(memory, op.gain),
      shift(memory, op.shift), y(memory, op.y), normalised(memory, op.normalised.value_or(op.y));
  for (std::int64_t j = 0; j < op.x.cols(); ++j) {
    Column column{0, averages(0, j), averages(1, j)};
    if (op.moments) {
      column = by_moments(Window<double>(memory, *op.moments), j, op.x.cols());
      averages(0, j) = static_cast<float>(0.9 * averages(0, j) + 0.1 * column.mean);
      averages(1, j) = static_cast<float>(0.9 * averages(1, j) + 0.1 * column.variance);
    }
    for (std::int64_t i = 0; i < op.x.rows(); ++i) {
      const double centred = (x(i, j) - column.mean) * column.rstd();
      if (op.normalised) normalised(i, j) = static_cast<float>(centred);
      y(i, j) = static_cast<float>(centred * gain(0, j) + shift(0, j));
    }
  }
}

void apply(const BatchNormBackward& op, const RankMemory& memory) {
  const Floats dy(memory, op.dy), normalised(memory, op.normalised), sums(memory, op.sums),
      gain(memory, op.gain), dx(memory, op.dx);
  const Window<double> moments(memory, op.moments);
  const std::int64_t f = op.dy.cols();
  for (std::int64_t j = 0; j < f; ++j) {
    const Column column = by_moments(moments, j, f);
    for (std::int64_t i = 0; i < op.dy.rows(); ++i) {
      const double through =
          (sums(0, j) + static_cast<double>(normalised(i, j)) * sums(0, f + j)) / column.rows;
      const double g = dy(i, j) - (i < op.counted ? through : 0);
      dx(i, j) = static_cast<float>(gain(0, j) * column.rstd() * g);
    }
  }
}

}  // namespace orrery::reference
