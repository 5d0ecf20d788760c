// Cross-entropy of one row with its gradient.
#include "backends/cpu/isa/isa_kernels.hpp"
#include "backends/cpu/isa/vector.hpp"

namespace orrery::cpu::ORRERY_ISA {
namespace {

/// exp(x) for x <= 0 to 2 ulp, 0 below −87; no branch and no call, so that loops over it vectorise.
///
/// Rule      x = n·ln 2 + r with |r| <= ln 2 / 2; exp(r) by its Taylor series to r^7 / 7!, times
///           2^n
inline float exp_of_negative(float x) {
  const float bounded = x < -87.0F ? -87.0F : x;
  const float rounder = 12582912.0F;  // 1.5·2^23: adding it rounds to an integer
  const float n = (bounded * 1.44269504F + rounder) - rounder;
  const float r = (bounded - n * 0.693359375F) + n * 2.12194440e-4F;
  float p = 1.0F / 5040;
  p = p * r + 1.0F / 720;
  p = p * r + 1.0F / 120;
  p = p * r + 1.0F / 24;
  p = p * r + 1.0F / 6;
  p = p * r + 0.5F;
  p = p * r + 1.0F;
  p = p * r + 1.0F;
  const std::uint32_t exponent = (static_cast<std::uint32_t>(static_cast<std::int32_t>(n)) + 127U)
                                 << 23U;
  float power;
  std::memcpy(&power, &exponent, sizeof power);
  return x < -87.0F ? 0.0F : p * power;
}

}  // namespace

double softmax_loss(const float* logits, std::int64_t classes, std::int32_t label, float scale,
                    float* grad) {
  const float target = logits[label];
  float largest = logits[0];
  for (std::int64_t c = 1; c < classes; ++c) largest = logits[c] > largest ? logits[c] : largest;
#pragma GCC ivdep
  for (std::int64_t c = 0; c < classes; ++c) grad[c] = exp_of_negative(logits[c] - largest);
  double sum = 0;
  for (std::int64_t c = 0; c < classes; ++c) sum += static_cast<double>(grad[c]);
  const auto share = static_cast<float>(static_cast<double>(scale) / sum);
#pragma GCC ivdep
  for (std::int64_t c = 0; c < classes; ++c) grad[c] *= share;
  grad[label] -= scale;
  return __builtin_log(sum) + static_cast<double>(largest) - static_cast<double>(target);
}

double sigmoid_loss(const float* logits, const std::int32_t* labels, std::int64_t classes,
                    float scale, float* grad) {
  const float share = scale / static_cast<float>(classes);
  // log(1 + e^−|z|) summed over classes is one logarithm of a product, whose factors are at most 2.
  constexpr std::int64_t kFactors = 512;
  double loss = 0;
  for (std::int64_t first = 0; first < classes; first += kFactors) {
    const std::int64_t last = smaller(classes, first + kFactors);
    double product = 1;
    for (std::int64_t c = first; c < last; ++c) {
      const float z = logits[c], label = static_cast<float>(labels[c]);
      const float tail = exp_of_negative(z < 0 ? z : -z);
      loss += static_cast<double>((z > 0 ? z : 0) - z * label);
      product *= 1 + static_cast<double>(tail);
      grad[c] = share * ((z < 0 ? tail : 1.0F) / (1 + tail) - label);
    }
    loss += __builtin_log(product);
  }
  return loss / static_cast<double>(classes);
}

}  // namespace orrery::cpu::ORRERY_ISA
