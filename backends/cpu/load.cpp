// Data into tensors: load, fill, copy.
#include <cstring>

#include "backends/cpu/cpu_apply.hpp"
#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/rng.hpp"

namespace orrery::cpu {
namespace {

template <class T>
void copy_all(const std::vector<T>& values, T* to) {
  parallel_for(static_cast<std::int64_t>(values.size()), kRange,
               [&](std::int64_t begin, std::int64_t end) {
                 std::copy(values.data() + begin, values.data() + end, to + begin);
               });
}

void load(const FeatureRows& from, const Tensor& to, const RankMemory& memory) {
  if (to.dtype == DType::f16)
    return from.features->read_half(*from.vertices, from.col0, to.cols(), memory.data<Half>(to),
                                    to.ld);
  from.features->read(*from.vertices, from.col0, to.cols(), memory.data<float>(to), to.ld);
}

void load(const LabelRows& from, const Tensor& to, const RankMemory& memory) {
  const std::int64_t columns = from.labels->columns();
  const auto* labels = from.labels->values.data();
  auto* out = memory.data<std::int32_t>(to);
  parallel_for(to.rows(), rows_per_range(columns), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t vertex = (*from.vertices)[at(i)];
      std::copy_n(labels + vertex * columns, columns, out + i * columns);
    }
  });
}

void load(const IndexArray& from, const Tensor& to, const RankMemory& memory) {
  copy_all(*from.values, memory.data<Vertex>(to));
}

void load(const FloatArray& from, const Tensor& to, const RankMemory& memory) {
  copy_all(*from.values, memory.data<float>(to));
}

/// Element e reads word e mod 4 of random_bits(seed, Purpose::weights, ⌊e/4⌋ low, parameter, ⌊e/4⌋
/// high).
void load(const UniformWeights& from, const Tensor& to, const RankMemory& memory) {
  auto* out = memory.data<float>(to);
  const std::int64_t size = to.shape.size();
  static_assert(kRange % 4 == 0);
  parallel_for(size, kRange, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t first = begin; first < end; first += 4) {
      const auto draw = static_cast<std::uint64_t>(first / 4);
      const auto bits = random_bits(from.seed, Purpose::weights, static_cast<std::uint32_t>(draw),
                                    from.parameter, static_cast<std::uint32_t>(draw >> 32U));
      for (std::int64_t e = first; e < std::min(end, first + 4); ++e)
        out[e] = (2 * uniform_float(bits[at(e - first)]) - 1) * from.limit;
    }
  });
}

[[noreturn]] void load(const Unknown& from, const Tensor&, const RankMemory&) { refuse(from); }

template <class T>
void fill(const Fill& op, const RankMemory& memory) {
  T* y = memory.data<T>(op.y);
  for_each_run({op.y}, [&](std::int64_t i, std::int64_t j, std::int64_t count) {
    std::fill_n(y + i * op.y.ld + j, count, static_cast<T>(op.value));
  });
}

}  // namespace

void apply(const Load& op, const RankMemory& memory, const RangeKernels&) {
  std::visit([&](const auto& from) { load(from, op.to, memory); }, op.from);
}

void apply(const Fill& op, const RankMemory& memory, const RangeKernels&) {
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

void apply(const Save& op, const RankMemory& memory, const RangeKernels&) {
  const float* x = memory.data<float>(op.x);
  op.to->assign(x, x + op.x.shape.size());
}

namespace {

/// y ← scale·x, or added to y.
void scale_or_add(const Copy& op, const RankMemory& memory) {
  const float* x = memory.data<float>(op.x);
  const float scale = op.scale;
  float* y = memory.data<float>(op.y);
  for_each_run({op.x, op.y}, [&](std::int64_t i, std::int64_t j, std::int64_t count) {
    const float* from = x + i * op.x.ld + j;
    float* to = y + i * op.y.ld + j;
    if (op.accumulate)
      for (std::int64_t k = 0; k < count; ++k) to[k] += scale * from[k];
    else  // the old content of y may be anything
      for (std::int64_t k = 0; k < count; ++k) to[k] = scale * from[k];
  });
}

}  // namespace

void apply(const Copy& op, const RankMemory& memory, const RangeKernels&) {
  if (op.scale != 1 || op.accumulate) return scale_or_add(op, memory);
  const std::int64_t bytes = bytes_of(op.x.dtype);
  const auto* x = static_cast<const char*>(memory.bytes_at(op.x));
  auto* y = static_cast<char*>(memory.bytes_at(op.y));
  for_each_run({op.x, op.y}, [&](std::int64_t i, std::int64_t j, std::int64_t count) {
    std::memcpy(y + (i * op.y.ld + j) * bytes, x + (i * op.x.ld + j) * bytes,
                static_cast<std::size_t>(count * bytes));
  });
}

}  // namespace orrery::cpu
