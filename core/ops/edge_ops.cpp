#include "core/ops/edge_ops.hpp"

#include <fmt/core.h>

#include "core/ops/require_shapes.hpp"

namespace orrery {
namespace {

double real(std::int64_t n) { return static_cast<double>(n); }

/// The offsets of rows, and the column numbers if an op reads them.
double pattern_bytes(const Sparse& a, bool columns) {
  return real(a.shape.rows * 8 + (columns ? a.nnz * 4 : 0));
}

template <class T>
void require_weights(const T& op) {
  require(op.weights.rows() == op.a.nnz && op.weights.contiguous() && op.weights.cols() >= 1, op,
          "weights must be [nnz, heads] and contiguous");
  const std::int64_t heads = op.weights.cols();
  require(!op.ends || op.ends->left.shape == Shape{op.a.shape.rows, heads}, op,
          "left must be [rows of a, heads]");
  require(!op.ends || op.ends->right.shape == Shape{op.a.shape.cols, heads}, op,
          "right must be [columns of a, heads]");
  require(!op.ends || !op.ends->own ||
              (op.ends->own->shape == op.weights.shape && op.ends->own->contiguous()),
          op, "own must be [nnz, heads] and contiguous");
  require(!op.ends || op.scale == 1, op, "scores out of ends have no scale");
  require(!op.ends || (op.ends->slope >= 0 && op.ends->slope <= 1), op, "slope must be in [0, 1]");
}

void add_ends(Operands& list, const EndScores& ends) {
  list.add({"left", ends.left, Access::read})
      .add({"right", ends.right, Access::read})
      .add("own", ends.own, Access::read);
}

template <class T>
std::string score_text(const T& op) {
  return op.ends ? fmt::format("slope={:g}", op.ends->slope) : fmt::format("scale={:g}", op.scale);
}

}  // namespace

void Sddmm::validate() const {
  require(a.shape.rows == x.rows(), *this, "rows of a must equal rows of x");
  require(a.shape.cols == z.rows(), *this, "columns of a must equal rows of z");
  require(x.cols() == z.cols(), *this, "x and z must have equal widths");
  require(dots.rows() == a.nnz && heads() >= 1 && dots.contiguous(), *this,
          "dots must be [nnz, heads] and contiguous");
  if (x.cols() % heads() != 0)
    require(false, *this,
            fmt::format("heads must divide the width, found {} heads and {} columns", heads(),
                        x.cols()));
  require(!overlap(x, dots) && !overlap(z, dots), *this, "dots must not overlap x or z");
}
double Sddmm::flops() const { return 2.0 * real(a.nnz * x.cols()); }
double Sddmm::bytes() const { return pattern_bytes(a, true) + real(operands().bytes()); }
Operands Sddmm::operands() const {
  return {{"x", x, Access::read}, {"z", z, Access::read}, {"dots", dots, Access::write}};
}
std::string Sddmm::attributes() const {
  return heads() == 1 ? std::string() : fmt::format("heads={}", heads());
}

void EdgeSoftmax::validate() const { require_weights(*this); }
double EdgeSoftmax::flops() const {
  return (!ends ? 6.0 : ends->own ? 9.0 : 8.0) * real(weights.shape.size());
}
double EdgeSoftmax::bytes() const {
  return pattern_bytes(a, ends.has_value()) + real(operands().bytes());
}
Operands EdgeSoftmax::operands() const {
  Operands list{{"weights", weights, ends ? Access::write : Access::update}};
  if (ends) add_ends(list, *ends);
  return list;
}
std::string EdgeSoftmax::attributes() const { return score_text(*this); }

void EdgeSoftmaxBackward::validate() const {
  require_weights(*this);
  require(gradient.shape == weights.shape && gradient.contiguous(), *this,
          "gradient must have the shape of weights and be contiguous");
  require(dleft.has_value() == ends.has_value(), *this, "dleft is needed with ends and only there");
  require(!dleft || dleft->shape == Shape{a.shape.rows, weights.cols()}, *this,
          "dleft must be [rows of a, heads]");
}
double EdgeSoftmaxBackward::flops() const {
  return (!ends ? 4.0 : ends->own ? 8.0 : 7.0) * real(weights.shape.size());
}
double EdgeSoftmaxBackward::bytes() const {
  return pattern_bytes(a, ends.has_value()) + real(operands().bytes());
}
Operands EdgeSoftmaxBackward::operands() const {
  Operands list{{"weights", weights, Access::read}, {"gradient", gradient, Access::update}};
  if (ends) add_ends(list, *ends);
  return list.add("dleft", dleft, Access::write);
}
std::string EdgeSoftmaxBackward::attributes() const { return score_text(*this); }

}  // namespace orrery
