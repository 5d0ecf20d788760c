// Bias, activation, dropout and the optimisers' updates. `ivdep`: windows are equal or disjoint, so
// an element never depends on another one.
#include "backends/cpu/isa/isa_kernels.hpp"
#include "backends/cpu/isa/philox.hpp"
#include "backends/cpu/isa/vector.hpp"

namespace orrery::cpu::ORRERY_ISA {
namespace {

/// relu keeps NaN, so that a broken input stays visible.
inline float rectified(float v) { return v < 0 ? 0 : v; }

/// Eight columns share one draw.
constexpr std::int64_t kBlock = 8;
typedef float Block __attribute__((vector_size(kBlock * sizeof(float))));
typedef std::uint32_t BlockWords __attribute__((vector_size(kBlock * sizeof(std::uint32_t))));
typedef std::uint16_t BlockBits __attribute__((vector_size(kBlock * sizeof(std::uint16_t))));

inline Block load_block(const float* from, std::int64_t columns) {
  Block v = {};
  if (columns == kBlock)
    std::memcpy(&v, from, sizeof v);
  else
    for (std::int64_t c = 0; c < columns; ++c) v[c] = from[c];
  return v;
}

inline void store_block(float* to, Block v, std::int64_t columns) {
  if (columns == kBlock)
    std::memcpy(to, &v, sizeof v);
  else
    for (std::int64_t c = 0; c < columns; ++c) to[c] = v[c];
}

inline bool all_zero(Block v) {
  std::uint64_t pairs[kBlock / 2];
  std::memcpy(pairs, &v, sizeof pairs);
  return (pairs[0] | pairs[1] | pairs[2] | pairs[3]) == 0;
}

/// Blocks that wait for their random bits, which are drawn for 16 of them at once. Blocks of zeros
/// need no draw and never get here (sparse features are zero almost everywhere).
class DropoutQueue {
 public:
  explicit DropoutQueue(const DropoutArgs& args) : args_(args) {}

  void push(Block values, std::uint32_t row_id, std::uint32_t block, float* to,
            std::int64_t columns) {
    values_[waiting_] = values;
    counters_.row[waiting_] = row_id;
    counters_.block[waiting_] = block;
    to_[waiting_] = to;
    columns_[waiting_] = columns;
    if (++waiting_ == kDraws) flush();
  }

  void flush() {
    alignas(64) std::uint16_t draws[kDraws][kBlock];
    philox(counters_, args_.draw, args_.purpose, args_.key_low, args_.key_high, draws);
    for (int b = 0; b < waiting_; ++b) {
      BlockBits bits;
      std::memcpy(&bits, draws[b], sizeof bits);
      const auto dropped = __builtin_convertvector(bits, BlockWords) < args_.threshold;
      store_block(to_[b], dropped ? Block{} : values_[b] * args_.scale, columns_[b]);
    }
    waiting_ = 0;
  }

 private:
  const DropoutArgs& args_;
  int waiting_ = 0;
  PhiloxCounters counters_{};
  Block values_[kDraws];
  float* to_[kDraws];
  std::int64_t columns_[kDraws];
};

}  // namespace

void activate(const ActivateArgs& args, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    const float* x = args.x.row(i);
    float* y = args.y.row(i);
    if (args.bias != nullptr) {
#pragma GCC ivdep
      for (std::int64_t c = 0; c < args.width; ++c) {
        const float v = x[c] + args.bias[c];
        y[c] = args.relu ? rectified(v) : v;
      }
    } else {
#pragma GCC ivdep
      for (std::int64_t c = 0; c < args.width; ++c) y[c] = args.relu ? rectified(x[c]) : x[c];
    }
  }
}

void activate_dropout(const ActivateArgs& args, const DropoutArgs& dropout, std::int64_t begin,
                      std::int64_t end) {
  DropoutQueue queue(dropout);
  for (std::int64_t i = begin; i < end; ++i) {
    const auto row_id = static_cast<std::uint32_t>(dropout.row_ids[i]);
    for (std::int64_t first = 0; first < args.width; first += kBlock) {
      const std::int64_t columns = smaller(kBlock, args.width - first);
      float* y = args.y.row(i) + first;
      Block v = load_block(args.x.row(i) + first, columns);
      if (args.bias != nullptr) v += load_block(args.bias + first, columns);
      if (args.relu) v = v < 0 ? Block{} : v;
      if (all_zero(v))
        store_block(y, v, columns);
      else
        queue.push(v, row_id, dropout.first_block + static_cast<std::uint32_t>(first / kBlock), y,
                   columns);
    }
  }
  queue.flush();
}

void relu_backward(const ReluBackwardArgs& args, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    const float *dy = args.dy.row(i), *y = args.y.row(i);
    float* dx = args.dx.row(i);
#pragma GCC ivdep
    for (std::int64_t c = 0; c < args.width; ++c) {
      const float gradient = args.scale * dy[c];  // read before the choice: a choice, not a branch
      dx[c] = y[c] > 0 ? gradient : 0.0F;
    }
  }
}

void sgd(float* w, const float* g, std::int64_t count, float rate, float decay) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) w[i] -= rate * (g[i] + decay * w[i]);
}

void adam(float* w, const float* g, float* m, float* v, std::int64_t count, const AdamArgs& args) {
  const AdamArgs a = args;
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) {
    const float gradient = g[i] + a.decay * w[i];
    m[i] = a.beta1 * m[i] + (1 - a.beta1) * gradient;
    v[i] = a.beta2 * v[i] + (1 - a.beta2) * gradient * gradient;
    w[i] -= a.rate * (m[i] * a.correction1) / (__builtin_sqrtf(v[i] * a.correction2) + a.epsilon);
  }
}

}  // namespace orrery::cpu::ORRERY_ISA
