#include "core/ops/ops.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <bit>

#include "core/base/error.hpp"
#include "core/ops/require_shapes.hpp"

namespace orrery {
namespace {

template <class... Cases>
struct Overload : Cases... {
  using Cases::operator()...;
};

std::string dropout_text(const std::optional<Dropout>& d) {
  return d ? fmt::format(" dropout={} draw={}/{}/{}", d->p, d->seed, d->epoch, d->layer) : "";
}

std::string activation_text(Activation a) {
  switch (a) {
    case Activation::none:
      return "none";
    case Activation::relu:
      return "relu";
    case Activation::elu:
      return "elu";
  }
  return {};
}
/// FLOP per element; elu: a comparison, an exponential and a difference.
int activation_flops(Activation a) {
  return a == Activation::elu ? 3 : a == Activation::relu ? 1 : 0;
}
std::string loss_text(LossKind k) { return k == LossKind::softmax ? "softmax" : "sigmoid"; }

template <class T>
void validate_dropout(const T& op, std::int64_t rows) {
  if (!op.dropout) return;
  require(op.dropout->p >= 0 && op.dropout->p < 1, op, "dropout must be in [0, 1)");
  require(op.dropout->layer < 4096, op, "dropout layer must be below 4096");
  require(op.dropout->col0 % 8 == 0 || op.operands().begin()->tensor.cols() == 0, op,
          "dropout col0 must be a multiple of 8");
  require(op.dropout->row_ids.shape == Shape{rows, 1}, op, "row_ids must be [rows, 1]");
}

template <class T>
void validate_targets(const T& op) {
  const auto n = op.logits.rows();
  const auto label_columns = op.loss_kind == LossKind::softmax ? 1 : op.logits.cols();
  require(op.labels.shape == Shape{n, label_columns} && op.labels.dtype == DType::i32, op,
          "labels must be [rows, 1] for softmax, [rows, classes] for sigmoid, i32");
  require(op.targets.cols() == 1 && op.targets.dtype == DType::i32, op,
          "targets must be [t, 1] i32");
}

bool is_summed(DType type) { return type == DType::f32 || type == DType::f64; }

}  // namespace

Operands& Operands::add(const Operand& o) {
  ORRERY_ASSERT(count_ < items_.size());
  items_[count_++] = o;
  return *this;
}

std::int64_t Operands::bytes() const {
  std::int64_t sum = 0;
  for (const Operand& o : *this) sum += o.tensor.bytes() * (o.access == Access::update ? 2 : 1);
  return sum;
}

// ---- data into tensors --------------------------------------------------------------------------

void Load::validate() const {
  const auto rows_match = [&](const auto& list) {
    require(static_cast<std::int64_t>(list->size()) == to.rows(), *this,
            "the source has another number of rows");
  };
  std::visit(
      Overload{
          [&](const FeatureRows& s) {
            rows_match(s.vertices);
            require(to.dtype == DType::f32 || (to.dtype == DType::f16 && s.features->half()), *this,
                    "features are f32, or f16 where they have 16 bits");
          },
          [&](const LabelRows& s) {
            rows_match(s.vertices);
            require(to.dtype == DType::i32 && to.cols() == s.labels->columns(), *this,
                    "labels need an i32 tensor with their number of columns");
          },
          [&](const IndexArray& s) {
            rows_match(s.values);
            require(to.dtype == DType::i32 && to.cols() == 1, *this, "needs [n, 1] i32");
          },
          [&](const FloatArray& s) {
            require(static_cast<std::int64_t>(s.values->size()) == to.shape.size() &&
                        to.dtype == DType::f32,
                    *this, "needs as many f32 elements as there are values");
          },
          [&](const UniformWeights&) { require(to.dtype == DType::f32, *this, "weights are f32"); },
          [](const Unknown&) {}},
      from);
  require(to.contiguous() || std::holds_alternative<FeatureRows>(from), *this,
          "to must be contiguous");
}

std::string Load::attributes() const {
  return std::visit(Overload{[](const FeatureRows& s) {
                               return s.col0 == 0 ? std::string("features")
                                                  : fmt::format("features col0={}", s.col0);
                             },
                             [](const LabelRows&) { return std::string("labels"); },
                             [](const IndexArray&) { return std::string("indices"); },
                             [](const FloatArray&) { return std::string("values"); },
                             [](const UniformWeights& s) {
                               return fmt::format("uniform ±{:.6g} parameter {} seed {}", s.limit,
                                                  s.parameter, s.seed);
                             },
                             [](const Unknown& s) { return fmt::format("unknown {}", s.what); }},
                    from);
}

void refuse(const Unknown& data) {
  throw NeedsStructure(fmt::format("a graph given by its statistics has no {} to load", data.what));
}

void Fill::validate() const {
  require(y.dtype != DType::f16, *this, "nothing is computed with f16");
}
std::string Fill::attributes() const { return fmt::format("value={:g}", value); }

void Copy::validate() const {
  require(x.shape == y.shape && x.dtype == y.dtype, *this, "x and y must have equal shapes");
  require((scale == 1 && !accumulate) || x.dtype == DType::f32, *this,
          "only f32 is scaled or added");
}
double Copy::flops() const {
  return ((scale == 1 ? 0 : 1) + (accumulate ? 1 : 0)) * static_cast<double>(y.shape.size());
}
std::string Copy::attributes() const {
  return scale == 1 ? std::string() : fmt::format("scale={:g}", scale);
}

void Save::validate() const {
  require(x.dtype == DType::f32, *this, "saved tensors are f32");
  require_contiguous(*this);
}

// ---- products -----------------------------------------------------------------------------------

void SpMM::validate() const {
  require(a.shape.cols == x.rows(), *this, "columns of a must equal rows of x");
  require(a.shape.rows == y.rows(), *this, "rows of a must equal rows of y");
  require(x.cols() == y.cols(), *this, "x and y must have equal widths");
  require(!values || (values->rows() == a.nnz && heads() >= 1 && values->contiguous()), *this,
          "values must be [nnz, heads] and contiguous");
  if (x.cols() % heads() != 0)
    require(false, *this,
            fmt::format("heads must divide the width, found {} heads and {} columns", heads(),
                        x.cols()));
  require(!overlap(x, y), *this, "x and y must not overlap");
}
double SpMM::flops() const { return 2.0 * static_cast<double>(a.nnz * x.cols()); }
double SpMM::bytes() const {
  return static_cast<double>(a.nnz * 4 + a.shape.rows * 8 + operands().bytes());
}
Operands SpMM::operands() const {
  Operands list{{"x", x, Access::read}, {"y", y, beta == 0 ? Access::write : Access::update}};
  return list.add("values", values, Access::read);
}
std::string SpMM::attributes() const {
  const std::string text = fmt::format("beta={:g}", beta);
  return heads() == 1 ? text : fmt::format("{} heads={}", text, heads());
}

void Gemm::validate() const {
  const auto m = transpose_a ? a.cols() : a.rows(), k = transpose_a ? a.rows() : a.cols();
  const auto k2 = transpose_b ? b.cols() : b.rows(), n = transpose_b ? b.rows() : b.cols();
  require(k == k2, *this, "inner extents must be equal");
  require((c.shape == Shape{m, n}), *this, "c must be [m, n]");
  require(!overlap(a, c) && !overlap(b, c), *this, "c must not overlap a or b");
}
double Gemm::flops() const {
  return 2.0 * static_cast<double>(c.shape.size() * (transpose_a ? a.rows() : a.cols()));
}
Operands Gemm::operands() const {
  return {{"a", a, Access::read},
          {"b", b, Access::read},
          {"c", c, beta == 0 ? Access::write : Access::update}};
}
std::string Gemm::attributes() const {
  return fmt::format("{}{}beta={:g}", transpose_a ? "transpose_a " : "",
                     transpose_b ? "transpose_b " : "", beta);
}

// ---- row movement -------------------------------------------------------------------------------

void GatherRows::validate() const {
  require(index.shape == Shape{y.rows(), 1} && index.dtype == DType::i32, *this,
          "index must be [rows of y, 1] i32");
  require(x.cols() == y.cols(), *this, "x and y must have equal widths");
  require((x.dtype == y.dtype && bytes_of(x.dtype) == 4) ||
              (x.dtype == DType::f16 && y.dtype == DType::f32),
          *this, "x and y must both be f32 or both i32, or f16 becomes f32");
}
double GatherRows::bytes() const {
  return static_cast<double>(y.shape.size() * (bytes_of(x.dtype) + bytes_of(y.dtype)) +
                             index.bytes());
}
Operands GatherRows::operands() const {
  return {{"x", x, Access::read}, {"index", index, Access::read}, {"y", y, Access::write}};
}

void ScatterAddRows::validate() const {
  require(index.shape == Shape{x.rows(), 1} && index.dtype == DType::i32, *this,
          "index must be [rows of x, 1] i32");
  require(x.cols() == y.cols(), *this, "x and y must have equal widths");
}
double ScatterAddRows::bytes() const { return static_cast<double>(3 * x.bytes() + index.bytes()); }
Operands ScatterAddRows::operands() const {
  return {{"x", x, Access::read}, {"index", index, Access::read}, {"y", y, Access::update}};
}

// ---- drawn edges --------------------------------------------------------------------------------

std::int64_t Relabel::slots(std::int64_t vertices) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(2 * vertices + 2)));
}
void Relabel::validate() const {
  require(vertices.shape == Shape{a.shape.cols, 1} && vertices.dtype == DType::i32, *this,
          "vertices must be [columns of a, 1] i32");
  require(table.shape == Shape{slots(a.shape.cols), 1} && table.dtype == DType::i32, *this,
          "table must be [slots(columns of a), 1] i32");
  require_contiguous(*this);
}
double Relabel::bytes() const {
  return static_cast<double>(table.bytes() + 3 * vertices.bytes() + 16 * a.nnz);
}

void TransposeSparse::validate() const {
  require(t.shape == Shape{a.shape.cols, a.shape.rows} && t.nnz == a.nnz, *this,
          "t must have the extents of the transpose of a");
  require(t.id != a.id, *this, "t must be another pattern than a");
  require(a.nnz < std::int64_t{1} << 31U, *this, "a must have fewer than 2^31 entries");
  for (const Tensor& list : {values, t_values})
    require(list.shape == Shape{a.nnz, 1} && list.dtype == DType::f32, *this,
            "values must be [entries, 1] f32");
  require_contiguous(*this);
}
double TransposeSparse::bytes() const {
  return static_cast<double>(a.nnz * (3 * 8 + 12) + 8 * (t.shape.rows + 1));
}

void EntriesByColumn::validate() const {
  require(t.shape == Shape{a.shape.cols, a.shape.rows} && t.nnz == a.nnz, *this,
          "t must have the extents of the transpose of a");
  require(by_column.shape == Shape{a.shape.cols, a.nnz} && by_column.nnz == a.nnz, *this,
          "by_column must be [columns of a, entries]");
  require(t.id != a.id && by_column.id != a.id && by_column.id != t.id, *this,
          "a, t and by_column must be three patterns");
  require(a.nnz < std::int64_t{1} << 31U, *this, "a must have fewer than 2^31 entries");
  require(order.shape == Shape{a.nnz, 1} && order.dtype == DType::i32, *this,
          "order must be [entries, 1] i32");
  require_contiguous(*this);
}
double EntriesByColumn::bytes() const {
  return static_cast<double>(a.nnz * (3 * 8 + 12) + 2 * 8 * (t.shape.rows + 1));
}

// ---- element-wise -------------------------------------------------------------------------------

void Activate::validate() const {
  require(x.shape == y.shape, *this, "x and y must have equal shapes");
  require(!bias || bias->shape == Shape{1, x.cols()}, *this, "bias must be [1, columns]");
  validate_dropout(*this, x.rows());
}
double Activate::flops() const {
  const int per_element = (bias ? 1 : 0) + activation_flops(activation) + (dropout ? 2 : 0);
  return static_cast<double>(per_element * x.shape.size());
}
Operands Activate::operands() const {
  Operands list{{"x", x, Access::read}, {"y", y, Access::write}};
  list.add("bias", bias, Access::read);
  return dropout ? list.add({"row_ids", dropout->row_ids, Access::read}) : list;
}
std::string Activate::attributes() const {
  return activation_text(activation) + dropout_text(dropout);
}

void ActivateBackward::validate() const {
  require(dy.shape == dx.shape, *this, "dy and dx must have equal shapes");
  require(y.has_value() == (activation != Activation::none), *this,
          "y is needed for relu and elu, and only there");
  require(!y || y->shape == dx.shape, *this, "y must have the shape of dx");
  validate_dropout(*this, dx.rows());
}
double ActivateBackward::flops() const {
  return static_cast<double>(std::max(1, activation_flops(activation)) * dx.shape.size());
}
Operands ActivateBackward::operands() const {
  Operands list{{"dy", dy, Access::read}, {"dx", dx, Access::write}};
  list.add("y", y, Access::read);
  return draws() ? list.add({"row_ids", dropout->row_ids, Access::read}) : list;
}
std::string ActivateBackward::attributes() const {
  return activation_text(activation) + dropout_text(dropout);
}

void ColumnSum::validate() const {
  require((y.shape == Shape{1, x.cols()}), *this, "y must be [1, columns]");
}
Operands ColumnSum::operands() const {
  return {{"x", x, Access::read}, {"y", y, beta == 0 ? Access::write : Access::update}};
}
std::string ColumnSum::attributes() const { return fmt::format("beta={:g}", beta); }

void LayerNorm::validate() const {
  require(x.shape == y.shape && x.shape == normalised.shape, *this,
          "x, normalised and y must have equal shapes");
  require((gain.shape == Shape{1, x.cols()} && shift.shape == Shape{1, x.cols()}), *this,
          "gain and shift must be [1, columns]");
  require((rstd.shape == Shape{x.rows(), 1}), *this, "rstd must be [rows, 1]");
  require(!overlap(y, normalised), *this, "y must not overlap normalised");
}
Operands LayerNorm::operands() const {
  return {{"x", x, Access::read},         {"gain", gain, Access::read},
          {"shift", shift, Access::read}, {"normalised", normalised, Access::write},
          {"rstd", rstd, Access::write},  {"y", y, Access::write}};
}

void LayerNormBackward::validate() const {
  require(dy.shape == dx.shape && dy.shape == normalised.shape, *this,
          "dy, normalised and dx must have equal shapes");
  require((rstd.shape == Shape{dy.rows(), 1}), *this, "rstd must be [rows, 1]");
  const Shape row{1, dy.cols()};
  require(gain.shape == row && dgain.shape == row && dshift.shape == row, *this,
          "gain, dgain and dshift must be [1, columns]");
}
Operands LayerNormBackward::operands() const {
  return {{"dy", dy, Access::read},         {"normalised", normalised, Access::read},
          {"rstd", rstd, Access::read},     {"gain", gain, Access::read},
          {"dx", dx, Access::write},        {"dgain", dgain, Access::write},
          {"dshift", dshift, Access::write}};
}

void ColumnMoments::validate() const {
  require(x.shape == z.shape, *this, "x and z must have equal shapes");
  const Shape row{1, x.cols()};
  require(sum.shape == row && product.shape == row, *this, "sum and product must be [1, columns]");
  require(sum.dtype == product.dtype && is_summed(sum.dtype), *this,
          "sum and product must both be f32 or both f64");
}
/// If x is z it is read once.
double ColumnMoments::bytes() const {
  const std::int64_t again = x == z ? x.bytes() : 0;
  return static_cast<double>(operands().bytes() - again);
}
Operands ColumnMoments::operands() const {
  return {{"x", x, Access::read},
          {"z", z, Access::read},
          {"sum", sum, Access::write},
          {"product", product, Access::write}};
}

void BatchNorm::validate() const {
  require(x.shape == y.shape, *this, "x and y must have equal shapes");
  require(moments.has_value() == normalised.has_value(), *this,
          "moments and normalised go together");
  const std::int64_t f = x.cols();
  const bool of_moments =
      !moments || (moments->shape == Shape{1, 2 * f + 1} && moments->dtype == DType::f64 &&
                   normalised->shape == x.shape);
  require(of_moments, *this,
          "moments must be [1, 2·columns + 1] f64, and normalised have the shape of x");
  require((averages.shape == Shape{2, f}), *this, "averages must be [2, columns]");
  require((gain.shape == Shape{1, f} && shift.shape == Shape{1, f}), *this,
          "gain and shift must be [1, columns]");
  require(!normalised || !overlap(y, *normalised), *this, "y must not overlap normalised");
}
Operands BatchNorm::operands() const {
  Operands list{{"x", x, Access::read},
                {"averages", averages, moments ? Access::update : Access::read},
                {"gain", gain, Access::read},
                {"shift", shift, Access::read},
                {"y", y, Access::write}};
  list.add("moments", moments, Access::read);
  return list.add("normalised", normalised, Access::write);
}

void BatchNormBackward::validate() const {
  require(dy.shape == dx.shape && dy.shape == normalised.shape, *this,
          "dy, normalised and dx must have equal shapes");
  const std::int64_t f = dy.cols();
  require((moments.shape == Shape{1, 2 * f + 1} && moments.dtype == DType::f64), *this,
          "moments must be [1, 2·columns + 1] f64");
  require((sums.shape == Shape{1, 2 * f} && gain.shape == Shape{1, f}), *this,
          "sums must be [1, 2·columns], gain [1, columns]");
  require(counted >= 0 && counted <= dy.rows(), *this, "counted must be at most the rows of dy");
}
Operands BatchNormBackward::operands() const {
  return {{"dy", dy, Access::read},           {"normalised", normalised, Access::read},
          {"moments", moments, Access::read}, {"sums", sums, Access::read},
          {"gain", gain, Access::read},       {"dx", dx, Access::write}};
}
std::string BatchNormBackward::attributes() const { return fmt::format("counted={}", counted); }

// ---- loss and update ----------------------------------------------------------------------------

void Loss::validate() const {
  validate_targets(*this);
  require(grad.shape == logits.shape, *this, "grad must have the shape of logits");
  require((loss.shape == Shape{1, 1} && loss.dtype == DType::f64), *this,
          "loss must be [1, 1] f64");
  if (target_weights)
    require((target_weights->shape == Shape{targets.rows(), 1} &&
             target_weights->dtype == DType::f32 && target_weights->contiguous()),
            *this, "target_weights must be [targets, 1] f32");
}
double Loss::flops() const { return 6.0 * static_cast<double>(targets.rows() * logits.cols()); }
double Loss::bytes() const {
  return static_cast<double>(targets.rows() * (logits.cols() + labels.cols() + 1) * 4 +
                             grad.bytes() + (target_weights ? target_weights->bytes() : 0));
}
Operands Loss::operands() const {
  Operands all{{"logits", logits, Access::read},
               {"labels", labels, Access::read},
               {"targets", targets, Access::read},
               {"grad", grad, Access::write},
               {"loss", loss, accumulate ? Access::update : Access::write}};
  return all.add("target_weights", target_weights, Access::read);
}
std::string Loss::attributes() const {
  std::string text = fmt::format("{} scale={:g}", loss_text(loss_kind), scale);
  return weight == 1 ? text : text + fmt::format(" weight={:g}", weight);
}

void Score::validate() const {
  validate_targets(*this);
  require((counts.shape == Shape{1, 3} && counts.dtype == DType::f64), *this,
          "counts must be [1, 3] f64");
}
double Score::flops() const { return static_cast<double>(targets.rows() * logits.cols()); }
double Score::bytes() const {
  return static_cast<double>(targets.rows() * (logits.cols() + labels.cols() + 1) * 4);
}
Operands Score::operands() const {
  return {{"logits", logits, Access::read},
          {"labels", labels, Access::read},
          {"targets", targets, Access::read},
          {"counts", counts, accumulate ? Access::update : Access::write}};
}
std::string Score::attributes() const { return loss_text(loss_kind); }

void Sgd::validate() const { require(w.shape == g.shape, *this, "w and g must match"); }
Operands Sgd::operands() const { return {{"w", w, Access::update}, {"g", g, Access::read}}; }
std::string Sgd::attributes() const { return fmt::format("rate={:g} decay={:g}", rate, decay); }

void Adam::validate() const {
  require(w.shape == g.shape && w.shape == m.shape && w.shape == v.shape, *this,
          "w, g, m and v must match");
  require(step >= 1, *this, "step counts from 1");
}
Operands Adam::operands() const {
  return {{"w", w, Access::update},
          {"g", g, Access::read},
          {"m", m, Access::update},
          {"v", v, Access::update}};
}
std::string Adam::attributes() const {
  return fmt::format("rate={:g} decay={:g} step={}", rate, decay, step);
}

// ---- collectives --------------------------------------------------------------------------------

void SendRecv::validate() const {
  require(send.has_value() == (to >= 0) && recv.has_value() == (from >= 0), *this,
          "a peer is named for each half that is there, and only there");
  require(to < group.size && from < group.size, *this, "peers must be in the group");
  require_contiguous(*this);
}
Operands SendRecv::operands() const {
  Operands list{};
  return list.add("send", send, Access::read).add("recv", recv, Access::write);
}
std::string SendRecv::attributes() const {
  return fmt::format("to={} from={} {}", to, from, to_string(group));
}

void Broadcast::validate() const {
  require(root >= 0 && root < group.size, *this, "root must be in the group");
  require_contiguous(*this);
}
std::string Broadcast::attributes() const {
  return fmt::format("root={} {}", root, to_string(group));
}

void BroadcastSparse::validate() const {
  require(root >= 0 && root < group.size, *this, "root must be in the group");
  require((values.shape == Shape{a.nnz, 1} && values.dtype == DType::f32), *this,
          "values must be [nnz, 1] f32");
  require_contiguous(*this);
}
std::string BroadcastSparse::attributes() const {
  return fmt::format("root={} {}", root, to_string(group));
}

void Reduce::validate() const {
  require(root >= 0 && root < group.size, *this, "root must be in the group");
  require(is_summed(x.dtype), *this, "sums are f32 or f64");
  require_contiguous(*this);
}
std::string Reduce::attributes() const { return fmt::format("root={} {}", root, to_string(group)); }

void AllReduce::validate() const {
  require(is_summed(x.dtype), *this, "sums are f32 or f64");
  require_contiguous(*this);
}
double AllReduce::flops() const {
  return static_cast<double>(x.shape.size()) * (group.size - 1) / group.size;
}
double AllReduce::bytes() const {
  return 2.0 * static_cast<double>(x.bytes()) * (group.size - 1) / group.size;
}
std::string AllReduce::attributes() const { return to_string(group); }

void ReduceScatter::validate() const {
  require(static_cast<int>(rows->size()) == group.size, *this, "one row count per rank");
  require(x.rows() == total(rows) && x.cols() == y.cols() && x.dtype == y.dtype, *this,
          "x must be [sum of rows, columns of y]");
  require_contiguous(*this);
}
double ReduceScatter::flops() const {
  return static_cast<double>(y.shape.size()) * (group.size - 1);
}
double ReduceScatter::bytes() const { return static_cast<double>(y.bytes()) * (group.size - 1); }
Operands ReduceScatter::operands() const {
  return {{"x", x, Access::read}, {"y", y, Access::write}};
}
std::string ReduceScatter::attributes() const {
  return fmt::format("rows={} {}", *rows, to_string(group));
}

void AllGather::validate() const {
  require(static_cast<int>(rows->size()) == group.size, *this, "one row count per rank");
  require(y.rows() == total(rows) && x.cols() == y.cols() && x.dtype == y.dtype, *this,
          "y must be [sum of rows, columns of x]");
  require_contiguous(*this);
}
double AllGather::bytes() const { return static_cast<double>(y.bytes() - x.bytes()); }
Operands AllGather::operands() const { return {{"x", x, Access::read}, {"y", y, Access::write}}; }
std::string AllGather::attributes() const {
  return fmt::format("rows={} {}", *rows, to_string(group));
}

void AllToAllV::validate() const {
  require(static_cast<int>(send_rows->size()) == group.size &&
              static_cast<int>(recv_rows->size()) == group.size,
          *this, "one row count per rank");
  require(x.rows() == total(send_rows) && y.rows() == total(recv_rows), *this,
          "x must have the sent, y the received rows");
  require(x.cols() == y.cols() && x.dtype == y.dtype, *this, "x and y must have equal widths");
  require_contiguous(*this);
}
Operands AllToAllV::operands() const { return {{"x", x, Access::read}, {"y", y, Access::write}}; }
std::string AllToAllV::attributes() const {
  return fmt::format("send={} recv={} {}", *send_rows, *recv_rows, to_string(group));
}

// ---- the same for any op ------------------------------------------------------------------------

std::string_view kind_of(const Op& op) {
  return std::visit([](const auto& o) { return o.kKind; }, op);
}

namespace {

template <class... Ops>
std::string_view kind_among(std::string_view name, const std::variant<Ops...>*) {
  std::string_view found;
  ((Ops::kKind == name ? static_cast<void>(found = Ops::kKind) : static_cast<void>(0)), ...);
  return found;
}

}  // namespace

std::string_view kind_named(std::string_view name) {
  return kind_among(name, static_cast<const Op*>(nullptr));
}
void validate(const Op& op) {
  std::visit([](const auto& o) { o.validate(); }, op);
}
double flops_of(const Op& op) {
  return std::visit([](const auto& o) { return o.flops(); }, op);
}
double bytes_of(const Op& op) {
  return std::visit([](const auto& o) { return o.bytes(); }, op);
}
Operands operands_of(const Op& op) {
  return std::visit([](const auto& o) { return o.operands(); }, op);
}

SparseOperands sparse_of(const Op& op) {
  return std::visit(
      []<class T>(const T& o) -> SparseOperands {
        if constexpr (std::is_same_v<T, TransposeSparse>)
          return {{"a", o.a, Access::read}, {"t", o.t, Access::write}};
        else if constexpr (std::is_same_v<T, EntriesByColumn>)
          return {{"a", o.a, Access::read},
                  {"t", o.t, Access::write},
                  {"by_column", o.by_column, Access::write}};
        else if constexpr (requires { requires std::is_same_v<decltype(o.a), Sparse>; })
          return {{"a", o.a,
                   Communicates<T> || std::is_same_v<T, Relabel> ? Access::update : Access::read}};
        else
          return {};
      },
      op);
}

namespace {

/// For an op that communicates.
template <class T>
auto& group_in(T& op) {
  if constexpr (requires { op.store; })
    return op.store.group;
  else
    return op.group;
}

}  // namespace

std::optional<Group> group_of(const Op& op) {
  return std::visit(
      []<class T>(const T& o) -> std::optional<Group> {
        if constexpr (Communicates<T>) return group_in(o);
        return std::nullopt;
      },
      op);
}

bool is_collective(const Op& op) {
  return std::visit([]<class T>(const T&) { return Collective<T>; }, op);
}

std::optional<Store> store_of(const Op& op) {
  return std::visit(
      [](const auto& o) -> std::optional<Store> {
        if constexpr (requires { o.store; }) return o.store;
        return std::nullopt;
      },
      op);
}

bool moves_nothing(const Op& op) {
  const auto group = group_of(op);
  if (!group || group->size != 1 || store_of(op)) return false;
  if (std::holds_alternative<Broadcast>(op) || std::holds_alternative<BroadcastSparse>(op) ||
      std::holds_alternative<Reduce>(op) || std::holds_alternative<AllReduce>(op))
    return true;  // in place
  return operands_of(op).bytes() == 0;
}

Op in_group(Op op, const Group& group) {
  std::visit(
      [&]<class T>(T& o) {
        if constexpr (Communicates<T>) group_in(o) = group;
      },
      op);
  return op;
}

std::string to_string(const Op& op) {
  std::string text(kind_of(op));
  const auto sign = [](Access access) {
    return access == Access::read ? '=' : access == Access::write ? '>' : '*';
  };
  for (const SparseOperand& a : sparse_of(op))
    text += fmt::format(" {}{}{}", a.name, sign(a.access), to_string(a.sparse));
  for (const Operand& o : operands_of(op))
    text += fmt::format(" {}{}{}", o.name, sign(o.access), to_string(o.tensor));
  const std::string rest = std::visit([](const auto& o) { return o.attributes(); }, op);
  return rest.empty() ? text : text + " " + rest;
}

void received_bytes(const Op& op, int rank,
                    const std::function<void(int peer, double bytes)>& visit) {
  const auto each_peer = [&](const Group& g, const auto& bytes_from) {
    for (int i = 0; i < g.size; ++i) {
      if (g.rank_of(i) == rank) continue;
      const double bytes = bytes_from(i);
      if (bytes > 0) visit(g.rank_of(i), bytes);
    }
  };
  const auto row_bytes = [](const Tensor& t) {
    return static_cast<double>(t.cols() * bytes_of(t.dtype));
  };
  const auto at = [](const auto& rows, int i) {
    return static_cast<double>((*rows)[static_cast<std::size_t>(i)]);
  };
  const auto from_root = [&](const auto& o, std::int64_t bytes) {
    if (o.group.rank_of(o.root) != rank && bytes > 0)
      visit(o.group.rank_of(o.root), static_cast<double>(bytes));
  };
  std::visit(
      Overload{[&](const SendRecv& o) {
                 if (o.recv && o.group.rank_of(o.from) != rank && o.recv->bytes() > 0)
                   visit(o.group.rank_of(o.from), static_cast<double>(o.recv->bytes()));
               },
               [&](const Broadcast& o) { from_root(o, o.x.bytes()); },
               [&](const BroadcastSparse& o) { from_root(o, o.a.bytes() + o.values.bytes()); },
               [&](const Reduce& o) {
                 if (o.group.rank_of(o.root) == rank)
                   each_peer(o.group, [&](int) { return static_cast<double>(o.x.bytes()); });
               },
               [&](const AllReduce& o) {
                 each_peer(o.group, [&](int) {
                   return 2.0 * static_cast<double>(o.x.bytes()) / o.group.size;
                 });
               },
               [&](const ReduceScatter& o) {
                 each_peer(o.group, [&](int) { return static_cast<double>(o.y.bytes()); });
               },
               [&](const AllGather& o) {
                 each_peer(o.group, [&](int i) { return at(o.rows, i) * row_bytes(o.y); });
               },
               [&](const AllToAllV& o) {
                 each_peer(o.group, [&](int i) { return at(o.recv_rows, i) * row_bytes(o.y); });
               },
               [&](const Pull& o) {
                 each_peer(o.store.group,
                           [&](int i) { return at(o.rows_per_owner, i) * row_bytes(o.y); });
               },
               [](const auto&) {}},
      op);
}

void served_bytes(const Op& op, int rank,
                  const std::function<void(int owner, double bytes)>& visit) {
  const auto each_owner = [&](const auto& o, double row_bytes) {
    for (int i = 0; i < o.store.group.size; ++i) {
      const std::int64_t rows = (*o.rows_per_owner)[static_cast<std::size_t>(i)];
      const int owner = o.store.group.rank_of(i);
      if (owner != rank && rows > 0) visit(owner, static_cast<double>(rows) * row_bytes);
    }
  };
  constexpr double kRowNumber = 4;
  if (const auto* pull = std::get_if<Pull>(&op)) each_owner(*pull, kRowNumber);
  if (const auto* push = std::get_if<Push>(&op))
    each_owner(*push, kRowNumber + static_cast<double>(push->x.cols() * bytes_of(push->x.dtype)));
}

}  // namespace orrery
