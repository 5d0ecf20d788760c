// Graph attention by relation: a vertex adds up, over relations, what attention among its in-neighbours
// by each of them gives.
//
// Rows of other ranks travel as they come into the layer, once for all relations. Each relation is then a
// graph attention of its own, on the rows that its edges touch alone: those are gathered before it, and
// their gradients are added up behind it.
#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/model/convolution.hpp"
#include "core/model/layer_type.hpp"
#include "core/model/make_fit.hpp"
#include "core/model/relation/own_weights.hpp"

namespace orrery {
namespace {

using Runs = std::vector<Products::Rows>;

/// The edges of one relation as all there is: nothing travels.
class RelationView final : public Products {
 public:
  RelationView(Runtime& rt, const Products& whole, int layer, int relation)
      : Products(rt), layer_(layer), edges_(whole.relation_edges(layer, relation)) {}

  const Tensor& sources() const { return edges_.sources; }
  std::int64_t rows(int level) const override {
    return level == layer_ ? edges_.edges.pattern.shape.rows : edges_.sources.rows();
  }
  Tensor row_ids() const override { none(); }
  const Edges& edges(int) const override { return edges_.edges; }
  void prepare(std::int64_t, std::int64_t) override {}
  void aggregate(int, const Tensor&, const Tensor&, float) override { none(); }
  void aggregate_adjoint(int, const Tensor&, const Tensor&, float) override { none(); }

 private:
  [[noreturn]] static void none() {
    assertion_failed("attention by relation multiplies by no matrix", __FILE__, __LINE__);
  }
  int layer_;
  RelationEdges edges_;
};

/// y_i = x_i·W_0 + Σ_r GAT_r(x)_i, with the attention of gat.cpp, without self-loops, and weights of each
/// relation. W_0 is one for all vertices, or one for each type.
///
/// Memory    of each layer, beside what Model counts, in elements: that of a GAT for each relation, of n_r
///           sources, its rows and the others that its edges touch; shared by relations, their rows,
///           max n_r·in, with gradients twice, and max c_r·out, c_r the rows that a relation leads to.
///           Layers with sources beyond their input have s·in more, with gradients twice,
///           s = sources(layer)
/// Source    Busbridge et al. 2019, Relational Graph Attention Networks, within relations (WIRGAT); Hu et
///           al. 2021, OGB-LSC, whose baseline on MAG240M adds relations and the vertex itself
class RgatConvolution final : public Convolution {
 public:
  RgatConvolution(LayerContext& context, int layer, std::int64_t in, std::int64_t out, bool decays)
      : Convolution(context, layer, in, out),
        self_(context, in, out, decays, context.model->self_by_type, "self") {
    for (const std::string& relation : context.model->relations) {
      context.parameters.begin_part(relation + ".");
      relations_.push_back(gat_layer().make(context, layer, in, out, decays));
    }
    context.parameters.begin_part("");
  }

  void allocate() override {
    std::int64_t most_sources = 0, most_rows = 0;
    for_each_relation([&](Convolution& attention, const Runs& runs, const Tensor& used) {
      attention.allocate();
      most_sources = std::max(most_sources, used.rows());
      most_rows = std::max(most_rows, rows_count(runs));
    });
    const auto fit = [&](Buffer& buffer, Shape shape, std::string_view what) {
      make_fit(c_.rt, buffer, shape, fmt::format("activations/{} of layer {}", what, layer_));
    };
    fit(used_, {most_sources, in_}, "sources of a relation");
    fit(result_, {most_rows, out_}, "rows of a relation");
    if (!has_all_sources()) fit(all_, {sources(), in_}, "rows of all sources");
    if (!c_.trains) return;
    fit(used_gradient_, {most_sources, in_}, "gradients of a relation");
    if (!has_all_sources()) fit(all_gradient_, {sources(), in_}, "gradients of all sources");
  }
  void release() override {
    Convolution::release();
    for (const auto& attention : relations_) attention->release();
    for (Buffer* buffer : {&used_, &result_, &all_, &used_gradient_, &all_gradient_}) *buffer = {};
  }

  EdgeScratch edge_scratch() const override {
    EdgeScratch most;
    for_each_relation([&](Convolution& attention, const Runs&, const Tensor&) {
      const EdgeScratch wanted = attention.edge_scratch();
      most = {std::max(most.buffers, wanted.buffers), std::max(most.elements, wanted.elements)};
    });
    return most;
  }
  std::int64_t aggregated_width() const override { return in_; }
  std::int64_t scratch_width() const override {
    return relations_.empty() ? 0 : relations_.front()->scratch_width();
  }
  bool backward_in_place() const override { return false; }

  void forward(const Tensor& x, const Tensor& y) override {
    if (!has_all_sources()) submit(Copy{x, all_.view(sources(), in_).rows_at(0, rows_in())});
    const Tensor z = rows_of_sources(x);
    c_.products->bring_sources(layer_, z, [&] { self_.forward(layer_, x, y); });
    for_each_relation([&](Convolution& attention, const Runs& runs, const Tensor& used) {
      const Tensor of_relation = result_.view(rows_count(runs), out_);
      attention.forward(gathered(z, used), of_relation);
      for_each_run(runs, of_relation, y, [&](const Tensor& part, const Tensor& rows) {
        submit(Copy{part, rows, 1, true});
      });
    });
  }

  void backward(const Tensor& x, const Tensor& dy, const std::optional<Tensor>& dx) override {
    const Tensor z = rows_of_sources(x);
    std::optional<Tensor> dz;
    if (dx) {
      dz = has_all_sources() ? *dx : all_gradient_.view(sources(), in_);
      submit(Fill{*dz, 0});
    }
    for_each_relation([&](Convolution& attention, const Runs& runs, const Tensor& used) {
      const Tensor of_relation = result_.view(rows_count(runs), out_);
      for_each_run(runs, of_relation, dy, [&](const Tensor& part, const Tensor& rows) {
        submit(Copy{rows, part});
      });
      std::optional<Tensor> dused;
      if (dz) dused = used_gradient_.view(used.rows(), in_);
      attention.backward(gathered(z, used), of_relation, dused);
      if (dz) submit(ScatterAddRows{*dused, used, *dz});
    });
    const auto self_gradients = [&] { self_.set_gradients(layer_, x, dy); };
    if (!dx) return self_gradients();
    c_.products->bring_sources_adjoint(layer_, *dz, self_gradients);
    if (!has_all_sources()) submit(Copy{dz->rows_at(0, rows_in()), *dx});
    self_.backward(layer_, dy, *dx, 1);
  }

 private:
  std::int64_t sources() const { return c_.products->sources(layer_); }
  bool has_all_sources() const { return sources() == rows_in(); }
  Tensor rows_of_sources(const Tensor& x) const {
    return has_all_sources() ? x : all_.view(sources(), in_);
  }
  /// f(a run's part of the rows that a relation leads to, one after the other; the same rows of y).
  template <class F>
  static void for_each_run(const Runs& runs, const Tensor& of_relation, const Tensor& y,
                           const F& f) {
    std::int64_t done = 0;
    for (const Products::Rows& run : runs) {
      f(of_relation.rows_at(done, run.count), y.rows_at(run.first, run.count));
      done += run.count;
    }
  }
  Tensor gathered(const Tensor& z, const Tensor& used) {
    const Tensor rows = used_.view(used.rows(), in_);
    submit(GatherRows{z, used, rows});
    return rows;
  }
  template <class T>
  void submit(const T& op) {
    c_.rt.submit(Lane::compute, op);
  }

  /// f(attention, the rows that its relation leads to, numbers of its sources), with the products of that
  /// relation alone.
  template <class F>
  void for_each_relation(const F& f) const {
    Products* const whole = c_.products;
    for (std::size_t r = 0; r < relations_.size(); ++r) {
      const int relation = static_cast<int>(r);
      RelationView view(c_.rt, *whole, layer_, relation);
      c_.products = &view;
      f(*relations_[r], whole->rows_of_relation(layer_, relation), view.sources());
    }
    c_.products = whole;
  }

  OwnWeights self_;
  std::vector<std::unique_ptr<Convolution>> relations_;
  Buffer used_, result_, all_, used_gradient_, all_gradient_;
};

}  // namespace

LayerType rgat_layer() {
  return {.name = "rgat",
          .description = "RGAT: x·W0 + attention among the in-neighbours by each relation",
          .scaling = Scaling::sum,
          .weighs_edges = true,
          .by_relation = true,
          .weighs_relations = true,
          .make = [](LayerContext& context, int layer, std::int64_t in, std::int64_t out,
                     bool decays) -> std::unique_ptr<Convolution> {
            return std::make_unique<RgatConvolution>(context, layer, in, out, decays);
          }};
}

}  // namespace orrery
