// Movement of rows by index.
#include "backends/cpu/isa/isa_kernels.hpp"
#include "backends/cpu/isa/vector.hpp"

namespace orrery::cpu::ORRERY_ISA {
namespace {

constexpr std::int64_t kAhead = 8;  // rows

inline void copy_row(const float* from, float* to, std::int64_t width) {
  std::int64_t c = 0;
  for (; c + kLanes <= width; c += kLanes) store<kLanes>(to + c, load<kLanes>(from + c));
  for (; c < width; ++c) to[c] = from[c];
}

inline void add_row(const float* from, float* to, std::int64_t width) {
  std::int64_t c = 0;
  for (; c + kLanes <= width; c += kLanes)
    store<kLanes>(to + c, load<kLanes>(to + c) + load<kLanes>(from + c));
  for (; c < width; ++c) to[c] += from[c];
}

inline float number(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// The same as to_float() of core/base/half.hpp, in this instruction set.
inline float widened(std::uint16_t half) {
  constexpr std::uint32_t kExponent = 0x7C00U << 13U, kRebias = (127U - 15U) << 23U;
  std::uint32_t bits = (half & 0x7FFFU) << 13U;
  const std::uint32_t exponent = bits & kExponent;
  bits += kRebias;
  if (exponent == kExponent) bits += kRebias;
  if (exponent == 0) {
    const float small = number(bits + (1U << 23U)) - number(kRebias + (1U << 23U));
    std::memcpy(&bits, &small, sizeof bits);
  }
  return number(bits | (half & 0x8000U) << 16U);
}

inline void widen_row(const std::uint16_t* from, float* to, std::int64_t width) {
  std::int64_t c = 0;
#if defined(__F16C__)
  for (; c + 8 <= width; c += 8) {
    __m128i halves;
    std::memcpy(&halves, from + c, sizeof halves);
    store<8>(to + c, _mm256_cvtph_ps(halves));
  }
#endif
  for (; c < width; ++c) to[c] = widened(from[c]);
}

}  // namespace

void gather_halves(const HalfRowsArgs& args, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    const std::uint16_t* ahead = args.x.row(args.index[smaller(i + kAhead, args.indices - 1)]);
    prefetch(reinterpret_cast<const float*>(ahead), args.width / 2);
    widen_row(args.x.row(args.index[i]), args.y.row(i), args.width);
  }
}

void gather(const IndexedArgs& args, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    prefetch(args.x.row(args.index[smaller(i + kAhead, args.indices - 1)]), args.width);
    copy_row(args.x.row(args.index[i]), args.y.row(i), args.width);
  }
}

void scatter_add(const IndexedArgs& args, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = 0; i < args.indices; ++i) {
    const std::int64_t target = args.index[i];
    if (target < begin || target >= end) continue;
    prefetch(args.y.row(args.index[smaller(i + kAhead, args.indices - 1)]), args.width);
    add_row(args.x.row(i), args.y.row(target), args.width);
  }
}

}  // namespace orrery::cpu::ORRERY_ISA
