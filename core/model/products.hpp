// What a layer may ask of the strategy: the products across ranks, each with its adjoint.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/runtime/runtime.hpp"

namespace orrery {

/// The edges of a layer on this rank, for layers that weigh each of them: the pattern of A without
/// values, in the forms that products with such weights and their adjoints need.
///
/// Placement the edges into rows of this rank, on its device
struct Edges {
  Sparse pattern;  ///< [rows(layer), sources(layer)]
  /// [sources(layer), rows(layer)]; it and `order` exist only if sources are held
  Sparse transposed;
  /// Row j has the numbers of the entries of `pattern` in column j. It sums over the edges that
  /// leave a source.
  ///
  /// Shapes    [sources(layer), entries]
  Sparse by_source;
  Tensor order;  ///< [entries, 1] i32: for each entry of `transposed`, its number in `pattern`
  /// [entries, 1] i32: a number for each edge, a function of its two vertices alone, that keys
  /// draws; no rows if the model drops no edges.
  Tensor numbers;
  /// [sources(layer), 1] i32: the global vertex of each source, if sources are held; no rows if the
  /// model drops nothing of their rows.
  Tensor vertices;
  /// [entries, ModelConfig::edge_features]: the features of each edge, by entry of `pattern`; no rows if
  /// edges have none.
  Tensor features;
};

/// The products of one rank. All calls are collective: every rank makes them in the same order.
///
/// An activation of level l (0 = the model's input, l = output of layer l) has rows(l) rows on this
/// rank. They are the first rows(l) rows of level l − 1, so a vertex keeps its row while it is
/// needed. A layer may work on more rows than the one before it computed: inputs(l) >= rows(l − 1).
/// The additional rows come from other ranks. Operands and results belong to the compute lane: they
/// are ready for it, and what the call leaves running on other lanes never touches them after the
/// compute lane's next item.
///
/// Placement an activation: rows of this rank's vertices, and its columns of them (columns());
///           weights: on every rank
class Products {
 public:
  virtual ~Products() = default;

  virtual std::int64_t rows(int level) const = 0;
  /// Rows that layer `layer` works on: the first rows(layer − 1) are those of the level below.
  virtual std::int64_t inputs(int layer) const { return rows(layer - 1); }
  /// Whether layers work on the blocks of a message-flow graph: an input is there because a few rows
  /// aggregate it, and most inputs of a layer are no rows of the next level.
  virtual bool in_blocks() const { return false; }
  /// Global vertex of each row, [largest number of any level or layer, 1] i32.
  virtual Tensor row_ids() const = 0;

  /// The columns that this rank holds of a matrix of the given width (of features, activations,
  /// gradients). If there may be dropout, `first` is a multiple of 8, or the width.
  struct Columns {
    std::int64_t first = 0, count = 0;
  };
  virtual Columns columns(std::int64_t width) const { return {0, width}; }

  /// Distinct rows that this rank receives from others, and sends, in aggregate(layer); none if
  /// rows travel in blocks.
  struct Halo {
    std::int64_t received = 0, sent = 0;
  };
  virtual Halo halo(int /*layer*/) const { return {}; }

  /// Placement ranks, including this one, whose own vertices are those of the whole graph, each
  ///           once; sums over vertices are sums over this group. A rank's own vertices are the
  ///           rows of the last level. Default: all ranks.
  virtual Group covering_group() const { return world_group(rt_.size()); }

  /// Makes room for the products below. Called once, before the first, with the widths (of whole
  /// rows) of the widest matrix that will be aggregated and of the widest that will be transformed.
  virtual void prepare(std::int64_t widest_aggregate, std::int64_t widest) = 0;

  /// Brings the other rows of a layer's input.
  ///
  /// Shapes    x [inputs(layer), f], whose first rows(layer − 1) rows are there
  virtual void complete(int /*layer*/, const Tensor& /*x*/) {}
  /// The adjoint: adds what reached the other rows to the rows they came from.
  virtual void complete_adjoint(int /*layer*/, const Tensor& /*dx*/) {}

  /// The rows of the sources of a layer's edges: first those of inputs(layer), then rows that other
  /// ranks computed.
  ///
  /// Requires  a model whose layers weigh edges, like everything about sources
  virtual std::int64_t sources(int layer) const { return inputs(layer); }
  virtual const Edges& edges(int layer) const;
  /// Brings the rows of x that other ranks have computed. `meanwhile` runs on the compute lane at
  /// the same time if work overlaps; it touches none of these rows.
  ///
  /// Shapes    x [sources(layer), f], contiguous, whose first inputs(layer) rows are there
  virtual void bring_sources(int /*layer*/, const Tensor& /*x*/,
                             const std::function<void()>& meanwhile) {
    meanwhile();
  }
  /// The adjoint: adds what reached other ranks' rows of dx to the rows that they came from.
  virtual void bring_sources_adjoint(int /*layer*/, const Tensor& /*dx*/,
                                     const std::function<void()>& meanwhile) {
    meanwhile();
  }

  /// Whether rows of all sources are on this rank after bring_sources(). Otherwise they come in
  /// blocks, sources are the rows of all blocks, and the four functions below replace it.
  virtual bool holds_sources() const { return true; }
  /// all ← own of every rank: numbers, as many for each row as there are heads.
  ///
  /// Shapes    own [inputs(layer), h] · all [sources(layer), h], contiguous
  virtual void gather_for_sources(int layer, const Tensor& own, const Tensor& all);
  /// The adjoint: own ← the sum over all ranks of what they have in `all` for this rank's rows.
  virtual void sum_for_sources(int layer, const Tensor& all, const Tensor& own);
  /// y[i] ← Σ weights[e]·x[j] over the edges e from j to i, by heads, as SpMM.
  ///
  /// Shapes    weights [entries, h] · x [inputs(layer), f] · y [rows(layer), f]
  virtual void weigh_sources(int layer, const Tensor& weights, const Tensor& x, const Tensor& y);
  /// Its adjoint, in the weights and in x.
  virtual void weigh_sources_adjoint(int layer, const Tensor& weights, const Tensor& x,
                                     const Tensor& dy, const Tensor& dweights, const Tensor& dx);

  /// Consecutive rows of a level.
  struct Rows {
    std::int64_t first = 0, count = 0;
  };
  /// The rows of a level whose vertices have a type, in runs.
  ///
  /// Requires  a model whose layers work by relation, as the next three; for level 0 one that projects
  ///           its input (ModelConfig::projection)
  virtual const std::vector<Rows>& rows_of_type(int level, int type) const;
  /// Those that edges of a relation lead to: of its destination's type.
  virtual const std::vector<Rows>& rows_of_relation(int layer, int relation) const;
  /// The edges of a relation for layers that weigh each of them. Its rows are those of
  /// rows_of_relation(), one run after the other; its sources are the rows of the layer's sources that
  /// `sources` numbers, the first of which are its rows.
  ///
  /// Requires  a model whose layers weigh the edges of each relation
  struct RelationEdges {
    Edges edges;
    Tensor sources;  ///< [n, 1] i32
  };
  virtual RelationEdges relation_edges(int layer, int relation) const;
  /// y ← A_r·x + beta·y, with A_r the mean over a vertex's in-neighbours by relation r.
  ///
  /// Shapes    x [sources(layer), f] · y [rows_of_relation(layer, r), one run after the other, f]
  virtual void aggregate_relation(int layer, int relation, const Tensor& x, const Tensor& y,
                                  float beta);
  /// dx ← A_rᵀ·dy + beta·dx, its adjoint.
  virtual void aggregate_relation_adjoint(int layer, int relation, const Tensor& dy,
                                          const Tensor& dx, float beta);

  /// y ← A·x + beta·y.
  ///
  /// Shapes    x [inputs(layer), f] · y [rows(layer), f]
  /// Placement as activations
  /// Aliasing  none
  virtual void aggregate(int layer, const Tensor& x, const Tensor& y, float beta) = 0;

  /// dx ← Aᵀ·dy + beta·dx, the adjoint of aggregate.
  virtual void aggregate_adjoint(int layer, const Tensor& dy, const Tensor& dx, float beta) = 0;

  /// y ← x·w + beta·y.
  ///
  /// Shapes    x [n, columns(f)] · w [f, g], the same on all ranks · y [n, columns(g)]
  virtual void transform(const Tensor& x, const Tensor& w, const Tensor& y, float beta);

  /// dx ← dy·wᵀ + beta·dx, the adjoint of transform in x.
  virtual void transform_adjoint(const Tensor& dy, const Tensor& w, const Tensor& dx, float beta);

  /// dw ← xᵀ·dy, or adds it to dw, the adjoint of transform in w: this rank's part of the sum over
  /// ranks, nothing where it has none.
  virtual void weight_gradient(const Tensor& x, const Tensor& dy, const Tensor& dw,
                               bool adds = false);

 protected:
  explicit Products(Runtime& runtime) : rt_(runtime) {}
  Runtime& rt_;
};

}  // namespace orrery
