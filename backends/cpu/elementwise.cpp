// Bias, activation, dropout and the optimisers.
#include <cmath>

#include "backends/cpu/cpu_apply.hpp"
#include "core/base/rng.hpp"

namespace orrery::cpu {
namespace {

DropoutArgs dropout_args(const Dropout& d, const RankMemory& memory) {
  return {.key_low = static_cast<std::uint32_t>(d.seed),
          .key_high = static_cast<std::uint32_t>(d.seed >> 32U),
          .draw = d.epoch * 4096 + d.layer,
          .purpose = static_cast<std::uint32_t>(Purpose::dropout),
          .threshold = static_cast<std::uint32_t>(std::lround(d.p * 65536)),
          .scale = static_cast<float>(1 / (1 - d.p)),
          .row_ids = memory.data<std::int32_t>(d.row_ids),
          .first_block = static_cast<std::uint32_t>(d.col0 / 8)};
}

Curve curve_of(Activation activation) {
  switch (activation) {
    case Activation::none:
      return Curve::none;
    case Activation::relu:
      return Curve::relu;
    case Activation::elu:
      return Curve::elu;
  }
  return Curve::none;
}

void activate(const ActivateArgs& args, std::int64_t rows, const std::optional<Dropout>& dropout,
              const RankMemory& memory, const RangeKernels& kernels) {
  if (!dropout)
    return parallel_for(
        rows, rows_per_range(args.width),
        [&](std::int64_t begin, std::int64_t end) { kernels.activate(args, begin, end); });
  const DropoutArgs drop = dropout_args(*dropout, memory);
  parallel_for(rows, rows_per_range(args.width), [&](std::int64_t begin, std::int64_t end) {
    kernels.activate_dropout(args, drop, begin, end);
  });
}

}  // namespace

void apply(const Activate& op, const RankMemory& memory, const RangeKernels& kernels) {
  activate({.x = inputs_of(memory, op.x),
            .bias = op.bias ? memory.data<float>(*op.bias) : nullptr,
            .y = rows_of(memory, op.y),
            .width = op.x.cols(),
            .curve = curve_of(op.activation)},
           op.x.rows(), op.dropout, memory, kernels);
}

void apply(const ActivateBackward& op, const RankMemory& memory, const RangeKernels& kernels) {
  const std::int64_t width = op.dx.cols();
  if (op.activation == Activation::none)  // the adjoint of dropout is the same dropout
    return activate({.x = inputs_of(memory, op.dy),
                     .bias = nullptr,
                     .y = rows_of(memory, op.dx),
                     .width = width,
                     .curve = Curve::none},
                    op.dx.rows(), op.dropout, memory, kernels);
  const auto dy = inputs_of(memory, op.dy), y = inputs_of(memory, *op.y);
  const auto dx = rows_of(memory, op.dx);
  if (op.activation == Activation::elu) {
    const float kept = op.dropout ? static_cast<float>(1 - op.dropout->p) : 1.0F;
    const EluBackwardArgs args{.dy = dy, .y = y, .dx = dx, .width = width, .kept = kept};
    std::optional<DropoutArgs> drop;
    if (op.dropout) drop = dropout_args(*op.dropout, memory);
    const ActivateArgs again{.x = inputs_of(memory, op.dx),
                             .bias = nullptr,
                             .y = dx,
                             .width = width,
                             .curve = Curve::none};
    return parallel_for(op.dx.rows(), rows_per_range(width),
                        [&](std::int64_t begin, std::int64_t end) {
                          kernels.elu_backward(args, begin, end);
                          if (drop) kernels.activate_dropout(again, *drop, begin, end);
                        });
  }
  const ReluBackwardArgs args{
      .dy = dy,
      .y = y,
      .dx = dx,
      .width = width,
      .scale = op.dropout ? static_cast<float>(1 / (1 - op.dropout->p)) : 1.0F};
  parallel_for(op.dx.rows(), rows_per_range(width), [&](std::int64_t begin, std::int64_t end) {
    kernels.relu_backward(args, begin, end);
  });
}

void apply(const Sgd& op, const RankMemory& memory, const RangeKernels& kernels) {
  const auto w = rows_of(memory, op.w);
  const auto g = inputs_of(memory, op.g);
  for_each_run({op.w, op.g}, [&](std::int64_t i, std::int64_t j, std::int64_t count) {
    kernels.sgd(w.row(i) + j, g.row(i) + j, count, op.rate, op.decay);
  });
}

void apply(const Adam& op, const RankMemory& memory, const RangeKernels& kernels) {
  const auto w = rows_of(memory, op.w), m = rows_of(memory, op.m), v = rows_of(memory, op.v);
  const auto g = inputs_of(memory, op.g);
  const auto correction = [&](double beta) {
    return static_cast<float>(1 / (1 - std::pow(beta, op.step)));
  };
  const AdamArgs args{.rate = op.rate,
                      .decay = op.decay,
                      .beta1 = op.beta1,
                      .beta2 = op.beta2,
                      .epsilon = op.epsilon,
                      .correction1 = correction(op.beta1),
                      .correction2 = correction(op.beta2)};
  for_each_run({op.w, op.g, op.m, op.v}, [&](std::int64_t i, std::int64_t j, std::int64_t count) {
    kernels.adam(w.row(i) + j, g.row(i) + j, m.row(i) + j, v.row(i) + j, count, args);
  });
}

}  // namespace orrery::cpu
