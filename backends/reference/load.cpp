// Data into tensors: load, fill, copy.
#include <cstring>

#include "backends/reference/reference_apply.hpp"
#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/rng.hpp"

namespace orrery::reference {
namespace {

void load(const FeatureRows& from, const Tensor& to, const RankMemory& memory) {
  if (to.dtype == DType::f16)
    return from.features->read_half(*from.vertices, from.col0, to.cols(), memory.data<Half>(to),
                                    to.ld);
  from.features->read(*from.vertices, from.col0, to.cols(), memory.data<float>(to), to.ld);
}

void load(const LabelRows& from, const Tensor& to, const RankMemory& memory) {
  const std::int64_t columns = from.labels->columns();
  auto* out = memory.data<std::int32_t>(to);
  for (const Vertex v : *from.vertices)
    for (std::int64_t c = 0; c < columns; ++c) *out++ = from.labels->values[at(v * columns + c)];
}

void load(const IndexArray& from, const Tensor& to, const RankMemory& memory) {
  auto* out = memory.data<std::int32_t>(to);
  for (const Vertex v : *from.values) *out++ = v;
}

void load(const FloatArray& from, const Tensor& to, const RankMemory& memory) {
  auto* out = memory.data<float>(to);
  for (const float v : *from.values) *out++ = v;
}

/// Element e reads word e mod 4 of random_bits(seed, Purpose::weights, ⌊e/4⌋ low, parameter, ⌊e/4⌋
/// high).
void load(const UniformWeights& from, const Tensor& to, const RankMemory& memory) {
  auto* out = memory.data<float>(to);
  for (std::int64_t e = 0; e < to.shape.size(); ++e) {
    const auto draw = static_cast<std::uint64_t>(e / 4);
    const auto bits = random_bits(from.seed, Purpose::weights, static_cast<std::uint32_t>(draw),
                                  from.parameter, static_cast<std::uint32_t>(draw >> 32U));
    out[e] = (2 * uniform_float(bits[at(e % 4)]) - 1) * from.limit;
  }
}

[[noreturn]] void load(const Unknown& from, const Tensor&, const RankMemory&) { refuse(from); }

template <class T>
void fill(const Fill& op, const RankMemory& memory) {
  const Window<T> y(memory, op.y);
  for (std::int64_t i = 0; i < op.y.rows(); ++i)
    for (std::int64_t j = 0; j < op.y.cols(); ++j) y(i, j) = static_cast<T>(op.value);
}

}  // namespace

void apply(const Load& op, const RankMemory& memory) {
  std::visit([&](const auto& from) { load(from, op.to, memory); }, op.from);
}

void apply(const Fill& op, const RankMemory& memory) {
  switch (op.y.dtype) {
    case DType::f32:
      return fill<float>(op, memory);
    case DType::f64:
      return fill<double>(op, memory);
    case DType::i32:
      return fill<std::int32_t>(op, memory);
    case DType::f16:
      ORRERY_ASSERT(false && "nothing is computed with f16");
  }
}

void apply(const Save& op, const RankMemory& memory) {
  const float* x = memory.data<float>(op.x);
  op.to->assign(x, x + op.x.shape.size());
}

void apply(const Copy& op, const RankMemory& memory) {
  if (op.scale != 1 || op.accumulate) {
    const float* x = memory.data<float>(op.x);
    float* y = memory.data<float>(op.y);
    for (std::int64_t i = 0; i < op.x.rows(); ++i)
      for (std::int64_t j = 0; j < op.x.cols(); ++j) {
        float& to = y[i * op.y.ld + j];
        to = op.scale * x[i * op.x.ld + j] + (op.accumulate ? to : 0);
      }
    return;
  }
  for (std::int64_t i = 0; i < op.x.rows(); ++i)
    std::memcpy(memory.bytes_at(op.y.rows_at(i, 1)), memory.bytes_at(op.x.rows_at(i, 1)),
                static_cast<std::size_t>(op.x.cols() * bytes_of(op.x.dtype)));
}

}  // namespace orrery::reference
