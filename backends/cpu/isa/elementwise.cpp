// Bias, activation, dropout and the optimisers' updates. `ivdep`: windows are equal or disjoint, so
// an element never depends on another one.
#include "backends/cpu/isa/exponential.hpp"
#include "backends/cpu/isa/isa_kernels.hpp"
#include "backends/cpu/isa/philox.hpp"
#include "backends/cpu/isa/vector.hpp"

namespace orrery::cpu::ORRERY_ISA {
namespace {

/// The curve of one number or of a vector of them. It keeps NaN, so that a broken input stays
/// visible. elu is right to 3e-7 of 1: a small negative number loses digits, as eˣ − 1 does.
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

/// Columns of a row whose random bits are drawn at once.
constexpr std::int64_t kPiece = kDraws * kBlock;

/// y ← dropout(values) of the blocks of a piece of one row, from block `first` on.
inline void drop_piece(const Block (&values)[kDraws], std::uint32_t row_id, std::uint32_t first,
                       float* y, const DropoutArgs& args) {
  PhiloxCounters counters;
  for (int b = 0; b < kDraws; ++b) {
    counters.row[b] = row_id;
    counters.block[b] = first + static_cast<std::uint32_t>(b);
  }
  alignas(64) std::uint16_t draws[kDraws][kBlock];
  philox(counters, args.draw, args.purpose, args.key_low, args.key_high, draws);
  for (int b = 0; b < kDraws; ++b)
    store_block(y + b * kBlock, dropped_by(draws[b], values[b], args), kBlock);
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

template <Curve curve>
inline Block activated(const ActivateArgs& args, std::int64_t row, std::int64_t first,
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
    const auto number = [&](std::int64_t column) {
      return dropout.first_block + static_cast<std::uint32_t>(column / kBlock);
    };
    for (std::int64_t piece = 0; piece < args.width; piece += kPiece) {
      Block values[kDraws];
      const int blocks =
          static_cast<int>((smaller(kPiece, args.width - piece) + kBlock - 1) / kBlock);
      const auto columns = [&](int b) { return smaller(kBlock, args.width - piece - b * kBlock); };
      int zeros = 0;
      for (int b = 0; b < blocks; ++b) {
        values[b] = activated<curve>(args, i, piece + b * kBlock, columns(b));
        zeros += all_zero(values[b]) ? 1 : 0;
      }
      float* y = args.y.row(i) + piece;
      if (piece + kPiece <= args.width && 2 * zeros <= kDraws) {
        drop_piece(values, row_id, number(piece), y, dropout);
        continue;
      }
      for (int b = 0; b < blocks; ++b) {
        if (all_zero(values[b]))
          store_block(y + b * kBlock, values[b], columns(b));
        else
          queue.push(values[b], row_id, number(piece + b * kBlock), y + b * kBlock, columns(b));
      }
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
      const float gradient = args.scale * dy[c];  // read before the choice: a choice, not a branch
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
