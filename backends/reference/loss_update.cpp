// Loss, score and the optimisers.
#include <algorithm>
#include <cmath>

#include "backends/reference/reference_apply.hpp"
#include "core/base/error.hpp"

namespace orrery::reference {
namespace {

/// −log softmax(logits)[label] of row i; its gradient, times `scale`, replaces the row of `grad`.
double softmax_loss(const Loss& op, const Floats& logits, const Integers& labels,
                    const Floats& grad, std::int64_t i, double scale) {
  const std::int64_t classes = op.logits.cols();
  const std::int32_t label = labels(i, 0);
  ORRERY_ASSERT(label >= 0 && label < classes);
  double largest = logits(i, 0), sum = 0;
  for (std::int64_t c = 1; c < classes; ++c)
    largest = std::max(largest, static_cast<double>(logits(i, c)));
  for (std::int64_t c = 0; c < classes; ++c) sum += std::exp(logits(i, c) - largest);
  const double loss = std::log(sum) + largest - logits(i, label);
  for (std::int64_t c = 0; c < classes; ++c) {
    const double probability = std::exp(logits(i, c) - largest) / sum;
    grad(i, c) = static_cast<float>(scale * (probability - (c == label ? 1 : 0)));
  }
  return loss;
}

/// Mean over the classes of the binary cross-entropies of row i; its gradient likewise.
double sigmoid_loss(const Loss& op, const Floats& logits, const Integers& labels,
                    const Floats& grad, std::int64_t i, double scale) {
  const std::int64_t classes = op.logits.cols();
  double loss = 0;
  for (std::int64_t c = 0; c < classes; ++c) {
    const double z = logits(i, c), label = labels(i, c);
    loss += (std::max(z, 0.0) - z * label + std::log1p(std::exp(-std::abs(z)))) /
            static_cast<double>(classes);
    const double probability = 1 / (1 + std::exp(-z));
    grad(i, c) = static_cast<float>(scale * (probability - label) / static_cast<double>(classes));
  }
  return loss;
}

}  // namespace

void apply(const Loss& op, const RankMemory& memory) {
  const Floats logits(memory, op.logits), grad(memory, op.grad);
  const Integers labels(memory, op.labels), targets(memory, op.targets);
  const auto* weights = op.target_weights ? memory.data<float>(*op.target_weights) : nullptr;
  double loss = 0;
  std::int64_t next = 0;  // of the targets, which ascend
  for (std::int64_t i = 0; i < op.logits.rows(); ++i)
    if (next < op.targets.rows() && targets(next, 0) == i) {
      const double times = weights != nullptr ? double{weights[next]} : 1;
      const auto of_row = op.loss_kind == LossKind::softmax ? softmax_loss : sigmoid_loss;
      loss += times * of_row(op, logits, labels, grad, i, times * op.scale);
      ++next;
    } else {
      for (std::int64_t c = 0; c < op.grad.cols(); ++c) grad(i, c) = 0;
    }
  double& sum = *memory.data<double>(op.loss);
  sum = op.weight * op.scale * loss + (op.accumulate ? sum : 0);
}

void apply(const Score& op, const RankMemory& memory) {
  const Floats logits(memory, op.logits);
  const Integers labels(memory, op.labels), targets(memory, op.targets);
  std::int64_t true_positives = 0, false_positives = 0, false_negatives = 0;
  for (std::int64_t t = 0; t < op.targets.rows(); ++t) {
    const std::int64_t i = targets(t, 0);
    if (op.loss_kind == LossKind::softmax) {
      std::int64_t predicted = 0;
      for (std::int64_t c = 1; c < op.logits.cols(); ++c)
        if (logits(i, c) > logits(i, predicted)) predicted = c;
      const bool right = predicted == labels(i, 0);
      true_positives += right;
      false_positives += !right;
      false_negatives += !right;
    } else {
      for (std::int64_t c = 0; c < op.logits.cols(); ++c) {
        const bool predicted = logits(i, c) > 0, positive = labels(i, c) != 0;
        true_positives += predicted && positive;
        false_positives += predicted && !positive;
        false_negatives += !predicted && positive;
      }
    }
  }
  auto* counts = memory.data<double>(op.counts);
  const auto count = [&](int i, std::int64_t now) {
    counts[i] = static_cast<double>(now) + (op.accumulate ? counts[i] : 0);
  };
  count(0, true_positives);
  count(1, false_positives);
  count(2, false_negatives);
}

void apply(const Sgd& op, const RankMemory& memory) {
  const Floats w(memory, op.w), g(memory, op.g);
  const double rate = op.rate, decay = op.decay;
  for (std::int64_t i = 0; i < op.w.rows(); ++i)
    for (std::int64_t j = 0; j < op.w.cols(); ++j)
      w(i, j) = static_cast<float>(w(i, j) - rate * (g(i, j) + decay * w(i, j)));
}

void apply(const Adam& op, const RankMemory& memory) {
  const Floats w(memory, op.w), g(memory, op.g), m(memory, op.m), v(memory, op.v);
  const double rate = op.rate, decay = op.decay, beta1 = op.beta1, beta2 = op.beta2;
  const double correction1 = 1 - std::pow(beta1, op.step),
               correction2 = 1 - std::pow(beta2, op.step);
  for (std::int64_t i = 0; i < op.w.rows(); ++i)
    for (std::int64_t j = 0; j < op.w.cols(); ++j) {
      const double gradient = g(i, j) + decay * w(i, j);
      const double first = beta1 * m(i, j) + (1 - beta1) * gradient;
      const double second = beta2 * v(i, j) + (1 - beta2) * gradient * gradient;
      m(i, j) = static_cast<float>(first);
      v(i, j) = static_cast<float>(second);
      w(i, j) = static_cast<float>(
          w(i, j) - rate * (first / correction1) /
                        (std::sqrt(second / correction2) + static_cast<double>(op.epsilon)));
    }
}

}  // namespace orrery::reference
