// Relational graph convolutions: a vertex adds up the mean of its in-neighbours by each relation,
// multiplied by the weights of that relation.
//
// Rows of other ranks travel as they come into the layer, once for all relations. The products with
// the relations come first, so that all dense products have the rows of one type of vertices, and what
// is kept for the backward pass is a mean for each relation and vertex of its destination's type.
#include <fmt/core.h>

#include <algorithm>

#include "core/base/index.hpp"
#include "core/model/convolution.hpp"
#include "core/model/layer_type.hpp"
#include "core/model/make_fit.hpp"
#include "core/model/relation/own_weights.hpp"

namespace orrery {
namespace {

/// y_i = x_i·W_0 + Σ_r m_ir·W_r, m_ir the mean of x_j over the in-neighbours j of i by relation r. W_0
/// is one for all vertices, or one for each type (GraphSAGE by relation: Hamilton et al. 2017). With
/// b bases W_r = Σ_k a_rk·V_k. With b blocks W_r = diag(Q_r1, ..., Q_rb): block k leads from the k-th
/// run of input columns to the k-th run of output columns; runs differ by one column at most. Layers
/// with fewer columns have whole W_r.
///
/// Memory    of each layer, beside what Model counts, in elements, c_r the rows of relation r: Σ c_r·in
///           (for inference max c_r·in); with bases twice (for inference once) relations·in·out. Layers
///           with sources beyond their input share s·in, s = sources(layer), the widest of them.
/// Source    Schlichtkrull et al. 2018, eqs. 2 to 4, with c_ir = |N_ir|
class RgcnConvolution final : public Convolution {
 public:
  RgcnConvolution(LayerContext& context, int layer, std::int64_t in, std::int64_t out, bool decays)
      : Convolution(context, layer, in, out),
        relations_(static_cast<int>(context.model->relations.size())),
        blocks_(has_blocks(*context.model, in, out) ? context.model->blocks : 1),
        self_(context, in, out, decays, context.model->self_by_type, "self") {
    const int bases = context.model->bases;
    if (bases > 0) {
      bases_ =
          context.parameters.add({bases, in * out}, Parameters::glorot(in, out), decays, "bases");
      coefficients_ = context.parameters.add(
          {relations_, bases}, Parameters::glorot(relations_, bases), decays, "coefficients");
      return;
    }
    for (const std::string& relation : context.model->relations)
      for (int k = 0; k < blocks_; ++k) {
        const std::int64_t from = run(in, k).count, to = run(out, k).count;
        const std::string name =
            blocks_ == 1 ? relation : fmt::format("{}.block_{}", relation, k + 1);
        own_.push_back(
            context.parameters.add({from, to}, Parameters::glorot(from, to), decays, name));
      }
  }

  void allocate() override {
    const auto fit = [&](Buffer& buffer, Shape shape, std::string_view what) {
      make_fit(c_.rt, buffer, shape, fmt::format("activations/{} of layer {}", what, layer_));
    };
    std::int64_t all = 0, most = 0;
    for (int r = 0; r < relations_; ++r) {
      all += count_of(r);
      most = std::max(most, count_of(r));
    }
    fit(means_, {c_.trains ? all : most, in_}, "means by relation");
    if (bases_ < 0) return;
    fit(combined_, {relations_, in_ * out_}, "weights of relations");
    if (c_.trains) fit(combined_gradient_, {relations_, in_ * out_}, "gradients of such weights");
  }
  void release() override {
    Convolution::release();
    for (Buffer* buffer : {&means_, &combined_, &combined_gradient_}) *buffer = {};
  }

  std::int64_t aggregated_width() const override { return in_; }
  std::int64_t scratch_width() const override { return has_all_sources() ? 0 : in_; }
  /// dy is still needed after dx has been started.
  bool backward_in_place() const override { return false; }

  void forward(const Tensor& x, const Tensor& y) override {
    const Tensor z = has_all_sources() ? x : c_.scratch.view(sources(), in_);
    if (!has_all_sources()) submit(Copy{x, z.rows_at(0, rows_in())});
    c_.products->bring_sources(layer_, z, [&] {
      self_.forward(layer_, x, y);
      if (bases_ >= 0)
        submit(Gemm{c_.parameters.weight(coefficients_), c_.parameters.weight(bases_), combined(),
                    false, false, 0});
    });
    for_each_relation([&](int r, const Tensor& mean) {
      c_.products->aggregate_relation(layer_, r, z, mean, 0);
      for_each_product(r, mean, y, [&](int k, bool, const Tensor& from, const Tensor& to) {
        c_.products->transform(from, weight(r, k), to, 1);
      });
    });
  }

  void backward(const Tensor& x, const Tensor& dy, const std::optional<Tensor>& dx) override {
    Products& p = *c_.products;
    for_each_relation([&](int r, const Tensor& mean) {
      for_each_product(r, mean, dy, [&](int k, bool first, const Tensor& from, const Tensor& to) {
        p.weight_gradient(from, to, gradient(r, k), !first);
      });
    });
    if (bases_ >= 0) through_bases();
    const auto self_gradients = [&] { self_.set_gradients(layer_, x, dy); };
    if (!dx) return self_gradients();
    const Tensor dz = has_all_sources() ? *dx : c_.scratch.view(sources(), in_);
    for_each_relation([&](int r, const Tensor& mean) {
      for_each_product(r, mean, dy, [&](int k, bool, const Tensor& from, const Tensor& to) {
        p.transform_adjoint(to, weight(r, k), from, 0);
      });
      p.aggregate_relation_adjoint(layer_, r, mean, dz, r == 0 ? 0 : 1);
    });
    p.bring_sources_adjoint(layer_, dz, self_gradients);
    if (!has_all_sources()) submit(Copy{dz.rows_at(0, rows_in()), *dx});
    self_.backward(layer_, dy, *dx, 1);
  }

 private:
  std::int64_t sources() const { return c_.products->sources(layer_); }
  /// Whether edges come from rows of the layer's input alone.
  bool has_all_sources() const { return sources() == rows_in(); }
  /// Rows that a relation leads to.
  std::int64_t count_of(int relation) const {
    return rows_count(c_.products->rows_of_relation(layer_, relation));
  }
  template <class T>
  void submit(const T& op) {
    c_.rt.submit(Lane::compute, op);
  }
  /// f(relation, where the means of the rows are that its edges lead to).
  template <class F>
  void for_each_relation(const F& f) const {
    std::int64_t first = 0;
    for (int r = 0; r < relations_; ++r) {
      const std::int64_t count = count_of(r);
      f(r, means_.view(first + count, in_).rows_at(first, count));
      if (c_.trains) first += count;
    }
  }

  /// The k-th of `blocks_` runs of columns.
  struct Run {
    std::int64_t first, count;
  };
  Run run(std::int64_t columns, int k) const {
    const std::int64_t first = columns * k / blocks_;
    return {first, columns * (k + 1) / blocks_ - first};
  }
  /// f(block, whether it is its first run, the block's columns of means, its columns of these rows of the
  /// outputs), for each run of rows that the relation leads to. There is at least one, which may be empty.
  template <class F>
  void for_each_product(int relation, const Tensor& mean, const Tensor& y, const F& f) const {
    const auto for_each_block = [&](bool first, const Tensor& means, const Tensor& outputs) {
      for (int k = 0; k < blocks_; ++k) {
        const Run from = run(in_, k), to = run(out_, k);
        f(k, first, means.cols_at(from.first, from.count), outputs.cols_at(to.first, to.count));
      }
    };
    const auto& runs = c_.products->rows_of_relation(layer_, relation);
    if (runs.empty()) for_each_block(true, mean, y.rows_at(0, 0));
    std::int64_t done = 0;
    for (const Products::Rows& rows : runs) {
      for_each_block(&rows == &runs.front(), mean.rows_at(done, rows.count),
                     y.rows_at(rows.first, rows.count));
      done += rows.count;
    }
  }

  Tensor combined() const { return combined_.view(relations_, in_ * out_); }
  Tensor combined_gradient() const { return combined_gradient_.view(relations_, in_ * out_); }
  Tensor weight(int r, int block) const {
    if (bases_ < 0) return c_.parameters.weight(own_[at(r * blocks_ + block)]);
    return combined().rows_at(r, 1).reshaped({in_, out_});
  }
  Tensor gradient(int r, int block) const {
    if (bases_ < 0) return c_.parameters.gradient(own_[at(r * blocks_ + block)]);
    return combined_gradient().rows_at(r, 1).reshaped({in_, out_});
  }
  /// From the gradients of all relations' weights to those of bases and coefficients.
  void through_bases() {
    submit(Gemm{combined_gradient(), c_.parameters.weight(bases_),
                c_.parameters.gradient(coefficients_), false, true, 0});
    submit(Gemm{c_.parameters.weight(coefficients_), combined_gradient(),
                c_.parameters.gradient(bases_), true, false, 0});
  }

  int relations_, blocks_;
  OwnWeights self_;
  int bases_ = -1, coefficients_ = -1;  ///< parameter numbers; −1: none
  std::vector<int> own_;  ///< without bases: those of each relation's blocks, relation by relation
  Buffer means_, combined_, combined_gradient_;
};

}  // namespace

LayerType rgcn_layer() {
  return {.name = "rgcn",
          .description =
              "RGCN: x·W0 + the mean over in-neighbours by each relation times its "
              "weights",
          .scaling = Scaling::sum,
          .weighs_edges = true,
          .by_relation = true,
          .make = [](LayerContext& context, int layer, std::int64_t in, std::int64_t out,
                     bool decays) -> std::unique_ptr<Convolution> {
            return std::make_unique<RgcnConvolution>(context, layer, in, out, decays);
          }};
}

}  // namespace orrery
