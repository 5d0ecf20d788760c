// Loss and score of the target rows.
#include <numeric>
#include <vector>

#include "backends/cpu/cpu_apply.hpp"
#include "core/base/error.hpp"
#include "core/base/index.hpp"

namespace orrery::cpu {
namespace {

struct Counts {
  std::int64_t true_positives = 0, false_positives = 0, false_negatives = 0;
  void add(bool predicted, bool positive) {
    true_positives += predicted && positive;
    false_positives += predicted && !positive;
    false_negatives += !predicted && positive;
  }
};

void count_single(const float* logits, std::int64_t classes, std::int32_t label, Counts& counts) {
  const bool right = std::max_element(logits, logits + classes) - logits == label;
  counts.add(true, right);
  if (!right) counts.add(false, true);
}

void count_multiple(const float* logits, std::int64_t classes, const std::int32_t* labels,
                    Counts& counts) {
  for (std::int64_t c = 0; c < classes; ++c) counts.add(logits[c] > 0, labels[c] != 0);
}

}  // namespace

void apply(const Loss& op, const RankMemory& memory, const RangeKernels& kernels) {
  const std::int64_t rows = op.logits.rows(), classes = op.logits.cols();
  const auto logits = inputs_of(memory, op.logits);
  const auto grad = rows_of(memory, op.grad);
  const Rows<const std::int32_t> labels{memory.data<std::int32_t>(op.labels), op.labels.ld};
  const auto* targets = memory.data<std::int32_t>(op.targets);
  const auto* targets_end = targets + op.targets.rows();
  const auto* weights = op.target_weights ? memory.data<float>(*op.target_weights) : nullptr;
  const auto row_loss = [&](std::int64_t i, float scale) {
    if (op.loss_kind == LossKind::sigmoid)
      return kernels.sigmoid_loss(logits.row(i), labels.row(i), classes, scale, grad.row(i));
    const std::int32_t label = *labels.row(i);
    ORRERY_ASSERT(label >= 0 && label < classes);
    return kernels.softmax_loss(logits.row(i), classes, label, scale, grad.row(i));
  };

  const std::int64_t block = rows_per_range(classes);
  std::vector<double> losses(static_cast<std::size_t>((rows + block - 1) / block));
  parallel_for(rows, block, [&](std::int64_t begin, std::int64_t end) {
    const auto* next = std::lower_bound(targets, targets_end, begin);
    double sum = 0;
    for (std::int64_t i = begin; i < end; ++i)
      if (next != targets_end && *next == i) {
        const double times = weights != nullptr ? double{weights[next - targets]} : 1;
        sum += times * row_loss(i, static_cast<float>(times * op.scale));
        ++next;
      } else {
        std::fill_n(grad.row(i), classes, 0.0F);
      }
    losses[at(begin / block)] = sum;
  });
  double& sum = *memory.data<double>(op.loss);
  sum = op.weight * op.scale * std::accumulate(losses.begin(), losses.end(), 0.0) +
        (op.accumulate ? sum : 0);
}

void apply(const Score& op, const RankMemory& memory, const RangeKernels&) {
  const std::int64_t targets = op.targets.rows(), classes = op.logits.cols();
  const auto logits = inputs_of(memory, op.logits);
  const Rows<const std::int32_t> labels{memory.data<std::int32_t>(op.labels), op.labels.ld};
  const auto* target = memory.data<std::int32_t>(op.targets);
  const std::int64_t block = rows_per_range(classes);
  std::vector<Counts> parts(static_cast<std::size_t>((targets + block - 1) / block));
  parallel_for(targets, block, [&](std::int64_t begin, std::int64_t end) {
    Counts counts;
    for (std::int64_t t = begin; t < end; ++t) {
      const std::int64_t i = target[t];
      if (op.loss_kind == LossKind::softmax)
        count_single(logits.row(i), classes, *labels.row(i), counts);
      else
        count_multiple(logits.row(i), classes, labels.row(i), counts);
    }
    parts[at(begin / block)] = counts;
  });
  double* out = memory.data<double>(op.counts);
  if (!op.accumulate) std::fill_n(out, 3, 0.0);
  for (const Counts& part : parts) {
    out[0] += static_cast<double>(part.true_positives);
    out[1] += static_cast<double>(part.false_positives);
    out[2] += static_cast<double>(part.false_negatives);
  }
}

}  // namespace orrery::cpu
