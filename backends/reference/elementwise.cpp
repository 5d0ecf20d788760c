// Bias, activation and dropout, forward and backward.
#include <cmath>

#include "backends/reference/reference_apply.hpp"
#include "core/base/rng.hpp"

namespace orrery::reference {
namespace {

double scale_of(const std::optional<Dropout>& d) { return d ? 1 / (1 - d->p) : 1; }

/// The rule at `struct Dropout`: is element (i, j) of the window kept?
bool kept(const Dropout& d, const Integers& row_ids, std::int64_t i, std::int64_t j) {
  const std::int64_t column = d.col0 + j;
  const auto bits = random_bits(d.seed, Purpose::dropout, static_cast<std::uint32_t>(row_ids(i, 0)),
                                static_cast<std::uint32_t>(column / 8), d.epoch * 4096 + d.layer);
  const auto half = static_cast<std::size_t>(column % 8);
  const std::uint32_t drawn = (bits[half / 2] >> (16 * (half % 2))) & 0xFFFFU;
  return drawn >= static_cast<std::uint32_t>(std::lround(d.p * 65536));
}

}  // namespace

void apply(const Activate& op, const RankMemory& memory) {
  const Floats x(memory, op.x), y(memory, op.y);
  const Floats bias(memory, op.bias.value_or(op.x));
  const Integers row_ids(memory, op.dropout ? op.dropout->row_ids : op.x);
  for (std::int64_t i = 0; i < op.x.rows(); ++i)
    for (std::int64_t j = 0; j < op.x.cols(); ++j) {
      double value = x(i, j);
      if (op.bias) value += bias(0, j);
      if (op.activation == Activation::relu && value < 0) value = 0;
      if (op.activation == Activation::elu && value < 0) value = std::expm1(value);
      if (op.dropout && !kept(*op.dropout, row_ids, i, j)) value = 0;
      y(i, j) = static_cast<float>(value * scale_of(op.dropout));
    }
}

void apply(const ActivateBackward& op, const RankMemory& memory) {
  const bool relu = op.activation == Activation::relu, elu = op.activation == Activation::elu;
  const Floats dy(memory, op.dy), y(memory, op.y.value_or(op.dy)), dx(memory, op.dx);
  const Integers row_ids(memory, op.draws() ? op.dropout->row_ids : op.dy);
  for (std::int64_t i = 0; i < op.dx.rows(); ++i)
    for (std::int64_t j = 0; j < op.dx.cols(); ++j) {
      const bool passes = relu ? y(i, j) > 0 : !op.dropout || kept(*op.dropout, row_ids, i, j);
      const double scale = scale_of(op.dropout);
      const double slope = elu && y(i, j) < 0 ? 1 + y(i, j) / scale : 1;
      dx(i, j) = passes ? static_cast<float>(dy(i, j) * slope * scale) : 0.0F;
    }
}

}  // namespace orrery::reference
