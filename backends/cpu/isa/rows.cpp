// Sums over rows, layer norm, batch norm.
#include "backends/cpu/isa/isa_kernels.hpp"
#include "backends/cpu/isa/vector.hpp"

namespace orrery::cpu::ORRERY_ISA {
namespace {

/// Σ term(c) for c in [0, width), where term<n>(c) gives n neighbouring terms.
template <class Term>
inline float sum_over(std::int64_t width, const Term& term) {
  Vector<kLanes> sum = {};
  std::int64_t c = 0;
  for (; c + kLanes <= width; c += kLanes) sum += term.template operator()<kLanes>(c);
  float total = sum_of(sum);
  for (; c < width; ++c) total += term.template operator()<1>(c);
  return total;
}

}  // namespace

void column_sum(Rows<const float> x, std::int64_t width, std::int64_t begin, std::int64_t end,
                double* sums) {
  for (std::int64_t i = begin; i < end; ++i) {
    const float* row = x.row(i);
#pragma GCC ivdep
    for (std::int64_t c = 0; c < width; ++c) sums[c] += static_cast<double>(row[c]);
  }
}

void layer_norm(const LayerNormArgs& args, std::int64_t begin, std::int64_t end) {
  const float share = 1.0F / static_cast<float>(args.width);
  for (std::int64_t i = begin; i < end; ++i) {
    const float* x = args.x.row(i);
    float *normalised = args.normalised.row(i), *y = args.y.row(i);
    const float mean =
        share * sum_over(args.width, [&]<int n>(std::int64_t c) { return load<n>(x + c); });
    const float variance = share * sum_over(args.width, [&]<int n>(std::int64_t c) {
                             const auto centred = load<n>(x + c) - mean;
                             return centred * centred;
                           });
    const float rstd = 1 / __builtin_sqrtf(variance + 1e-5F);
    *args.rstd.row(i) = rstd;
#pragma GCC ivdep
    for (std::int64_t c = 0; c < args.width; ++c) {
      const float value = (x[c] - mean) * rstd;
      normalised[c] = value;
      y[c] = value * args.gain[c] + args.shift[c];
    }
  }
}

void layer_norm_backward(const LayerNormBackwardArgs& args, std::int64_t begin, std::int64_t end,
                         double* gain_sums, double* shift_sums) {
  const float share = 1.0F / static_cast<float>(args.width);
  const float* gain = args.gain;
  for (std::int64_t i = begin; i < end; ++i) {
    const float *dy = args.dy.row(i), *normalised = args.normalised.row(i);
    float* dx = args.dx.row(i);
#pragma GCC ivdep
    for (std::int64_t c = 0; c < args.width; ++c) {
      gain_sums[c] += static_cast<double>(dy[c] * normalised[c]);
      shift_sums[c] += static_cast<double>(dy[c]);
    }
    const float mean = share * sum_over(args.width, [&]<int n>(std::int64_t c) {
                         return load<n>(dy + c) * load<n>(gain + c);
                       });
    const float projection = share * sum_over(args.width, [&]<int n>(std::int64_t c) {
                               return load<n>(dy + c) * load<n>(gain + c) * load<n>(normalised + c);
                             });
    const float rstd = *args.rstd.row(i);
#pragma GCC ivdep
    for (std::int64_t c = 0; c < args.width; ++c)
      dx[c] = rstd * (dy[c] * gain[c] - mean - normalised[c] * projection);
  }
}

void column_moments(Rows<const float> x, Rows<const float> z, std::int64_t width,
                    std::int64_t begin, std::int64_t end, double* sums, double* products) {
  for (std::int64_t i = begin; i < end; ++i) {
    const float *of_x = x.row(i), *of_z = z.row(i);
#pragma GCC ivdep
    for (std::int64_t c = 0; c < width; ++c) {
      sums[c] += static_cast<double>(of_x[c]);
      products[c] += static_cast<double>(of_x[c]) * static_cast<double>(of_z[c]);
    }
  }
}

void normalise_columns(const NormaliseColumnsArgs& args, std::int64_t begin, std::int64_t end) {
  const float *mean = args.mean, *rstd = args.rstd, *gain = args.gain, *shift = args.shift;
  for (std::int64_t i = begin; i < end; ++i) {
    const float* x = args.x.row(i);
    float* y = args.y.row(i);
    if (args.normalised.first != nullptr) {
      float* normalised = args.normalised.row(i);
#pragma GCC ivdep
      for (std::int64_t c = 0; c < args.width; ++c) {
        const float value = (x[c] - mean[c]) * rstd[c];
        normalised[c] = value;
        y[c] = value * gain[c] + shift[c];
      }
    } else {
#pragma GCC ivdep
      for (std::int64_t c = 0; c < args.width; ++c)
        y[c] = (x[c] - mean[c]) * rstd[c] * gain[c] + shift[c];
    }
  }
}

void batch_norm_backward(const BatchNormBackwardArgs& args, std::int64_t begin, std::int64_t end) {
  const float *scale = args.scale, *offset = args.offset, *slope = args.slope;
  for (std::int64_t i = begin; i < end; ++i) {
    const float *dy = args.dy.row(i), *normalised = args.normalised.row(i);
    float* dx = args.dx.row(i);
#pragma GCC ivdep
    for (std::int64_t c = 0; c < args.width; ++c)
      dx[c] = scale[c] * dy[c] - offset[c] - slope[c] * normalised[c];
  }
}

}  // namespace orrery::cpu::ORRERY_ISA
