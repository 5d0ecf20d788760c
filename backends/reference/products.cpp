// Sparse-dense and dense products.
#include "backends/reference/reference_apply.hpp"
#include "core/base/index.hpp"

namespace orrery::reference {
namespace {

/// sum + beta·y, where beta = 0 means that y is not read.
float updated(double sum, float beta, float y) {
  return static_cast<float>(beta == 0 ? sum : sum + static_cast<double>(beta) * y);
}

}  // namespace

void apply(const SpMM& op, const RankMemory& memory) {
  const Csr& a = memory.pattern(op.a);
  const float* values = op.values ? memory.data<float>(*op.values) : nullptr;
  const Floats x(memory, op.x), y(memory, op.y);
  const std::int64_t heads = op.heads(), width_of_head = op.y.cols() / heads;
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t j = 0; j < op.y.cols(); ++j) {
      double sum = 0;
      for (EdgeIndex e = a.offsets[at(i)]; e < a.offsets[at(i) + 1]; ++e) {
        const double value = values ? values[e * heads + j / width_of_head] : 1;
        sum += value * x(a.columns[at(e)], j);
      }
      y(i, j) = updated(sum, op.beta, y(i, j));
    }
}

void apply(const Gemm& op, const RankMemory& memory) {
  const Floats a(memory, op.a), b(memory, op.b), c(memory, op.c);
  const std::int64_t inner = op.transpose_a ? op.a.rows() : op.a.cols();
  for (std::int64_t i = 0; i < op.c.rows(); ++i)
    for (std::int64_t j = 0; j < op.c.cols(); ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < inner; ++k)
        sum += static_cast<double>(op.transpose_a ? a(k, i) : a(i, k)) *
               (op.transpose_b ? b(j, k) : b(k, j));
      c(i, j) = updated(sum, op.beta, c(i, j));
    }
}

}  // namespace orrery::reference
