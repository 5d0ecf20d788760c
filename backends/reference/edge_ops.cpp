// Ops on the entries of a sparse pattern.
#include <algorithm>
#include <cmath>
#include <vector>

#include "backends/reference/reference_apply.hpp"
#include "core/base/index.hpp"

namespace orrery::reference {
namespace {

/// left + right of the two ends of entry e, and its own number if there is one.
double sum_of_ends(const EndScores& ends, const RankMemory& memory, std::int64_t row, EdgeIndex e,
                   std::int64_t column, std::int64_t head) {
  const Floats left(memory, ends.left), right(memory, ends.right);
  const double sum = static_cast<double>(left(row, head)) + right(column, head);
  return ends.own ? sum + Floats(memory, *ends.own)(e, head) : sum;
}

}  // namespace

void apply(const Sddmm& op, const RankMemory& memory) {
  const Csr& a = memory.pattern(op.a);
  const Floats x(memory, op.x), z(memory, op.z), dots(memory, op.dots);
  const std::int64_t width_of_head = op.x.cols() / op.heads();
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (EdgeIndex e = a.offsets[at(i)]; e < a.offsets[at(i) + 1]; ++e)
      for (std::int64_t k = 0; k < op.heads(); ++k) {
        double sum = 0;
        for (std::int64_t c = k * width_of_head; c < (k + 1) * width_of_head; ++c)
          sum += static_cast<double>(x(i, c)) * z(a.columns[at(e)], c);
        dots(e, k) = static_cast<float>(sum);
      }
}

void apply(const EdgeSoftmax& op, const RankMemory& memory) {
  const Csr& a = memory.pattern(op.a);
  const Floats weights(memory, op.weights);
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t k = 0; k < op.weights.cols(); ++k) {
      const EdgeIndex first = a.offsets[at(i)], last = a.offsets[at(i) + 1];
      std::vector<double> scores;
      for (EdgeIndex e = first; e < last; ++e) {
        double score = static_cast<double>(op.scale) * weights(e, k);
        if (op.ends) {
          const double sum = sum_of_ends(*op.ends, memory, i, e, a.columns[at(e)], k);
          score = sum > 0 ? sum : static_cast<double>(op.ends->slope) * sum;
        }
        scores.push_back(score);
      }
      if (scores.empty()) continue;
      const double largest = *std::max_element(scores.begin(), scores.end());
      double sum = 0;
      for (double& score : scores) sum += score = std::exp(score - largest);
      for (EdgeIndex e = first; e < last; ++e)
        weights(e, k) = static_cast<float>(scores[at(e - first)] / sum);
    }
}

void apply(const EdgeSoftmaxBackward& op, const RankMemory& memory) {
  const Csr& a = memory.pattern(op.a);
  const Floats weights(memory, op.weights), gradient(memory, op.gradient);
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t k = 0; k < op.weights.cols(); ++k) {
      const EdgeIndex first = a.offsets[at(i)], last = a.offsets[at(i) + 1];
      double mean = 0, sum = 0;
      for (EdgeIndex e = first; e < last; ++e)
        mean += static_cast<double>(weights(e, k)) * gradient(e, k);
      for (EdgeIndex e = first; e < last; ++e) {
        double slope = static_cast<double>(op.scale);
        if (op.ends && sum_of_ends(*op.ends, memory, i, e, a.columns[at(e)], k) <= 0)
          slope = static_cast<double>(op.ends->slope);
        const double at_score = slope * weights(e, k) * (gradient(e, k) - mean);
        gradient(e, k) = static_cast<float>(at_score);
        sum += at_score;
      }
      if (op.dleft) Floats(memory, *op.dleft)(i, k) = static_cast<float>(sum);
    }
}

}  // namespace orrery::reference
