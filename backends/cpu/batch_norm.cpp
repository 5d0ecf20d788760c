// Sums over columns for batch norm, and batch norm.
#include <cmath>
#include <vector>

#include "backends/cpu/cpu_apply.hpp"
#include "core/base/index.hpp"

namespace orrery::cpu {
namespace {

/// Values of every column before its rows are read.
struct Columns {
  explicit Columns(std::int64_t width) : mean(at(width)), rstd(at(width)), variance(at(width)) {}
  std::vector<float> mean, rstd;
  std::vector<double> variance;
};

/// Columns computed from Σx, Σx² and the number of rows.
Columns by_moments(const double* moments, std::int64_t width) {
  Columns columns(width);
  const double rows = moments[2 * width];
  for (std::int64_t c = 0; c < width; ++c) {
    const double mean = moments[c] / rows;
    const double variance = std::max(0.0, moments[width + c] / rows - mean * mean);
    columns.mean[at(c)] = static_cast<float>(mean);
    columns.variance[at(c)] = variance;
    columns.rstd[at(c)] = static_cast<float>(1 / std::sqrt(variance + 1e-5));
  }
  return columns;
}

Columns by_averages(Rows<const float> averages, std::int64_t width) {
  Columns columns(width);
  for (std::int64_t c = 0; c < width; ++c) {
    columns.mean[at(c)] = averages.row(0)[c];
    columns.rstd[at(c)] =
        static_cast<float>(1 / std::sqrt(static_cast<double>(averages.row(1)[c]) + 1e-5));
  }
  return columns;
}

void move_averages(const Columns& columns, Rows<float> averages) {
  const auto move = [](float& average, double now) {
    average = static_cast<float>(0.9 * static_cast<double>(average) + 0.1 * now);
  };
  for (std::size_t c = 0; c < columns.mean.size(); ++c) {
    move(averages.row(0)[c], static_cast<double>(columns.mean[c]));
    move(averages.row(1)[c], columns.variance[c]);
  }
}

template <class T>
void write(const std::vector<double>& sums, std::int64_t width, T* sum, T* product) {
  for (std::int64_t c = 0; c < width; ++c) {
    sum[c] = static_cast<T>(sums[at(c)]);
    product[c] = static_cast<T>(sums[at(width + c)]);
  }
}

}  // namespace

void apply(const ColumnMoments& op, const RankMemory& memory, const RangeKernels& kernels) {
  const std::int64_t width = op.x.cols();
  const auto x = inputs_of(memory, op.x), z = inputs_of(memory, op.z);
  const auto sums = sums_over_rows(
      op.x.rows(), 2 * width, [&](std::int64_t begin, std::int64_t end, double* part) {
        kernels.column_moments(x, z, width, begin, end, part, part + width);
      });
  if (op.sum.dtype == DType::f64)
    write(sums, width, memory.data<double>(op.sum), memory.data<double>(op.product));
  else
    write(sums, width, memory.data<float>(op.sum), memory.data<float>(op.product));
}

void apply(const BatchNorm& op, const RankMemory& memory, const RangeKernels& kernels) {
  const std::int64_t width = op.x.cols();
  const Columns columns = op.moments ? by_moments(memory.data<double>(*op.moments), width)
                                     : by_averages(inputs_of(memory, op.averages), width);
  if (op.moments) move_averages(columns, rows_of(memory, op.averages));
  const NormaliseColumnsArgs args{
      .x = inputs_of(memory, op.x),
      .mean = columns.mean.data(),
      .rstd = columns.rstd.data(),
      .gain = memory.data<float>(op.gain),
      .shift = memory.data<float>(op.shift),
      .normalised = op.normalised ? rows_of(memory, *op.normalised) : Rows<float>{},
      .y = rows_of(memory, op.y),
      .width = width};
  parallel_for(op.x.rows(), rows_per_range(width), [&](std::int64_t begin, std::int64_t end) {
    kernels.normalise_columns(args, begin, end);
  });
}

void apply(const BatchNormBackward& op, const RankMemory& memory, const RangeKernels& kernels) {
  const std::int64_t width = op.dy.cols();
  const double* moments = memory.data<double>(op.moments);
  const float *sums = memory.data<float>(op.sums), *gain = memory.data<float>(op.gain);
  const Columns columns = by_moments(moments, width);
  std::vector<float> scale(at(width)), offset(at(width)), slope(at(width));
  for (std::int64_t c = 0; c < width; ++c) {
    const double factor = static_cast<double>(gain[c]) * static_cast<double>(columns.rstd[at(c)]);
    scale[at(c)] = static_cast<float>(factor);
    offset[at(c)] = static_cast<float>(factor * static_cast<double>(sums[c]) / moments[2 * width]);
    slope[at(c)] =
        static_cast<float>(factor * static_cast<double>(sums[width + c]) / moments[2 * width]);
  }
  const std::vector<float> none(at(width));
  const auto backward = [&](std::int64_t first, std::int64_t rows, const std::vector<float>& by_sum,
                            const std::vector<float>& by_product) {
    const auto from = [first](auto window) {
      return decltype(window){window.row(first), window.ld};
    };
    const BatchNormBackwardArgs args{.dy = from(inputs_of(memory, op.dy)),
                                     .normalised = from(inputs_of(memory, op.normalised)),
                                     .scale = scale.data(),
                                     .offset = by_sum.data(),
                                     .slope = by_product.data(),
                                     .dx = from(rows_of(memory, op.dx)),
                                     .width = width};
    parallel_for(rows, rows_per_range(width), [&](std::int64_t begin, std::int64_t end) {
      kernels.batch_norm_backward(args, begin, end);
    });
  };
  backward(0, op.counted, offset, slope);
  backward(op.counted, op.dy.rows() - op.counted, none, none);
}

}  // namespace orrery::cpu
