// Bias, activation, dropout and the optimisers' updates. `ivdep`: windows are equal or disjoint, so
// elements are independent.
#include "backends/cpu/isa/exponential.hpp"
#include "backends/cpu/isa/isa_kernels.hpp"
#include "backends/cpu/isa/philox.hpp"
#include "backends/cpu/isa/vector.hpp"

namespace orrery::cpu::ORRERY_ISA {
namespace {

/// The curve of one number or of a vector of them. It keeps NaN, so that a broken input stays
/// visible. elu has an error of 3e-7 relative to 1: a small negative number loses digits, as eˣ − 1
/// does.
template <Curve curve, int lanes>
inline Vector<lanes> on_curve(Vector<lanes> v) {
  using Floats = Vector<lanes>;
  if constexpr (curve == Curve::relu) return v < 0 ? Floats{} : v;
  if constexpr (curve == Curve::elu) {
    const Floats negative = v > 0 ? Floats{} : v;
    return v > 0 ? v : exp_of_negative<lanes>(negative) - 1.0F;
  }
  return v;
}

/// Eight columns share one draw.
constexpr int kBlock = 8;
using Block = Vector<kBlock>;
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

inline Block dropped_by(const std::uint16_t (&draws)[kBlock], Block values,
                        const DropoutArgs& args) {
  BlockBits bits;
  std::memcpy(&bits, draws, sizeof bits);
  const auto dropped = __builtin_convertvector(bits, BlockWords) < args.threshold;
  return dropped ? Block{} : values * args.scale;
}

/// Columns of a row whose random bits are drawn at once, and the vectors that hold them.
constexpr std::int64_t kPiece = kDraws * kBlock;
constexpr int kVectors = kPiece / kLanes;
using Piece = Vector<kLanes>[kVectors];

/// Blocks of a piece that are zero.
inline int zero_blocks(const Piece& values) {
  int zeros = 0;
#if defined(__AVX512F__)
  for (int v = 0; v < kVectors; ++v) {
    const auto bits = (__m512i)values[v];
    const unsigned other = _mm512_test_epi32_mask(bits, bits);
    zeros += ((other & 0xFFU) == 0 ? 1 : 0) + (other >> 8U == 0 ? 1 : 0);
  }
#else
  Block blocks[kDraws];
  std::memcpy(blocks, values, sizeof blocks);
  for (const Block& block : blocks) zeros += all_zero(block) ? 1 : 0;
#endif
  return zeros;
}

/// y ← dropout(values) of a piece of one row, from block `first` on.
inline void drop_piece(const Piece& values, std::uint32_t row_id, std::uint32_t first, float* y,
                       const DropoutArgs& args) {
  typedef std::uint16_t Bits __attribute__((vector_size(kLanes * sizeof(std::uint16_t))));
  typedef std::uint32_t Wide __attribute__((vector_size(kLanes * sizeof(std::uint32_t))));
  PhiloxCounters counters;
  for (int b = 0; b < kDraws; ++b) {
    counters.row[b] = row_id;
    counters.block[b] = first + static_cast<std::uint32_t>(b);
  }
  alignas(64) std::uint16_t draws[kDraws][kBlock];
  philox(counters, args.draw, args.purpose, args.key_low, args.key_high, draws);
  for (int v = 0; v < kVectors; ++v) {
    Bits bits;
    std::memcpy(&bits, draws[0] + v * kLanes, sizeof bits);
    const auto dropped = __builtin_convertvector(bits, Wide) < args.threshold;
    store<kLanes>(y + v * kLanes, dropped ? Vector<kLanes>{} : values[v] * args.scale);
  }
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
    for (int b = 0; b < waiting_; ++b)
      store_block(to_[b], dropped_by(draws[b], values_[b], args_), columns_[b]);
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

template <Curve curve>
void activate_rows(const ActivateArgs& args, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    const float* x = args.x.row(i);
    float* y = args.y.row(i);
    if (args.bias != nullptr) {
#pragma GCC ivdep
      for (std::int64_t c = 0; c < args.width; ++c) y[c] = on_curve<curve, 1>(x[c] + args.bias[c]);
    } else {
#pragma GCC ivdep
      for (std::int64_t c = 0; c < args.width; ++c) y[c] = on_curve<curve, 1>(x[c]);
    }
  }
}

template <Curve curve, int lanes>
inline Vector<lanes> activated(const ActivateArgs& args, std::int64_t row, std::int64_t first) {
  Vector<lanes> v = load<lanes>(args.x.row(row) + first);
  if (args.bias != nullptr) v += load<lanes>(args.bias + first);
  return on_curve<curve, lanes>(v);
}

/// The same for the last columns of a row, fewer than a block.
template <Curve curve>
inline Block activated_rest(const ActivateArgs& args, std::int64_t row, std::int64_t first,
                            std::int64_t columns) {
  Block v = load_block(args.x.row(row) + first, columns);
  if (args.bias != nullptr) v += load_block(args.bias + first, columns);
  return on_curve<curve, kBlock>(v);
}

/// Pieces with few zeros draw for all of their blocks, the others only for those that are not zero:
/// a zero stays what it is in either way.
template <Curve curve>
void activate_and_drop(const ActivateArgs& args, const DropoutArgs& dropout, std::int64_t begin,
                       std::int64_t end) {
  DropoutQueue queue(dropout);
  for (std::int64_t i = begin; i < end; ++i) {
    const auto row_id = static_cast<std::uint32_t>(dropout.row_ids[i]);
    float* y = args.y.row(i);
    const auto number = [&](std::int64_t column) {
      return dropout.first_block + static_cast<std::uint32_t>(column / kBlock);
    };
    const auto drop_block = [&](Block values, std::int64_t first, std::int64_t columns) {
      if (all_zero(values))
        store_block(y + first, values, columns);
      else
        queue.push(values, row_id, number(first), y + first, columns);
    };
    std::int64_t first = 0;
    for (; first + kPiece <= args.width; first += kPiece) {
      Piece values;
      for (int v = 0; v < kVectors; ++v)
        values[v] = activated<curve, kLanes>(args, i, first + v * kLanes);
      if (2 * zero_blocks(values) <= kDraws) {
        drop_piece(values, row_id, number(first), y + first, dropout);
        continue;
      }
      Block blocks[kDraws];
      std::memcpy(blocks, values, sizeof blocks);
      for (int b = 0; b < kDraws; ++b) drop_block(blocks[b], first + b * kBlock, kBlock);
    }
    for (; first + kBlock <= args.width; first += kBlock)
      drop_block(activated<curve, kBlock>(args, i, first), first, kBlock);
    if (first < args.width) {
      const std::int64_t rest = args.width - first;
      drop_block(activated_rest<curve>(args, i, first, rest), first, rest);
    }
  }
  queue.flush();
}

}  // namespace

void activate(const ActivateArgs& args, std::int64_t begin, std::int64_t end) {
  switch (args.curve) {
    case Curve::none:
      return activate_rows<Curve::none>(args, begin, end);
    case Curve::relu:
      return activate_rows<Curve::relu>(args, begin, end);
    case Curve::elu:
      return activate_rows<Curve::elu>(args, begin, end);
  }
}

void activate_dropout(const ActivateArgs& args, const DropoutArgs& dropout, std::int64_t begin,
                      std::int64_t end) {
  switch (args.curve) {
    case Curve::none:
      return activate_and_drop<Curve::none>(args, dropout, begin, end);
    case Curve::relu:
      return activate_and_drop<Curve::relu>(args, dropout, begin, end);
    case Curve::elu:
      return activate_and_drop<Curve::elu>(args, dropout, begin, end);
  }
}

void relu_backward(const ReluBackwardArgs& args, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    const float *dy = args.dy.row(i), *y = args.y.row(i);
    float* dx = args.dx.row(i);
#pragma GCC ivdep
    for (std::int64_t c = 0; c < args.width; ++c) {
      const float gradient = args.scale * dy[c];  // read before the choice: a select, not a branch
      dx[c] = y[c] > 0 ? gradient : 0.0F;
    }
  }
}

void elu_backward(const EluBackwardArgs& args, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    const float *dy = args.dy.row(i), *y = args.y.row(i);
    float* dx = args.dx.row(i);
#pragma GCC ivdep
    for (std::int64_t c = 0; c < args.width; ++c) {
      const float below = dy[c] * (1.0F + args.kept * y[c]);  // before the choice, as above
      dx[c] = y[c] < 0 ? below : dy[c];
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
