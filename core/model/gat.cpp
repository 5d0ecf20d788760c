// Graph attention: the rows at the two ends of an edge decide its weight.
//
// The layer multiplies by W first, so rows travel with the width of its heads together. The scalars
// of the additive form are products of these rows with the vectors a. A rank with the rows of all
// sources computes their scalars itself: only rows travel, forward and backward. If rows come in
// blocks, the scalars of all sources are gathered first.
#include <fmt/core.h>

#include <cmath>

#include "core/model/convolution.hpp"
#include "core/model/layer_type.hpp"
#include "core/model/make_fit.hpp"

namespace orrery {
namespace {

/// With h heads and z = x·W: y_i = Σ_j w_ij·z_j over the in-neighbours j of i and i itself. Heads
/// stand side by side, or are averaged in the last layer. w_ij is the softmax over j of the scores
/// of the form (Attention), with attention dropout. In training z_j is summed after projection
/// dropout, while scores use all of it. Features e_ij of edges add e_ij·U to additive scores, inside
/// their leaky ReLU; those of a self-loop that the data does not have are zeros.
///
/// Memory    of each layer, beside what Model counts, in elements, s = sources(layer), m its edges,
///           f the columns of all heads: z, s·f; the weights of edges, m·h; of the additive form
///           the scalars and their gradients, 2·2·s·h, and the block-diagonal forms of a and its
///           gradient, 2·2·h·f; where heads are averaged, n·f. Layers share m·h, in training with
///           attention dropout or the dot form once more. If rows of sources come in blocks, z and
///           the scalars have inputs(layer) rows instead of s, and (s + inputs(layer))·h more. With
///           projection dropout z once more, after dropout. With features of edges m·h more.
/// Source    Veličković et al. 2018, eqs. 1 to 6; the dot form: Vaswani et al. 2017 with one W for
///           both ends and the rows that are summed, as in DGL's DotGatConv; features of edges:
///           PyG's GATConv with edge_dim, whose product of two learned factors is one U here
class GatConvolution final : public Convolution {
 public:
  GatConvolution(LayerContext& context, int layer, std::int64_t in, std::int64_t out, bool decays)
      : Convolution(context, layer, in, out),
        averages_(layer == context.model->layers && context.model->output_heads > 1),
        heads_(layer == context.model->layers ? context.model->output_heads : context.model->heads),
        width_(averages_ ? out * heads_ : out),
        weight_(
            context.parameters.add({in, width_}, Parameters::glorot(in, width_ / heads_), decays)) {
    if (additive())
      ends_ = context.parameters.add({2 * heads_, width_ / heads_},
                                     Parameters::glorot(width_ / heads_, 1), decays, "attention");
    if (const std::int64_t columns = context.model->edge_features; columns > 0)
      of_features_ = context.parameters.add({columns, heads_}, Parameters::glorot(columns, heads_),
                                            decays, "edge_features");
  }

  void allocate() override {
    const auto fit = [&](Buffer& buffer, Shape shape, std::string_view what) {
      make_fit(c_.rt, buffer, shape, fmt::format("activations/{} of layer {}", what, layer_));
    };
    fit(z_, {held(), width_}, "transformed input");
    if (c_.trains && c_.model->projection_dropout > 0)
      fit(kept_z_, {held(), width_}, "transformed input after dropout");
    fit(weights_, {edges(), heads_}, "weights of edges");
    if (averages_) fit(wide_, {rows_out(), width_}, "heads");
    if (additive()) {
      fit(scalars_, {held(), 2 * heads_}, "scalars");
      if (has_features()) fit(of_edges_, {edges(), heads_}, "scores of edges' features");
      if (!holds_sources()) {
        fit(own_right_, {held(), heads_}, "scalars that travel");
        fit(all_right_, {sources(), heads_}, "scalars of all sources");
      }
      if (!blocks_) {
        fit(blocks_, {2 * heads_, width_}, "attention vectors");
        submit(Fill{blocks(), 0});  // outside of the blocks, where nothing is ever written
      }
    }
    if (!c_.trains || !additive()) return;
    fit(scalar_gradients_, {held(), 2 * heads_}, "gradients of scalars");
    fit(block_gradients_, {2 * heads_, width_}, "gradients of attention vectors");
  }
  void release() override {
    Convolution::release();
    for (Buffer* buffer : {&z_, &kept_z_, &weights_, &wide_, &scalars_, &of_edges_, &own_right_,
                           &all_right_, &blocks_, &scalar_gradients_, &block_gradients_})
      *buffer = {};
  }

  EdgeScratch edge_scratch() const override {
    if (!c_.trains) return {};
    const bool two = c_.model->attention_dropout > 0 || !additive();
    return {two ? 2 : 1, edges() * heads_};
  }
  std::int64_t aggregated_width() const override { return width_; }
  std::int64_t scratch_width() const override { return width_; }
  bool backward_in_place() const override { return true; }

  void forward(const Tensor& x, const Tensor& y) override {
    const Tensor z = this->z(), own = z.rows_at(0, rows_in());
    const auto own_scalars = [&] {
      if (additive()) set_scalars(0, rows_in());
    };
    transform(x, c_.parameters.weight(weight_), own, 0);
    if (additive()) set_blocks();
    if (holds_sources()) {
      c_.products->bring_sources(layer_, z, own_scalars);
      if (additive()) set_scalars(rows_in(), held() - rows_in());
    } else {
      own_scalars();
      submit(Copy{right(scalars()), own_right()});
      c_.products->gather_for_sources(layer_, own_right(), all_right());
    }
    weigh_edges();
    if (drops_rows()) submit(Activate{z, {}, rows_used(), Activation::none, projection_dropout()});
    const Tensor wide = averages_ ? this->wide() : y, used = weights_used(c_.edge_scratch);
    if (holds_sources())
      submit(SpMM{e().pattern, used, rows_used(), wide, 0});
    else
      c_.products->weigh_sources(layer_, used, rows_used(), wide);
    if (averages_) average(wide, y);
  }

  void backward(const Tensor& x, const Tensor& dy, const std::optional<Tensor>& dx) override {
    const Tensor dz = c_.scratch.view(held(), width_);
    const Tensor dwide = averages_ ? wide() : dy;
    if (averages_) spread(dy, dwide);
    const Tensor used = weights_used(c_.more_edge_scratch);
    const Tensor gradient = of_edges(c_.edge_scratch);
    if (holds_sources()) {
      submit(SpMM{e().transposed, in_order_of_sources(used), dwide, dz, 0});
      submit(Sddmm{e().pattern, dwide, rows_used(), gradient});
    } else {
      c_.products->weigh_sources_adjoint(layer_, used, rows_used(), dwide, gradient, dz);
    }
    if (drops_rows()) submit(ActivateBackward{dz, {}, dz, Activation::none, projection_dropout()});
    if (drops_edges())
      submit(ActivateBackward{gradient, {}, gradient, Activation::none, edge_dropout()});
    additive() ? through_scalars(gradient, dz) : through_dots(gradient, dz);
    const auto end_gradients = [&] {
      if (additive()) set_end_gradients();
    };
    if (holds_sources())
      c_.products->bring_sources_adjoint(layer_, dz, end_gradients);
    else
      end_gradients();
    const Tensor own = dz.rows_at(0, rows_in());
    weight_gradient(x, own, c_.parameters.gradient(weight_));
    if (dx) c_.products->transform_adjoint(own, c_.parameters.weight(weight_), *dx, 0);
  }

 private:
  bool has_features() const { return of_features_ >= 0; }
  bool additive() const { return c_.model->attention == Attention::additive; }
  std::int64_t sources() const { return c_.products->sources(layer_); }
  bool holds_sources() const { return c_.products->holds_sources(); }
  /// Rows of z on this rank.
  std::int64_t held() const { return holds_sources() ? sources() : rows_in(); }
  const Edges& e() const { return c_.products->edges(layer_); }
  std::int64_t edges() const { return e().pattern.nnz; }
  std::int64_t columns_of_head() const { return width_ / heads_; }
  /// For the dot form.
  float scale() const {
    return static_cast<float>(1 / std::sqrt(static_cast<double>(columns_of_head())));
  }
  template <class T>
  void submit(const T& op) {
    c_.rt.submit(Lane::compute, op);
  }

  Tensor z() const { return z_.view(held(), width_); }
  /// z after dropout, which is summed.
  Tensor rows_used() const { return drops_rows() ? kept_z_.view(held(), width_) : z(); }
  Tensor weights() const { return weights_.view(edges(), heads_); }
  Tensor wide() const { return wide_.view(rows_out(), width_); }
  Tensor of_edges(const Buffer& buffer) const { return buffer.view(edges(), heads_); }
  Tensor blocks() const { return blocks_.view(2 * heads_, width_); }
  /// Numbers for the edges' heads at their targets, and at their sources.
  Tensor left(const Tensor& both) const { return both.rows_at(0, rows_out()).cols_at(0, heads_); }
  Tensor right(const Tensor& both) const { return both.cols_at(heads_, heads_); }
  Tensor scalars() const { return scalars_.view(held(), 2 * heads_); }
  Tensor scalar_gradients() const { return scalar_gradients_.view(held(), 2 * heads_); }

  /// If rows of sources come in blocks: the numbers at this rank's rows, and at all sources.
  Tensor own_right() const { return own_right_.view(held(), heads_); }
  Tensor all_right() const { return all_right_.view(sources(), heads_); }

  /// The columns of each head within the rows of that head: the blocks of a block-diagonal matrix,
  /// [heads, columns of a head]; there are two, one below the other.
  Tensor diagonal(const Tensor& matrix, int which) const {
    Tensor blocks = matrix.rows_at(which * heads_, heads_);
    blocks.shape.cols = columns_of_head();
    blocks.ld = width_ + columns_of_head();
    return blocks;
  }
  /// blocks() ← a, so that z·blocksᵀ are the scalars of all heads.
  void set_blocks() {
    const Tensor a = c_.parameters.weight(ends_);
    for (const int which : {0, 1})
      submit(Copy{a.rows_at(which * heads_, heads_), diagonal(blocks(), which)});
  }
  void set_scalars(std::int64_t first, std::int64_t count) {
    submit(
        Gemm{z().rows_at(first, count), blocks(), scalars().rows_at(first, count), false, true, 0});
  }
  EndScores end_scores() const {
    EndScores scores{left(scalars()), holds_sources() ? right(scalars()) : all_right()};
    if (has_features()) scores.own = of_edges(of_edges_);
    return scores;
  }

  void weigh_edges() {
    if (has_features())
      submit(Gemm{e().features, c_.parameters.weight(of_features_), of_edges(of_edges_), false,
                  false, 0});
    if (additive()) return submit(EdgeSoftmax{e().pattern, weights(), end_scores()});
    submit(Sddmm{e().pattern, z().rows_at(0, rows_out()), z(), weights()});
    submit(EdgeSoftmax{e().pattern, weights(), {}, scale()});
  }

  bool drops_edges() const { return c_.draws && c_.model->attention_dropout > 0; }
  bool drops_rows() const { return c_.draws && c_.model->projection_dropout > 0; }
  Dropout projection_dropout() const {
    const Tensor ids = holds_sources() ? e().vertices : c_.products->row_ids().rows_at(0, held());
    return {c_.model->projection_dropout,       c_.seed, *c_.draws,
            static_cast<std::uint32_t>(layer_), ids,     kFirstProjectedColumn};
  }
  Dropout edge_dropout() const {
    const auto draws = static_cast<std::uint32_t>(kMostLayersWithDrawnEdges + layer_);
    return {c_.model->attention_dropout, c_.seed, *c_.draws, draws, e().numbers, 0};
  }
  /// The weights after dropout, which are then in `dropped`.
  Tensor weights_used(const Buffer& dropped) {
    if (!drops_edges()) return weights();
    const Tensor used = of_edges(dropped);
    submit(Activate{weights(), {}, used, Activation::none, edge_dropout()});
    return used;
  }
  /// Numbers of edges, by source, in the first scratch.
  Tensor in_order_of_sources(const Tensor& values) {
    const Tensor ordered = of_edges(c_.edge_scratch);
    submit(GatherRows{values, e().order, ordered});
    return ordered;
  }

  /// The mean over heads, and its adjoint.
  void average(const Tensor& wide, const Tensor& y) {
    for (std::int64_t head = 0; head < heads_; ++head)
      submit(Copy{wide.cols_at(head * out_, out_), y, 1 / static_cast<float>(heads_), head > 0});
  }
  void spread(const Tensor& dy, const Tensor& dwide) {
    for (std::int64_t head = 0; head < heads_; ++head)
      submit(Copy{dy, dwide.cols_at(head * out_, out_), 1 / static_cast<float>(heads_)});
  }

  /// dz += the gradient that reaches z through the scalars of its rows.
  void through_scalars(const Tensor& gradient, const Tensor& dz) {
    const Tensor both = scalar_gradients();
    submit(EdgeSoftmaxBackward{e().pattern, weights(), gradient, end_scores(), left(both)});
    if (has_features())
      submit(Gemm{e().features, gradient, c_.parameters.gradient(of_features_), true, false, 0});
    submit(Fill{both.rows_at(rows_out(), held() - rows_out()).cols_at(0, heads_), 0});
    submit(SpMM{e().by_source, {}, gradient, holds_sources() ? right(both) : all_right(), 0});
    if (!holds_sources()) {
      c_.products->sum_for_sources(layer_, all_right(), own_right());
      submit(Copy{own_right(), right(both)});
    }
    submit(Gemm{both, blocks(), dz, false, false, 1});
  }
  /// The gradient of a: this rank's part, from its edges.
  void set_end_gradients() {
    const Tensor dblocks = block_gradients_.view(2 * heads_, width_);
    submit(Gemm{scalar_gradients(), z(), dblocks, true, false, 0});
    const Tensor da = c_.parameters.gradient(ends_);
    for (const int which : {0, 1})
      submit(Copy{diagonal(dblocks, which), da.rows_at(which * heads_, heads_)});
  }
  /// dz += the gradient that reaches z through the dots of its rows.
  void through_dots(const Tensor& gradient, const Tensor& dz) {
    const Tensor ordered = of_edges(c_.more_edge_scratch);
    submit(EdgeSoftmaxBackward{e().pattern, weights(), gradient, {}, {}, scale()});
    submit(GatherRows{gradient, e().order, ordered});
    submit(SpMM{e().pattern, gradient, z(), dz.rows_at(0, rows_out()), 1});
    submit(SpMM{e().transposed, ordered, z().rows_at(0, rows_out()), dz, 1});
  }

  bool averages_;  ///< heads, instead of side by side
  std::int64_t heads_, width_;
  int weight_, ends_ = -1, of_features_ = -1;
  Buffer z_, kept_z_, weights_, wide_, scalars_, of_edges_, own_right_, all_right_, blocks_,
      scalar_gradients_, block_gradients_;
};

}  // namespace

LayerType gat_layer() {
  return {.name = "gat",
          .description = "GAT: edges weighed by attention",
          .scaling = Scaling::sum,
          .self_loops = true,
          .weighs_edges = true,
          .make = [](LayerContext& context, int layer, std::int64_t in, std::int64_t out,
                     bool decays) -> std::unique_ptr<Convolution> {
            return std::make_unique<GatConvolution>(context, layer, in, out, decays);
          }};
}

}  // namespace orrery
