// The local ops of the reference backend, one overload each: read `core/ops/ops.hpp` beside them.
#pragma once

#include "core/ops/ops.hpp"
#include "core/runtime/execute/memory.hpp"

namespace orrery::reference {

/// Elements of a window on the host: w(i, j).
template <class T>
class Window {
 public:
  Window(const RankMemory& memory, const Tensor& t) : first_(memory.data<T>(t)), ld_(t.ld) {}
  T& operator()(std::int64_t i, std::int64_t j) const { return first_[i * ld_ + j]; }

 private:
  T* first_;
  std::int64_t ld_;
};

using Floats = Window<float>;
using Integers = Window<std::int32_t>;

void apply(const Load& op, const RankMemory& memory);
void apply(const Fill& op, const RankMemory& memory);
void apply(const Save& op, const RankMemory& memory);
void apply(const Copy& op, const RankMemory& memory);
void apply(const SpMM& op, const RankMemory& memory);
void apply(const Sddmm& op, const RankMemory& memory);
void apply(const EdgeSoftmax& op, const RankMemory& memory);
void apply(const EdgeSoftmaxBackward& op, const RankMemory& memory);
void apply(const Gemm& op, const RankMemory& memory);
void apply(const GatherRows& op, const RankMemory& memory);
void apply(const ScatterAddRows& op, const RankMemory& memory);
void apply(const Relabel& op, const RankMemory& memory);
void apply(const TransposeSparse& op, const RankMemory& memory);
void apply(const EntriesByColumn& op, const RankMemory& memory);
void apply(const Activate& op, const RankMemory& memory);
void apply(const ActivateBackward& op, const RankMemory& memory);
void apply(const ColumnSum& op, const RankMemory& memory);
void apply(const LayerNorm& op, const RankMemory& memory);
void apply(const LayerNormBackward& op, const RankMemory& memory);
void apply(const ColumnMoments& op, const RankMemory& memory);
void apply(const BatchNorm& op, const RankMemory& memory);
void apply(const BatchNormBackward& op, const RankMemory& memory);
void apply(const Loss& op, const RankMemory& memory);
void apply(const Score& op, const RankMemory& memory);
void apply(const Sgd& op, const RankMemory& memory);
void apply(const Adam& op, const RankMemory& memory);

}  // namespace orrery::reference
