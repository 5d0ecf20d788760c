#include "experiments/calibrate/op_builders.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/rng.hpp"
#include "core/graph/reuse.hpp"

namespace orrery::calibrate {
namespace {

/// Buffers of one size that an epoch touches between two calls of the same operation: two layers
/// forward and backward have about this many.
constexpr std::int64_t kSets = 12;
/// The cycled buffers need not be much larger than the caches.
constexpr std::int64_t kCycledBytes = std::int64_t{96} << 20;
/// The number of patterns, which take long to make.
constexpr std::int64_t kPatternSets = 3;

std::int64_t whole(const Sizes& sizes, const char* axis) {
  const auto found = sizes.find(axis);
  ORRERY_ASSERT(found != sizes.end());
  return std::max<std::int64_t>(1, std::llround(found->second));
}

/// The width (or the columns of a head), or a ragged number near it.
std::int64_t width_of(const Sizes& sizes, const char* axis = "width") {
  const std::int64_t width = whole(sizes, axis);
  const auto ragged = sizes.find("ragged");
  if (ragged == sizes.end() || ragged->second < 2 || width % 8 != 0) return width;
  return width - (width >= 32 ? 7 : width >= 16 ? 3 : 1);
}

/// A matrix by size and width.
struct Matrix {
  explicit Matrix(const Sizes& sizes)
      : cols(width_of(sizes)), rows(std::max<std::int64_t>(1, whole(sizes, "size") / cols)) {}
  std::int64_t cols, rows;
};

using Build = std::function<Op(Workspace&, const Sizes&, std::uint32_t seed)>;

/// The exponent a of rows whose numbers of edges fall as i^-a, i from 1, such that the largest is
/// `skew` times the mean: skew = (1 - a) * rows^a, with integrals for sums. The skew grows with a
/// up to 1 - 1 / ln(rows), where it is largest.
double exponent_of(double skew, std::int64_t rows) {
  const double size = static_cast<double>(std::max<std::int64_t>(rows, 3));
  double low = 0, high = 1 - 1 / std::log(size);
  for (int i = 0; i < 40; ++i) {
    const double a = (low + high) / 2;
    ((1 - a) * std::pow(size, a) < skew ? low : high) = a;
  }
  return low;
}

/// The ends of rows that share `edges`; long and short rows are mixed.
std::vector<EdgeIndex> skewed_offsets(std::int64_t rows, double edges, double skew) {
  constexpr std::int64_t kStride = 1'000'003;  // a prime: visits all rows but for multiples of it
  const double a = exponent_of(skew, rows);
  std::vector<double> share(static_cast<std::size_t>(rows));
  double sum = 0;
  for (std::int64_t i = 0; i < rows; ++i)
    sum += share[at(i * kStride % rows)] = std::pow(static_cast<double>(i + 1), -a);
  std::vector<EdgeIndex> offsets(static_cast<std::size_t>(rows) + 1);
  double before = 0;
  for (std::size_t r = 0; r < share.size(); ++r)
    offsets[r + 1] = std::llround((before += share[r]) / sum * edges);
  return offsets;
}

/// The ends of rows of `degree` edges each.
std::vector<EdgeIndex> even_offsets(std::int64_t rows, double degree) {
  std::vector<EdgeIndex> offsets(static_cast<std::size_t>(rows) + 1);
  for (std::int64_t r = 0; r < rows; ++r)
    offsets[at(r) + 1] = std::llround(static_cast<double>(r + 1) * degree);
  return offsets;
}

/// Each column of a row is in its own part of the matrix.
std::shared_ptr<const Csr> spread_pattern(std::int64_t cols, std::vector<EdgeIndex> offsets,
                                          std::uint32_t seed) {
  auto csr = std::make_shared<Csr>();
  csr->rows = static_cast<std::int64_t>(offsets.size()) - 1;
  csr->cols = cols;
  csr->columns.reserve(static_cast<std::size_t>(offsets.back()));
  Sequence draw(seed, Purpose::features, 0);
  const double share = static_cast<double>(cols) / 4294967296.0;
  for (std::size_t r = 0; r + 1 < offsets.size(); ++r) {
    const std::int64_t edges = offsets[r + 1] - offsets[r];
    const double part = share / static_cast<double>(std::max<std::int64_t>(1, edges));
    for (std::int64_t e = 0; e < edges; ++e)
      csr->columns.push_back(static_cast<Vertex>(
          (static_cast<double>(e) * 4294967296.0 + static_cast<double>(draw.word())) * part));
  }
  csr->offsets = std::move(offsets);
  return csr;
}

/// Rows of few edges with one value each are those of a tile, whose product is added to that of other
/// tiles.
constexpr std::int64_t kFewEdges = 2;

/// The operation measured on a pattern: y = a·x, or the dots of its entries.
enum class OnPattern { product, dots };

Op product(Workspace& w, std::shared_ptr<const Csr> csr, double reuse, std::int64_t width,
           std::int64_t heads = 1) {
  const std::int64_t rows = csr->rows, cols = csr->cols, nnz = csr->nnz();
  const float beta = heads == 1 && nnz <= kFewEdges * rows ? 1 : 0;
  const Sparse a = w.pattern(std::move(csr), reuse);
  return SpMM{a, w.input(nnz, heads), w.input(cols, width), w.output(rows, width), beta};
}

Op dots(Workspace& w, std::shared_ptr<const Csr> csr, std::int64_t width, std::int64_t heads) {
  const std::int64_t rows = csr->rows, cols = csr->cols, nnz = csr->nnz();
  const Sparse a = w.pattern(std::move(csr), 1);
  return Sddmm{a, w.input(rows, width), w.input(cols, width), w.output(nnz, heads)};
}

/// Rows of edges to rows of x with this width, `longer` times as many as asked for.
std::shared_ptr<const Csr> pattern_of(const Sizes& sizes, double longer, std::int64_t width,
                                      std::uint32_t seed) {
  const auto rows = std::llround(sizes.at("rows") * longer);
  const std::int64_t cols = std::max<std::int64_t>(1, whole(sizes, "reuse_bytes") / (4 * width));
  const double degree = sizes.at("degree");
  const auto skew = sizes.find("skew");
  auto offsets = skew == sizes.end() || skew->second <= 1
                     ? even_offsets(rows, degree)
                     : skewed_offsets(rows, static_cast<double>(rows) * degree, skew->second);
  return spread_pattern(cols, std::move(offsets), seed);
}

/// Heads of this many columns each; `axis` is that of the columns.
Op heads_of(Workspace& w, const Sizes& sizes, std::uint32_t seed, std::int64_t heads,
            const char* axis, OnPattern what = OnPattern::product) {
  const std::int64_t columns = width_of(sizes, axis), width = heads * columns;
  const double longer = sizes.find(axis)->second / static_cast<double>(columns);
  auto csr = pattern_of(sizes, longer, width, seed);
  if (what == OnPattern::dots) return dots(w, std::move(csr), width, heads);
  return product(w, std::move(csr), 1, width, heads);
}

Op spmm(Workspace& w, const Sizes& sizes, std::uint32_t seed) {
  return heads_of(w, sizes, seed, 1, "width");
}
Op spmm_heads(Workspace& w, const Sizes& sizes, std::uint32_t seed) {
  return heads_of(w, sizes, seed, whole(sizes, "heads"), "columns");
}
Op spmm_columns(Workspace& w, const Sizes& sizes, std::uint32_t seed) {
  const std::int64_t width = width_of(sizes);
  const double longer = sizes.at("width") / static_cast<double>(width);
  return product(w, pattern_of(sizes, longer, width, seed), 1, width, width);
}
Op sddmm(Workspace& w, const Sizes& sizes, std::uint32_t seed) {
  return heads_of(w, sizes, seed, whole(sizes, "heads"), "columns", OnPattern::dots);
}

/// Rows with the entries of a graph of mean degree 16, or fewer where there are fewer.
constexpr std::int64_t kEntriesOfRow = 16;

/// Weights of a pattern's entries, heads wide, and the numbers at their ends.
struct EdgeWeights {
  EdgeWeights(Workspace& w, const Sizes& sizes, std::uint32_t seed)
      : m(sizes), rows((m.rows + kEntriesOfRow - 1) / kEntriesOfRow) {
    const double degree = static_cast<double>(m.rows) / static_cast<double>(rows);
    a = w.pattern(spread_pattern(rows, even_offsets(rows, degree), seed), 1);
  }
  EndScores ends(Workspace& w) const { return {w.input(rows, m.cols), w.input(rows, m.cols)}; }
  Matrix m;
  std::int64_t rows;
  Sparse a;
};

Build edge_softmax(bool with_ends) {
  return [=](Workspace& w, const Sizes& sizes, std::uint32_t seed) -> Op {
    const EdgeWeights edges(w, sizes, seed);
    const Tensor weights = w.output(edges.m.rows, edges.m.cols);
    if (!with_ends) return EdgeSoftmax{edges.a, weights, {}};
    return EdgeSoftmax{edges.a, weights, edges.ends(w)};
  };
}
Build edge_softmax_backward(bool with_ends) {
  return [=](Workspace& w, const Sizes& sizes, std::uint32_t seed) -> Op {
    const EdgeWeights edges(w, sizes, seed);
    const Tensor weights = w.input(edges.m.rows, edges.m.cols);
    const Tensor gradient = w.output(edges.m.rows, edges.m.cols);
    if (!with_ends) return EdgeSoftmaxBackward{edges.a, weights, gradient, {}, {}};
    const EndScores ends = edges.ends(w);
    return EdgeSoftmaxBackward{edges.a, weights, gradient, ends,
                               w.output(edges.rows, edges.m.cols)};
  };
}

Build gemm(bool transpose_a, bool transpose_b) {
  return [=](Workspace& w, const Sizes& sizes, std::uint32_t) -> Op {
    const std::int64_t m = whole(sizes, "m"), n = whole(sizes, sizes.contains("n") ? "n" : "n16"),
                       k = whole(sizes, "k");
    const Tensor a = transpose_a ? w.input(k, m) : w.input(m, k);
    const Tensor b = transpose_b ? w.input(n, k) : w.input(k, n);
    return Gemm{a, b, w.output(m, n), transpose_a, transpose_b, 0};
  };
}

/// Every other row of a matrix with twice as many.
Tensor every_other(Workspace& w, std::int64_t rows) {
  return w.integers(rows, 1, [](std::int64_t i) { return 2 * i + (i * 7 / 3) % 2; });
}

Op gather_rows(Workspace& w, const Sizes& sizes, std::uint32_t) {
  const Matrix m(sizes);
  return GatherRows{w.input(2 * m.rows, m.cols), every_other(w, m.rows), w.output(m.rows, m.cols)};
}
Op scatter_add_rows(Workspace& w, const Sizes& sizes, std::uint32_t) {
  const Matrix m(sizes);
  return ScatterAddRows{w.input(m.rows, m.cols), every_other(w, m.rows),
                        w.output(2 * m.rows, m.cols)};
}

/// A block as a layer of a batch has it: eight edges a row, two to a column.
std::shared_ptr<const Csr> drawn_block(const Sizes& sizes, std::uint32_t seed) {
  constexpr std::int64_t kDegree = 8;  // a factor of all sizes in the grids
  const std::int64_t rows = std::max<std::int64_t>(1, whole(sizes, "size") / kDegree);
  return spread_pattern(rows * kDegree / 2, even_offsets(rows, static_cast<double>(kDegree)), seed);
}
/// Vertices that have their places as names, so that it can be done again and again.
Op relabel(Workspace& w, const Sizes& sizes, std::uint32_t seed) {
  const Sparse a = w.pattern(drawn_block(sizes, seed), 1);
  return Relabel{a, w.integers(a.shape.cols, 1, [](std::int64_t i) { return i; }),
                 w.integers(Relabel::slots(a.shape.cols), 1, [](std::int64_t) { return 0; })};
}
Op transpose_sparse(Workspace& w, const Sizes& sizes, std::uint32_t seed) {
  const Sparse a = w.pattern(drawn_block(sizes, seed), 1);
  const Sparse t = w.room({a.shape.cols, a.shape.rows, a.nnz});
  return TransposeSparse{a, w.input(a.nnz, 1), t, w.output(a.nnz, 1)};
}

Dropout dropout(Workspace& w, std::int64_t rows, std::uint32_t seed) {
  return {0.5, seed, 1, 1, w.integers(rows, 1, [](std::int64_t i) { return i; }), 0};
}

Op activate(Workspace& w, const Sizes& sizes, std::uint32_t) {
  const Matrix m(sizes);
  const Tensor x = w.output(m.rows, m.cols);
  return Activate{x, w.input(1, m.cols), x, Activation::relu, {}};
}
Op activate_dropout(Workspace& w, const Sizes& sizes, std::uint32_t seed) {
  const Matrix m(sizes);
  const Tensor x = w.input(m.rows, m.cols);
  return Activate{x, {}, w.output(m.rows, m.cols), Activation::none, dropout(w, m.rows, seed)};
}
Op activate_backward(Workspace& w, const Sizes& sizes, std::uint32_t) {
  const Matrix m(sizes);
  const Tensor dy = w.output(m.rows, m.cols), y = w.input(m.rows, m.cols);
  return ActivateBackward{dy, y, dy, Activation::relu, {}};
}
Op activate_backward_dropout(Workspace& w, const Sizes& sizes, std::uint32_t seed) {
  const Matrix m(sizes);
  const Tensor dy = w.input(m.rows, m.cols);
  return ActivateBackward{
      dy, {}, w.output(m.rows, m.cols), Activation::none, dropout(w, m.rows, seed)};
}
Op column_sum(Workspace& w, const Sizes& sizes, std::uint32_t) {
  const Matrix m(sizes);
  return ColumnSum{w.input(m.rows, m.cols), w.output(1, m.cols), 0};
}
Op layer_norm(Workspace& w, const Sizes& sizes, std::uint32_t) {
  const Matrix m(sizes);
  const Tensor x = w.output(m.rows, m.cols), gain = w.input(1, m.cols), shift = w.input(1, m.cols);
  return LayerNorm{x, gain, shift, w.output(m.rows, m.cols), w.output(m.rows, 1), x};
}
Op layer_norm_backward(Workspace& w, const Sizes& sizes, std::uint32_t) {
  const Matrix m(sizes);
  const Tensor dy = w.output(m.rows, m.cols), normalised = w.input(m.rows, m.cols);
  const Tensor rstd = w.input(m.rows, 1), gain = w.input(1, m.cols);
  return LayerNormBackward{
      dy, normalised, rstd, gain, dy, w.output(1, m.cols), w.output(1, m.cols)};
}

Op column_moments(Workspace& w, const Sizes& sizes, std::uint32_t) {
  const Matrix m(sizes);
  const Tensor x = w.input(m.rows, m.cols);
  return ColumnMoments{x, x, w.doubles(m.cols), w.doubles(m.cols)};
}
/// Σx, Σx² and a number of rows; their values do not change the time.
Tensor moments(Workspace& w, std::int64_t columns) { return w.doubles(2 * columns + 1); }
Op batch_norm(Workspace& w, const Sizes& sizes, std::uint32_t) {
  const Matrix m(sizes);
  const Tensor x = w.output(m.rows, m.cols), gain = w.input(1, m.cols), shift = w.input(1, m.cols);
  return BatchNorm{
      x, moments(w, m.cols), w.output(2, m.cols), gain, shift, w.output(m.rows, m.cols), x};
}
Op batch_norm_backward(Workspace& w, const Sizes& sizes, std::uint32_t) {
  const Matrix m(sizes);
  const Tensor dy = w.output(m.rows, m.cols), normalised = w.input(m.rows, m.cols);
  return BatchNormBackward{.dy = dy,
                           .normalised = normalised,
                           .moments = moments(w, m.cols),
                           .sums = w.input(1, 2 * m.cols),
                           .gain = w.input(1, m.cols),
                           .dx = dy,
                           .counted = m.rows};
}

struct Targets {
  Tensor logits, labels, targets;
};
Targets targets(Workspace& w, const Sizes& sizes, bool sigmoid, std::int64_t rows_per_target) {
  const std::int64_t n = whole(sizes, "targets"), width = whole(sizes, "width");
  const std::int64_t rows = n * rows_per_target;
  return {w.input(rows, width),
          w.integers(rows, sigmoid ? width : 1,
                     [=](std::int64_t i) { return i % (sigmoid ? 2 : width); }),
          w.integers(n, 1, [=](std::int64_t i) { return i * rows_per_target; })};
}
Build loss(LossKind kind) {
  return [kind](Workspace& w, const Sizes& sizes, std::uint32_t) -> Op {
    const Targets t = targets(w, sizes, kind == LossKind::sigmoid, whole(sizes, "rows_per_target"));
    const Tensor grad = w.output(t.logits.rows(), t.logits.cols());
    return Loss{kind, t.logits, t.labels, t.targets, grad, w.doubles(1), 1};
  };
}
Build score(LossKind kind) {
  return [kind](Workspace& w, const Sizes& sizes, std::uint32_t) -> Op {
    const Targets t = targets(w, sizes, kind == LossKind::sigmoid, 2);
    return Score{kind, t.logits, t.labels, t.targets, w.doubles(3)};
  };
}

std::shared_ptr<const std::vector<Vertex>> counting(std::int64_t n, std::int64_t step) {
  std::vector<Vertex> list(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) list[at(i)] = static_cast<Vertex>(i * step);
  return std::make_shared<const std::vector<Vertex>>(std::move(list));
}

Op load_features(Workspace& w, const Sizes& sizes, std::uint32_t) {
  const Matrix m(sizes);
  std::vector<float> values(static_cast<std::size_t>(2 * m.rows * m.cols), 0.5F);
  const auto features = dense_features(2 * m.rows, m.cols, std::move(values), "calibration", true);
  return Load{FeatureRows{features, counting(m.rows, 2)}, w.output(m.rows, m.cols)};
}
Op load_labels(Workspace& w, const Sizes& sizes, std::uint32_t) {
  const std::int64_t n = whole(sizes, "size");
  auto labels = std::make_shared<Labels>();
  labels->values.resize(static_cast<std::size_t>(2 * n));
  labels->classes = 2;
  return Load{LabelRows{labels, counting(n, 2)}, w.integers(n, 1, [](std::int64_t) { return 0; })};
}
Op load_indices(Workspace& w, const Sizes& sizes, std::uint32_t) {
  const std::int64_t n = whole(sizes, "size");
  return Load{IndexArray{counting(n, 1)}, w.integers(n, 1, [](std::int64_t) { return 0; })};
}
Op load_values(Workspace& w, const Sizes& sizes, std::uint32_t) {
  const std::int64_t n = whole(sizes, "size");
  return Load{FloatArray{std::make_shared<const std::vector<float>>(static_cast<std::size_t>(n))},
              w.output(n, 1)};
}
Op load_weights(Workspace& w, const Sizes& sizes, std::uint32_t seed) {
  return Load{UniformWeights{seed, 1, 0.1F}, w.output(whole(sizes, "size"), 1)};
}

const std::map<std::string, Build>& builders() {
  static const std::map<std::string, Build> all{
      {"load/features", load_features},
      {"load/labels", load_labels},
      {"load/indices", load_indices},
      {"load/values", load_values},
      {"load/weights", load_weights},
      {"fill",
       [](Workspace& w, const Sizes& s, std::uint32_t) -> Op {
         const Matrix m(s);
         return Fill{w.output(m.rows, m.cols), 0};
       }},
      {"copy",
       [](Workspace& w, const Sizes& s, std::uint32_t) -> Op {
         const Matrix m(s);  // columns out of a matrix that is twice as wide
         const Tensor wide = w.input(m.rows, 2 * m.cols);
         return Copy{wide.cols_at(0, m.cols), w.output(m.rows, m.cols)};
       }},
      {"save",
       [](Workspace& w, const Sizes& s, std::uint32_t) -> Op {
         return Save{w.input(whole(s, "size"), 1), std::make_shared<std::vector<float>>()};
       }},
      {"spmm", spmm},
      {"spmm/heads", spmm_heads},
      {"spmm/columns", spmm_columns},
      {"sddmm", sddmm},
      {"edge_softmax", edge_softmax(false)},
      {"edge_softmax/ends", edge_softmax(true)},
      {"edge_softmax_backward", edge_softmax_backward(false)},
      {"edge_softmax_backward/ends", edge_softmax_backward(true)},
      {"gemm", gemm(false, false)},
      {"gemm/transpose_a", gemm(true, false)},
      {"gemm/transpose_b", gemm(false, true)},
      {"gemm/transpose_ab", gemm(true, true)},
      {"gather_rows", gather_rows},
      {"scatter_add_rows", scatter_add_rows},
      {"relabel", relabel},
      {"transpose_sparse", transpose_sparse},
      {"activate", activate},
      {"activate/dropout", activate_dropout},
      {"activate_backward", activate_backward},
      {"activate_backward/dropout", activate_backward_dropout},
      {"column_sum", column_sum},
      {"layer_norm", layer_norm},
      {"layer_norm_backward", layer_norm_backward},
      {"column_moments", column_moments},
      {"batch_norm", batch_norm},
      {"batch_norm_backward", batch_norm_backward},
      {"loss", loss(LossKind::softmax)},
      {"loss/sigmoid", loss(LossKind::sigmoid)},
      {"score", score(LossKind::softmax)},
      {"score/sigmoid", score(LossKind::sigmoid)},
      {"sgd",
       [](Workspace& w, const Sizes& s, std::uint32_t) -> Op {
         const std::int64_t n = whole(s, "size");
         return Sgd{w.output(n, 1), w.input(n, 1), 1e-3F, 0};
       }},
      {"adam", [](Workspace& w, const Sizes& s, std::uint32_t) -> Op {
         const std::int64_t n = whole(s, "size");
         return Adam{.w = w.output(n, 1),
                     .g = w.input(n, 1),
                     .m = w.output(n, 1),
                     .v = w.output(n, 1),
                     .rate = 1e-3F};
       }}};
  return all;
}

/// Bytes of the operands; an arena holds at most all of them.
std::int64_t bytes_of_operands(const Op& op) {
  std::int64_t bytes = 0;
  for (const Operand& o : operands_of(op)) bytes += o.tensor.ld * o.tensor.rows() * 4 + 64;
  return bytes;
}

bool has_pattern(std::string_view key) {
  return key.starts_with("spmm") || key.starts_with("sddmm") || key.starts_with("edge_softmax") ||
         key == "relabel" || key == "transpose_sparse";
}

}  // namespace

BuildOps build_ops(const std::string& key, const Sizes& sizes) {
  const Build& build = builders().at(key);
  return [&build, key, sizes](Workspace& workspace, int rank) {
    std::vector<Op> ops;
    const std::int64_t most = has_pattern(key) || key.starts_with("load/") ? kPatternSets : kSets;
    for (std::int64_t bytes = 0;;) {
      const auto made = static_cast<std::uint32_t>(ops.size());
      ops.push_back(build(workspace, sizes, static_cast<std::uint32_t>(rank * kSets) + made));
      const std::int64_t more = bytes_of_operands(ops.back());
      bytes += more;
      if (made + 1 >= most || (made > 0 && bytes >= kCycledBytes) || !workspace.has_room(more))
        return ops;
    }
  };
}

BuildOps build_product(std::shared_ptr<const Csr> pattern, std::int64_t width) {
  const double reuse = column_reuse(*pattern);
  return [=](Workspace& workspace, int) {
    std::vector<Op> ops;
    for (std::int64_t i = 0; i < kPatternSets; ++i)
      ops.push_back(product(workspace, std::make_shared<Csr>(*pattern), reuse, width));
    return ops;
  };
}

}  // namespace orrery::calibrate
