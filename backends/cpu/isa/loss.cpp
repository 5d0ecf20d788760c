// Cross-entropy of one row with its gradient.
#include "backends/cpu/isa/exponential.hpp"
#include "backends/cpu/isa/isa_kernels.hpp"
#include "backends/cpu/isa/vector.hpp"

namespace orrery::cpu::ORRERY_ISA {
double softmax_loss(const float* logits, std::int64_t classes, std::int32_t label, float scale,
                    float* grad) {
  const float target = logits[label];
  float largest = logits[0];
  for (std::int64_t c = 1; c < classes; ++c) largest = logits[c] > largest ? logits[c] : largest;
#pragma GCC ivdep
  for (std::int64_t c = 0; c < classes; ++c) grad[c] = exp_of_negative<1>(logits[c] - largest);
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
      const float tail = exp_of_negative<1>(z < 0 ? z : -z);
      loss += static_cast<double>((z > 0 ? z : 0) - z * label);
      product *= 1 + static_cast<double>(tail);
      grad[c] = share * ((z < 0 ? tail : 1.0F) / (1 + tail) - label);
    }
    loss += __builtin_log(product);
  }
  return loss / static_cast<double>(classes);
}

}  // namespace orrery::cpu::ORRERY_ISA
