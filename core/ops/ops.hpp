// The closed vocabulary of operations: everything a strategy may ask a machine to do.
//
// Each op is a plain struct that answers the same six questions, so that nothing about an op is
// written anywhere else and a new op does not compile until it answers them:
//   kKind         its name in programs, timelines and profiles
//   validate()    its shape rules; throws ShapeError
//   flops()       floating-point operations
//   bytes()       bytes moved between memory and the device's cores (lower bound); of one that
//                 communicates, bytes over links
//   operands()    which windows it reads and writes
//   attributes()  the rest of it, for printing
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "core/graph/dataset.hpp"
#include "core/ops/edge_ops.hpp"
#include "core/ops/one_sided.hpp"
#include "core/ops/operands.hpp"
#include "core/ops/tensor.hpp"

namespace orrery {

// ---- data into tensors -------------------------------------------------------------------------

/// Rows of the data set's features: row i of the target is vertex (*vertices)[i].
struct FeatureRows {
  std::shared_ptr<const Features> features;
  std::shared_ptr<const std::vector<Vertex>> vertices;
  std::int64_t col0 = 0;
};
/// Labels of the same vertices, [rows, columns of the labels] i32.
struct LabelRows {
  std::shared_ptr<const Labels> labels;
  std::shared_ptr<const std::vector<Vertex>> vertices;
};
/// An index array, [n, 1] i32.
struct IndexArray {
  std::shared_ptr<const std::vector<Vertex>> values;
};
/// Given values, f32: those of a sparse pattern, or of a saved tensor.
struct FloatArray {
  std::shared_ptr<const std::vector<float>> values;
};
/// Initial weights, uniform in ±limit: element e of parameter `parameter` is a function of (seed,
/// parameter, e).
struct UniformWeights {
  std::uint64_t seed = 0;
  std::uint32_t parameter = 0;
  float limit = 0;
};
/// Data that does not exist: that of a graph given by its statistics. Such a load can be recorded,
/// counted and priced, but not executed.
struct Unknown {
  std::string_view what;  ///< "features", "labels", "indices", "values"
};
using Source =
    std::variant<FeatureRows, LabelRows, IndexArray, FloatArray, UniformWeights, Unknown>;
/// Called by a backend that is asked to load it.
///
/// Errors    NeedsStructure
[[noreturn]] void refuse(const Unknown& data);

/// to ← rows of a source; `to` must be contiguous unless the source is FeatureRows.
struct Load {
  Source from;
  Tensor to;
  static constexpr std::string_view kKind = "load";
  void validate() const;
  double flops() const { return 0; }
  double bytes() const { return static_cast<double>(to.bytes()); }
  Operands operands() const { return {{"to", to, Access::write}}; }
  std::string attributes() const;
};

/// y ← value everywhere.
struct Fill {
  Tensor y;
  double value = 0;
  static constexpr std::string_view kKind = "fill";
  void validate() const;
  double flops() const { return 0; }
  double bytes() const { return static_cast<double>(y.bytes()); }
  Operands operands() const { return {{"y", y, Access::write}}; }
  std::string attributes() const;
};

/// y ← scale·x, plus the old y with `accumulate`; equal shapes, any spaces.
///
/// Shapes    a scale other than 1, and sums, need f32
struct Copy {
  Tensor x, y;
  float scale = 1;
  bool accumulate = false;
  static constexpr std::string_view kKind = "copy";
  void validate() const;
  double flops() const;
  double bytes() const { return static_cast<double>(operands().bytes()); }
  Operands operands() const {
    return {{"x", x, Access::read}, {"y", y, accumulate ? Access::update : Access::write}};
  }
  std::string attributes() const;
};

/// to ← x, into memory of the host program: this is how values leave a run (a checkpoint). `to` has
/// its values once the lane has passed this op.
///
/// Shapes    x [n, f] f32, contiguous
struct Save {
  Tensor x;
  std::shared_ptr<std::vector<float>> to;
  static constexpr std::string_view kKind = "save";
  void validate() const;
  double flops() const { return 0; }
  double bytes() const { return static_cast<double>(x.bytes()); }
  Operands operands() const { return {{"x", x, Access::read}}; }
  std::string attributes() const { return {}; }
};

// ---- products ----------------------------------------------------------------------------------

/// y ← a·x + beta·y, the sparse-dense product. With h values for each entry, its heads, head k
/// weighs the columns [k·f/h, (k+1)·f/h): y[i, c] ← Σ_e values[e, c / (f/h)]·x[col(e), c] +
/// beta·y[i, c], over the entries e of row i.
///
/// Shapes    a [n, m] sparse · values [nnz, h] f32, contiguous, or absent (all ones) · x [m, f] ·
///           y [n, f], h divides f
/// Aliasing  x and y must not overlap
/// Cost      2·nnz·f FLOP; nnz·(4 + 4·h·valued) + 8·n + (m + n + n·(beta ≠ 0))·f·4 bytes (each row
///           of x read once: a lower bound)
struct SpMM {
  Sparse a;
  std::optional<Tensor> values;
  Tensor x, y;
  float beta = 0;
  static constexpr std::string_view kKind = "spmm";
  std::int64_t heads() const { return values ? values->cols() : 1; }
  void validate() const;
  double flops() const;
  double bytes() const;
  Operands operands() const;
  std::string attributes() const;
};

/// c ← op(a)·op(b) + beta·c, the dense product; op transposes if asked to.
///
/// Shapes    op(a) [m, k] · op(b) [k, n] · c [m, n]
/// Cost      2·m·n·k FLOP
struct Gemm {
  Tensor a, b, c;
  bool transpose_a = false, transpose_b = false;
  float beta = 0;
  static constexpr std::string_view kKind = "gemm";
  void validate() const;
  double flops() const;
  double bytes() const { return static_cast<double>(operands().bytes()); }
  Operands operands() const;
  std::string attributes() const;
};

// ---- row movement ------------------------------------------------------------------------------

/// y[i] ← x[index[i]].
///
/// Shapes    x [m, f] · index [n, 1] i32, in [0, m) · y [n, f], of the type of x, or f32 of f16
struct GatherRows {
  Tensor x, index, y;
  static constexpr std::string_view kKind = "gather_rows";
  void validate() const;
  double flops() const { return 0; }
  double bytes() const;
  Operands operands() const;
  std::string attributes() const { return {}; }
};

/// y[index[i]] += x[i], in the order of i (indices may repeat).
///
/// Shapes    x [n, f] · index [n, 1] i32 · y [m, f]
struct ScatterAddRows {
  Tensor x, index, y;
  static constexpr std::string_view kKind = "scatter_add_rows";
  void validate() const;
  double flops() const { return static_cast<double>(x.shape.size()); }
  double bytes() const;
  Operands operands() const;
  std::string attributes() const { return {}; }
};

// ---- drawn edges -------------------------------------------------------------------------------

/// Every column of `a` becomes its place in a list: where it was vertices[i], it is i.
///
/// Requires  all columns of a are in the list
/// Shapes    a [n, m] sparse, with any columns · vertices [m, 1] i32, distinct · table [slots(m), 1]
///           i32, with undefined contents before and after
/// Cost      4·slots bytes to clear the table, 12·m to fill it, 16·nnz to look up all columns
struct Relabel {
  Sparse a;
  Tensor vertices, table;
  static constexpr std::string_view kKind = "relabel";
  /// A power of two, so large that at most half of the table is used.
  static std::int64_t slots(std::int64_t vertices);
  void validate() const;
  double flops() const { return 0; }
  double bytes() const;
  Operands operands() const {
    return {{"vertices", vertices, Access::read}, {"table", table, Access::write}};
  }
  std::string attributes() const { return {}; }
};

/// t ← aᵀ with its values. Entries of a row of t come in the order of the rows of a.
///
/// Shapes    a [n, m] sparse · values [nnz, 1] f32 · t [m, n] sparse, declared by its Counts ·
///           t_values [nnz, 1] f32; nnz below 2^31
/// Cost      nnz·(3·8 + 12) bytes: entries are sorted by columns, which takes three passes for the
///           2^24 columns of a large batch, then written; 8 bytes for each row offset
struct TransposeSparse {
  Sparse a;
  Tensor values;
  Sparse t;
  Tensor t_values;
  static constexpr std::string_view kKind = "transpose_sparse";
  void validate() const;
  double flops() const { return 0; }
  double bytes() const;
  Operands operands() const {
    return {{"values", values, Access::read}, {"t_values", t_values, Access::write}};
  }
  std::string attributes() const { return {}; }
};

/// The entries of `a` in the order of their columns, for layers that weigh each of them: t ← aᵀ without
/// values; order ← for each entry of t its number in a; row j of by_column ← these numbers of the
/// entries in column j. Entries of a column come in the order of the rows of a.
///
/// Shapes    a [n, m] sparse · t [m, n], by_column [m, nnz] sparse, declared by their Counts · order
///           [nnz, 1] i32; nnz below 2^31
/// Cost      as that of TransposeSparse; row offsets are written twice
struct EntriesByColumn {
  Sparse a, t, by_column;
  Tensor order;
  static constexpr std::string_view kKind = "entries_by_column";
  void validate() const;
  double flops() const { return 0; }
  double bytes() const;
  Operands operands() const { return {{"order", order, Access::write}}; }
  std::string attributes() const { return {}; }
};

// ---- element-wise ------------------------------------------------------------------------------

/// relu: x above 0, else 0. elu: x above 0, else eˣ − 1 (Clevert et al. 2016, alpha 1).
enum class Activation : std::uint8_t { none, relu, elu };

/// Inverted dropout whose mask is a function of (seed, epoch, layer, global row, column), never of
/// the rank.
///
/// Rule      Element (row r, column c) reads 16 bits: half h = (c mod 8) of random_bits(seed,
///           Purpose::dropout, r, c / 8, epoch·4096 + layer), word h / 2, low half first. It is
///           dropped when they are below round(p·65536), else scaled by 1 / (1 − p).
/// Shapes    row_ids [n, 1] i32: global row of each row; col0: global column of the first column, a
///           multiple of 8
struct Dropout {
  double p = 0;
  std::uint64_t seed = 0;
  std::uint32_t epoch = 0, layer = 0;  // layer < 4096
  Tensor row_ids;
  std::int64_t col0 = 0;
};

/// y ← dropout(activation(x + bias)).
///
/// Shapes    x, y [n, f] · bias [1, f]
/// Aliasing  x and y may be the same window
struct Activate {
  Tensor x;
  std::optional<Tensor> bias;
  Tensor y;
  Activation activation = Activation::none;
  std::optional<Dropout> dropout;
  static constexpr std::string_view kKind = "activate";
  void validate() const;
  double flops() const;
  double bytes() const { return static_cast<double>(operands().bytes()); }
  Operands operands() const;
  std::string attributes() const;
};

/// dx ← gradient at x of Activate, from dy and, unless the activation is none, the stored y. relu:
/// the passed elements have y > 0. elu: the slope is 1 + y·(1 − p) for y < 0. Its mask, like that
/// of none, is drawn again, because y may be 0 for a dropped element and for x = 0.
///
/// Aliasing  dy, y and dx may be the same windows
struct ActivateBackward {
  Tensor dy;
  std::optional<Tensor> y;  // absent for none, else required
  Tensor dx;
  Activation activation = Activation::none;
  std::optional<Dropout> dropout;
  static constexpr std::string_view kKind = "activate_backward";
  void validate() const;
  /// Whether it draws the mask.
  bool draws() const { return dropout && activation != Activation::relu; }
  double flops() const;
  double bytes() const { return static_cast<double>(operands().bytes()); }
  Operands operands() const;
  std::string attributes() const;
};

/// y ← Σ_i x[i] + beta·y.
///
/// Shapes    x [n, f] · y [1, f]
struct ColumnSum {
  Tensor x, y;
  float beta = 0;
  static constexpr std::string_view kKind = "column_sum";
  void validate() const;
  double flops() const { return static_cast<double>(x.shape.size()); }
  double bytes() const { return static_cast<double>(operands().bytes()); }
  Operands operands() const;
  std::string attributes() const;
};

/// normalised ← (x − mean) / sqrt(var + 1e-5) along each row; rstd ← 1 / sqrt(var + 1e-5); y ←
/// normalised ∘ gain + shift.
///
/// Shapes    x, normalised, y [n, f] · gain, shift [1, f] · rstd [n, 1]
/// Aliasing  normalised may be x; y may be x when normalised is not
struct LayerNorm {
  Tensor x, gain, shift, normalised, rstd, y;
  static constexpr std::string_view kKind = "layer_norm";
  void validate() const;
  double flops() const { return 8.0 * static_cast<double>(x.shape.size()); }
  double bytes() const { return static_cast<double>(operands().bytes()); }
  Operands operands() const;
  std::string attributes() const { return {}; }
};

/// Adjoint of LayerNorm: dx ← rstd·(g − mean(g) − normalised·mean(g ∘ normalised)), g = dy ∘ gain;
/// dgain ← Σ_i dy ∘ normalised; dshift ← Σ_i dy.
///
/// Aliasing  dx may be dy
struct LayerNormBackward {
  Tensor dy, normalised, rstd, gain, dx, dgain, dshift;
  static constexpr std::string_view kKind = "layer_norm_backward";
  void validate() const;
  double flops() const { return 12.0 * static_cast<double>(dy.shape.size()); }
  double bytes() const { return static_cast<double>(operands().bytes()); }
  Operands operands() const;
  std::string attributes() const { return {}; }
};

/// sum ← Σ_i x[i]; product ← Σ_i x[i] ∘ z[i], summed in double.
///
/// Shapes    x, z [n, f] · sum, product [1, f], both f32 or both f64
/// Aliasing  x and z may be the same window
struct ColumnMoments {
  Tensor x, z, sum, product;
  static constexpr std::string_view kKind = "column_moments";
  void validate() const;
  double flops() const { return 3.0 * static_cast<double>(x.shape.size()); }
  double bytes() const;
  Operands operands() const;
  std::string attributes() const { return {}; }
};

/// Every column normalised over rows: normalised ← (x − mean) / sqrt(variance + 1e-5); y ←
/// normalised ∘ gain + shift.
///
/// With moments (Σx, Σx² and the number of their rows, which may include rows of other ranks) mean
/// and variance are those of the moments, and the running averages ← 0.9·averages + 0.1·(mean |
/// variance). Without moments, as in an evaluation, the running averages are used, and normalised
/// is not written.
///
/// Shapes    x, normalised, y [n, f] · moments [1, 2f + 1] f64 · averages [2, f] · gain, shift
///           [1, f]
/// Aliasing  normalised may be x; y may be x when normalised is not
/// Source    Ioffe and Szegedy 2015, algorithms 1 and 2; averages of the variance as it is, as in
///           PipeGCN's public code (PyTorch takes n/(n − 1) of it)
struct BatchNorm {
  Tensor x;
  std::optional<Tensor> moments;
  Tensor averages, gain, shift;
  std::optional<Tensor> normalised;  // as moments: both or neither
  Tensor y;
  static constexpr std::string_view kKind = "batch_norm";
  void validate() const;
  double flops() const { return 4.0 * static_cast<double>(x.shape.size()); }
  double bytes() const { return static_cast<double>(operands().bytes()); }
  Operands operands() const;
  std::string attributes() const { return {}; }
};

/// Adjoint of BatchNorm with moments. The first `counted` rows are part of the moments: dx ←
/// gain·rstd·(dy − (s + normalised ∘ p) / n) on those rows, gain·rstd·dy on the others. n and rstd
/// = 1 / sqrt(variance + 1e-5) follow from the moments; (s | p) = sums: Σ dy and Σ dy ∘ normalised
/// over all rows that were normalised by them.
///
/// Shapes    dy, normalised, dx [n, f] · moments [1, 2f + 1] f64 · sums [1, 2f] · gain [1, f]
/// Aliasing  dx may be dy
struct BatchNormBackward {
  Tensor dy, normalised, moments, sums, gain, dx;
  std::int64_t counted = 0;
  static constexpr std::string_view kKind = "batch_norm_backward";
  void validate() const;
  double flops() const { return 5.0 * static_cast<double>(dy.shape.size()); }
  double bytes() const { return static_cast<double>(operands().bytes()); }
  Operands operands() const;
  std::string attributes() const;
};

// ---- loss and update ---------------------------------------------------------------------------

enum class LossKind : std::uint8_t { softmax, sigmoid };

/// Cross-entropy of the target rows: loss ← weight·Σ_t scale·w_t·ℓ_t, plus the old loss with
/// `accumulate`; grad ← scale·w_t·∂ℓ_t/∂logits on target rows, 0 on all others; w_t = 1 without
/// target_weights. softmax: ℓ = −log softmax(logits)[label]; sigmoid: ℓ = mean over classes of the
/// binary cross-entropies.
///
/// Shapes    logits, grad [n, classes] · labels [n, 1] (softmax) or [n, classes] (sigmoid) i32 ·
///           targets [t, 1] i32, local rows ascending, distinct · target_weights [t, 1] f32 · loss
///           [1, 1] f64 (summed in double)
/// Aliasing  grad may be logits
struct Loss {
  LossKind loss_kind = LossKind::softmax;
  Tensor logits, labels, targets, grad, loss;
  double scale = 1;
  double weight = 1;  ///< weight of this step's loss among several
  bool accumulate = false;
  std::optional<Tensor> target_weights{};
  static constexpr std::string_view kKind = "loss";
  void validate() const;
  double flops() const;
  double bytes() const;
  Operands operands() const;
  std::string attributes() const;
};

/// Counts for micro-F1 over the target rows: counts ← (true positives, false positives, false
/// negatives), plus the old counts with `accumulate`. softmax: the predicted class is the first
/// largest logit, so F1 is the accuracy; sigmoid: positive where logit > 0.
///
/// Shapes    as Loss; counts [1, 3] f64
struct Score {
  LossKind loss_kind = LossKind::softmax;
  Tensor logits, labels, targets, counts;
  bool accumulate = false;
  static constexpr std::string_view kKind = "score";
  void validate() const;
  double flops() const;
  double bytes() const;
  Operands operands() const;
  std::string attributes() const;
};

/// w ← w − rate·(g + decay·w).
struct Sgd {
  Tensor w, g;
  float rate = 0, decay = 0;
  static constexpr std::string_view kKind = "sgd";
  void validate() const;
  double flops() const { return 4.0 * static_cast<double>(w.shape.size()); }
  double bytes() const { return static_cast<double>(operands().bytes()); }
  Operands operands() const;
  std::string attributes() const;
};

/// Adam with L2 decay added to the gradient: g' = g + decay·w; m ← β1·m + (1 − β1)·g'; v ← β2·v +
/// (1 − β2)·g'²; w ← w − rate·(m / (1 − β1^step)) / (sqrt(v / (1 − β2^step)) + ε).   step counts
/// from 1.
struct Adam {
  Tensor w, g, m, v;
  float rate = 0, decay = 0, beta1 = 0.9F, beta2 = 0.999F, epsilon = 1e-8F;
  std::int32_t step = 1;
  static constexpr std::string_view kKind = "adam";
  void validate() const;
  double flops() const { return 14.0 * static_cast<double>(w.shape.size()); }
  double bytes() const { return static_cast<double>(operands().bytes()); }
  Operands operands() const;
  std::string attributes() const;
};

// ---- collectives -------------------------------------------------------------------------------
// Windows of collectives are contiguous. bytes() is what one rank receives (logical bytes).

/// Sends `send` to group index `to` and receives `recv` from group index `from`; either half may be
/// absent.
///
/// Placement send: on this rank; recv: on this rank, from the `send` of index `from`
struct SendRecv {
  std::optional<Tensor> send, recv;
  int to = -1, from = -1;
  Group group;
  static constexpr std::string_view kKind = "send_recv";
  static constexpr bool kCommunicates = true;
  void validate() const;
  double flops() const { return 0; }
  double bytes() const { return recv ? static_cast<double>(recv->bytes()) : 0; }
  Operands operands() const;
  std::string attributes() const;
};

/// x of every rank ← x of the root.
///
/// Placement x: a copy on each rank of the group
struct Broadcast {
  Tensor x;
  int root = 0;
  Group group;
  static constexpr std::string_view kKind = "broadcast";
  static constexpr bool kCommunicates = true;
  void validate() const;
  double flops() const { return 0; }
  double bytes() const { return static_cast<double>(x.bytes()); }
  Operands operands() const { return {{"x", x, Access::update}}; }
  std::string attributes() const;
};

/// A sparse pattern and its values to every rank: a and values of every rank ← those of the root.
/// On the other ranks `a` is a window of a pattern that was declared by its Counts and is at least
/// as large.
///
/// Shapes    values [nnz of a, 1] f32
/// Placement a, values: a copy on each rank of the group
/// Cost      8 bytes per row offset, 4 per column number, 4 per value
struct BroadcastSparse {
  Sparse a;
  Tensor values;
  int root = 0;
  Group group;
  static constexpr std::string_view kKind = "broadcast_sparse";
  static constexpr bool kCommunicates = true;
  void validate() const;
  double flops() const { return 0; }
  double bytes() const { return static_cast<double>(a.bytes() + values.bytes()); }
  Operands operands() const { return {{"values", values, Access::update}}; }
  std::string attributes() const;
};

/// x of the root ← Σ over ranks of x, summed in rank order (f32 or f64); the other ranks keep their
/// x.
///
/// Placement x: a summand on each rank; then the sum, on the root alone
struct Reduce {
  Tensor x;
  int root = 0;
  Group group;
  static constexpr std::string_view kKind = "reduce";
  static constexpr bool kCommunicates = true;
  void validate() const;
  double flops() const {
    return static_cast<double>(x.shape.size()) * (group.size - 1) / group.size;
  }
  /// Averaged over ranks: the root receives x from each of the others.
  double bytes() const { return static_cast<double>(x.bytes()) * (group.size - 1) / group.size; }
  Operands operands() const { return {{"x", x, Access::update}}; }
  std::string attributes() const;
};

/// x of every rank ← Σ over ranks of x, summed in rank order (f32 or f64).
///
/// Placement x: a summand on each rank; then the sum, on all of them
struct AllReduce {
  Tensor x;
  Group group;
  static constexpr std::string_view kKind = "all_reduce";
  static constexpr bool kCommunicates = true;
  void validate() const;
  double flops() const;
  double bytes() const;
  Operands operands() const { return {{"x", x, Access::update}}; }
  std::string attributes() const;
};

/// y ← this rank's slice of Σ over ranks of x; rank index i gets rows [Σ_{j<i} rows[j], +rows[i]).
///
/// Shapes    x [Σ rows, f] · y [rows[i], f]
/// Placement x: a summand on each rank; y: slice i of the sum on index i
struct ReduceScatter {
  Tensor x, y;
  std::shared_ptr<const std::vector<std::int64_t>> rows;  // per group index
  Group group;
  static constexpr std::string_view kKind = "reduce_scatter";
  static constexpr bool kCommunicates = true;
  void validate() const;
  double flops() const;
  double bytes() const;
  Operands operands() const;
  std::string attributes() const;
};

/// y ← the x of all ranks, one below the other in group order.
///
/// Shapes    x [rows[i], f] · y [Σ rows, f]
/// Placement x: slice i on index i; y: a copy on each rank
struct AllGather {
  Tensor x, y;
  std::shared_ptr<const std::vector<std::int64_t>> rows;  // per group index
  Group group;
  static constexpr std::string_view kKind = "all_gather";
  static constexpr bool kCommunicates = true;
  void validate() const;
  double flops() const { return 0; }
  double bytes() const;
  Operands operands() const;
  std::string attributes() const;
};

/// Rows of x are sent in group order, send_rows[j] to index j. Rows of y arrive likewise,
/// recv_rows[j] from index j.
///
/// Shapes    x [Σ send_rows, f] · y [Σ recv_rows, f]
/// Placement x, y: rows of each rank's own
struct AllToAllV {
  Tensor x, y;
  std::shared_ptr<const std::vector<std::int64_t>> send_rows, recv_rows;  // per group index
  Group group;
  static constexpr std::string_view kKind = "all_to_all_v";
  static constexpr bool kCommunicates = true;
  void validate() const;
  double flops() const { return 0; }
  double bytes() const { return static_cast<double>(y.bytes()); }
  Operands operands() const;
  std::string attributes() const;
};

using Op = std::variant<Load, Fill, Copy, Save, SpMM, Sddmm, EdgeSoftmax, EdgeSoftmaxBackward, Gemm,
                        GatherRows, ScatterAddRows, Relabel, TransposeSparse, EntriesByColumn,
                        Activate, ActivateBackward, ColumnSum, LayerNorm, LayerNormBackward,
                        ColumnMoments, BatchNorm, BatchNormBackward, Loss, Score, Sgd, Adam,
                        SendRecv, Broadcast, BroadcastSparse, Reduce, AllReduce, ReduceScatter,
                        AllGather, AllToAllV, Expose, Withdraw, Pull, Push>;

/// All ranks of its group call it, in the same order.
template <class T>
concept Collective = requires {
  T::kCommunicates;
};
/// One rank calls it; the owners of the rows make no call.
template <class T>
concept OneSided = requires {
  T::kOneSided;
};
/// A communicator executes it, not a kernel.
template <class T>
concept Communicates = Collective<T> || OneSided<T>;

// ---- the same for any op ------------------------------------------------------------------------

std::string_view kind_of(const Op& op);
/// The static name that equals `name`; empty if no op has this name.
std::string_view kind_named(std::string_view name);
void validate(const Op& op);
double flops_of(const Op& op);
double bytes_of(const Op& op);
Operands operands_of(const Op& op);
struct SparseOperand {
  std::string_view name;
  Sparse sparse;
  Access access = Access::read;
};
/// The sparse operands of an op: at most three, without allocation.
class SparseOperands {
 public:
  SparseOperands() = default;
  SparseOperands(std::initializer_list<SparseOperand> items) : count_(items.size()) {
    std::copy(items.begin(), items.end(), items_.begin());
  }
  const SparseOperand* begin() const { return items_.data(); }
  const SparseOperand* end() const { return items_.data() + count_; }

 private:
  std::array<SparseOperand, 3> items_;
  std::size_t count_ = 0;
};
SparseOperands sparse_of(const Op& op);
/// The group of a collective, or of the store of a one-sided op; nothing for a local op.
std::optional<Group> group_of(const Op& op);
/// Whether all ranks of its group call it.
bool is_collective(const Op& op);
/// The store that the op opens, closes, reads or adds to.
std::optional<Store> store_of(const Op& op);
/// Whether it is a collective of one rank, which changes nothing.
bool moves_nothing(const Op& op);
/// The same op in another group.
///
/// Requires  an op that communicates
Op in_group(Op op, const Group& group);
/// "spmm a=s0[5x5 nnz 9] values=t1[9x1] x=t2[5x4] y>t3[5x4] beta=0": = reads, > writes, * updates.
std::string to_string(const Op& op);

/// Logical bytes that `rank` receives from each other rank by a collective (flat attribution):
/// broadcast: all from the root; reduce: the root receives the operand from each; all-reduce of n
/// bytes: 2n/p from each peer; reduce-scatter: its slice from each; all-gather and all-to-all: each
/// peer's rows; pull: its rows from each owner. Calls visit(peer rank, bytes) for every peer with
/// bytes > 0. Local ops call nothing, and neither do ops that only send words about a store
/// (expose, withdraw).
void received_bytes(const Op& op, int rank,
                    const std::function<void(int peer, double bytes)>& visit);

/// Logical bytes that other ranks receive from `rank` because of its one-sided op: row numbers, 4
/// bytes each, and for a push also its rows. The owners count them when they serve the op; no op of
/// theirs has them. Calls visit(owner rank, bytes) for every owner with bytes > 0; other ops call
/// nothing.
void served_bytes(const Op& op, int rank,
                  const std::function<void(int owner, double bytes)>& visit);

}  // namespace orrery
