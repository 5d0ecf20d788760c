#include "sim/price/price_point.hpp"

#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/index.hpp"

namespace orrery::sim {
namespace {

double real(std::int64_t n) { return static_cast<double>(n); }

double ragged(std::int64_t width) { return width % 8 == 0 ? 1 : 2; }

PricePoint by_size(std::string_view key, const Tensor& t) {
  return {
      key,
      t.shape.size() == 0,
      {{"size", real(t.shape.size())}, {"width", real(t.cols())}, {"ragged", ragged(t.cols())}}};
}
PricePoint by_elements(std::string_view key, const Tensor& t) {
  return {key, t.shape.size() == 0, {{"size", real(t.shape.size())}}};
}

std::string_view key_of(const Load& op) {
  constexpr std::string_view names[] = {"load/features", "load/labels", "load/indices",
                                        "load/values", "load/weights"};
  static_assert(std::variant_size_v<Source> == std::size(names) + 1);
  // priced as the operation that it represents
  if (const auto* unknown = std::get_if<Unknown>(&op.from)) {
    const auto* found = std::find_if(std::begin(names), std::end(names), [&](auto name) {
      return name.substr(name.find('/') + 1) == unknown->what;
    });
    ORRERY_ASSERT(found != std::end(names));
    return *found;
  }
  return names[op.from.index()];
}
PricePoint point(const Load& op) { return by_size(key_of(op), op.to); }
PricePoint point(const Fill& op) { return by_size(op.kKind, op.y); }
PricePoint point(const Copy& op) { return by_size(op.kKind, op.y); }
PricePoint point(const Save& op) { return by_size(op.kKind, op.x); }

/// For an op that reads a row of `width` columns for every entry.
struct Gathers {
  Gathers(const Sparse& a, std::int64_t of_width)
      : rows(real(a.shape.rows)),
        degree(a.shape.rows == 0 ? 0 : real(a.nnz) / rows),
        width(real(of_width)),
        reuse_bytes(a.reuse * real(a.shape.cols) * width * 4),
        skew(a.skew) {}
  double rows, degree, width, reuse_bytes, skew;
};

PricePoint with_heads(std::string_view key, bool empty, const Gathers& g, std::int64_t heads,
                      std::int64_t columns) {
  return {key,
          empty,
          {{"rows", g.rows},
           {"degree", g.degree},
           {"width", g.width},
           {"heads", real(heads)},
           {"columns", real(columns)},
           {"ragged", ragged(columns)},
           {"reuse_bytes", g.reuse_bytes},
           {"skew", g.skew}}};
}

PricePoint point(const SpMM& op) {
  const Gathers g(op.a, op.x.cols());
  const bool empty = op.y.shape.size() == 0;
  const std::int64_t columns = op.x.cols() / op.heads();
  if (op.heads() > 1 && columns > 1) return with_heads("spmm/heads", empty, g, op.heads(), columns);
  return {op.heads() > 1 ? "spmm/columns" : op.kKind,
          empty,
          {{"rows", g.rows},
           {"degree", g.degree},
           {"width", g.width},
           {"ragged", ragged(op.x.cols())},
           {"reuse_bytes", g.reuse_bytes},
           {"skew", g.skew}}};
}

PricePoint point(const Sddmm& op) {
  return with_heads(op.kKind, op.dots.shape.size() == 0, {op.a, op.x.cols()}, op.heads(),
                    op.x.cols() / op.heads());
}
PricePoint point(const EdgeSoftmax& op) {
  return by_size(op.ends ? "edge_softmax/ends" : op.kKind, op.weights);
}
PricePoint point(const EdgeSoftmaxBackward& op) {
  return by_size(op.ends ? "edge_softmax_backward/ends" : op.kKind, op.gradient);
}

PricePoint point(const Gemm& op) {
  constexpr std::string_view keys[] = {"gemm", "gemm/transpose_a", "gemm/transpose_b",
                                       "gemm/transpose_ab"};
  return {keys[(op.transpose_a ? 1 : 0) + (op.transpose_b ? 2 : 0)],
          op.c.shape.size() == 0,
          {{"m", real(op.c.rows())},
           {"n", real(op.c.cols())},
           {"n16", real((op.c.cols() + 15) / 16 * 16)},
           {"k", real(op.transpose_a ? op.a.rows() : op.a.cols())}}};
}

PricePoint point(const GatherRows& op) { return by_size(op.kKind, op.y); }
PricePoint point(const ScatterAddRows& op) { return by_size(op.kKind, op.x); }
/// By the entries of a pattern.
PricePoint by_entries(std::string_view key, const Sparse& a) {
  return {key, a.nnz == 0, {{"size", real(a.nnz)}}};
}
PricePoint point(const Relabel& op) { return by_entries(op.kKind, op.a); }
PricePoint point(const TransposeSparse& op) { return by_entries(op.kKind, op.a); }
/// The work is that of sorting entries, which both do alike.
PricePoint point(const EntriesByColumn& op) { return by_entries(TransposeSparse::kKind, op.a); }

PricePoint point(const Activate& op) {
  return by_size(op.dropout ? "activate/dropout" : op.kKind, op.y);
}
PricePoint point(const ActivateBackward& op) {
  return by_size(op.draws() ? "activate_backward/dropout" : op.kKind, op.dx);
}
PricePoint point(const ColumnSum& op) { return by_size(op.kKind, op.x); }
PricePoint point(const LayerNorm& op) { return by_size(op.kKind, op.y); }
PricePoint point(const LayerNormBackward& op) { return by_size(op.kKind, op.dx); }
PricePoint point(const ColumnMoments& op) { return by_size(op.kKind, op.x); }
PricePoint point(const BatchNorm& op) { return by_size(op.kKind, op.y); }
PricePoint point(const BatchNormBackward& op) { return by_size(op.kKind, op.dx); }

PricePoint point(const Loss& op) {
  const double targets = std::max(1.0, real(op.targets.rows()));
  return {op.loss_kind == LossKind::softmax ? op.kKind : "loss/sigmoid",
          op.grad.shape.size() == 0,
          {{"targets", targets},
           {"width", real(op.logits.cols())},
           {"rows_per_target", real(op.logits.rows()) / targets}}};
}
PricePoint point(const Score& op) {
  return {op.loss_kind == LossKind::softmax ? op.kKind : "score/sigmoid",
          op.targets.rows() == 0,
          {{"targets", real(op.targets.rows())}, {"width", real(op.logits.cols())}}};
}
PricePoint point(const Sgd& op) { return by_elements(op.kKind, op.w); }
PricePoint point(const Adam& op) { return by_elements(op.kKind, op.w); }

}  // namespace

PricePoint::PricePoint(std::string_view its_key, bool is_empty,
                       std::initializer_list<Coordinate> coordinates)
    : key(its_key), empty(is_empty) {
  ORRERY_ASSERT(coordinates.size() <= items_.size());
  for (const Coordinate& c : coordinates) items_[count_++] = c;
}

std::optional<double> PricePoint::at(std::string_view axis) const {
  for (const Coordinate& c : *this)
    if (c.axis == axis) return c.value;
  return std::nullopt;
}

PricePoint price_point(const Op& op) {
  return std::visit(
      []<class T>(const T& local) -> PricePoint {
        if constexpr (Communicates<T>)
          assertion_failed("operations that communicate have no price of their own", __FILE__,
                           __LINE__);
        else
          return point(local);
      },
      op);
}

const std::vector<std::string>& price_keys() {
  static const std::vector<std::string> keys{"load/features",
                                             "load/labels",
                                             "load/indices",
                                             "load/values",
                                             "load/weights",
                                             "fill",
                                             "copy",
                                             "save",
                                             "spmm",
                                             "spmm/heads",
                                             "spmm/columns",
                                             "sddmm",
                                             "edge_softmax",
                                             "edge_softmax/ends",
                                             "edge_softmax_backward",
                                             "edge_softmax_backward/ends",
                                             "gemm",
                                             "gemm/transpose_a",
                                             "gemm/transpose_b",
                                             "gemm/transpose_ab",
                                             "gather_rows",
                                             "scatter_add_rows",
                                             "relabel",
                                             "transpose_sparse",
                                             "activate",
                                             "activate/dropout",
                                             "activate_backward",
                                             "activate_backward/dropout",
                                             "column_sum",
                                             "layer_norm",
                                             "layer_norm_backward",
                                             "column_moments",
                                             "batch_norm",
                                             "batch_norm_backward",
                                             "loss",
                                             "loss/sigmoid",
                                             "score",
                                             "score/sigmoid",
                                             "sgd",
                                             "adam"};
  return keys;
}

bool has_axis(std::string_view key, std::string_view axis) {
  const auto one_of = [axis](std::initializer_list<std::string_view> axes) {
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
  };
  const std::string_view kind = key.substr(0, key.find('/'));
  if (axis == "threads" || axis == "bytes") return true;
  if ((key == "spmm/heads" || kind == "sddmm") && one_of({"heads", "columns"})) return true;
  if (kind == "spmm" || kind == "sddmm")
    return one_of({"rows", "degree", "width", "ragged", "reuse_bytes", "skew"});
  if (kind == "gemm") return one_of({"m", "n", "n16", "k"});
  if (kind == "loss") return one_of({"targets", "width", "rows_per_target"});
  if (kind == "score") return one_of({"targets", "width"});
  if (kind == "sgd" || kind == "adam" || kind == "relabel" || kind == "transpose_sparse")
    return axis == "size";
  return one_of({"size", "width", "ragged"});
}

}  // namespace orrery::sim
