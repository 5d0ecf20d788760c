// The keys "model" and "train" of an experiment file, as plain data.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/ops/ops.hpp"
#include "core/runtime/best_epoch.hpp"

namespace orrery {

/// The name of a type of model: one of these, or that of a layer from outside (layer_type.hpp).
struct ModelType {
  std::string_view name;  ///< it lives as long as the program
  bool operator==(const ModelType&) const = default;

  static const ModelType gcn, sage, gat, resgcn, sgc;
};
inline constexpr ModelType ModelType::gcn{"gcn"}, ModelType::sage{"sage"}, ModelType::gat{"gat"},
    ModelType::resgcn{"resgcn+"}, ModelType::sgc{"sgc"};

/// How A is scaled: symmetric D^-1/2·A·D^-1/2, row D^-1·A (D: degrees with the added self-loop), or
/// chosen by the graph: symmetric if the graph is, else row over in-edges. GraphSAGE and ResGCN+
/// always take the row mean; layers from outside decide themselves.
enum class Normalisation : std::uint8_t { automatic, symmetric, row };

/// How the first layer's aggregation is treated, because its input may be constant over epochs.
///   exact         A·x is computed once and kept where x is constant (no input dropout) and dense,
///                 else anew in every epoch; gradients are exact either way
///   recompute     A·x anew in every epoch; exact as well
///   mggcn_compat  the cheaper backward pass of MG-GCN: the first layer's weight gradient leaves
///                 out Aᵀ, as does that of every layer that aggregates first. Inexact: for timing
///                 only.
enum class FirstLayer : std::uint8_t { exact, recompute, mggcn_compat };

/// Whether a layer multiplies by A or by W first. This decides how wide the travelling rows are:
///   automatic        whichever makes the aggregated matrix narrower: W first where in >= out. In the
///                    block of a batch (Products::in_blocks) only where in >= 8·out
///   aggregate_first  rows as they come into the layer: in the first one those of the input
///   transform_first  rows multiplied by W
///   aggregate_both   rows as they come into the layer and, in the backward pass, gradients as they
///                    come into it, which are multiplied by Aᵀ before W's gradient is formed, in
///                    the first layer as well (CAGNET); gcn
/// Exact either way.
enum class LayerOrder : std::uint8_t {
  automatic,
  aggregate_first,
  transform_first,
  aggregate_both
};

/// W comes first in a block if it makes rows this many times narrower. A block has several
/// times as many inputs as rows, so W first multiplies several times as many rows by W. What it saves
/// are sparse products, in which an operation takes some 16 times as long as in dense ones.
inline constexpr std::int64_t kNarrowerInBlocks = 8;

/// Whether a layer of these widths multiplies by W first.
constexpr bool transforms_first(LayerOrder order, std::int64_t in, std::int64_t out,
                                bool in_blocks = false) {
  if (order != LayerOrder::automatic) return order == LayerOrder::transform_first;
  return in >= (in_blocks ? kNarrowerInBlocks * out : out);
}

/// The score of an edge; its softmax over the in-edges of a vertex is the edge's weight:
///   additive  a·[z_i || z_j] of the rows at its two ends, as a number for each end, and a leaky
///             ReLU
///   dot       z_i·z_j / sqrt(columns of a head)
enum class Attention : std::uint8_t { additive, dot };

struct ModelConfig {
  ModelType type = ModelType::gcn;
  int layers = 2;
  std::int64_t hidden = 64;
  double dropout = 0.5;  ///< also of the input layer
  bool bias = true;
  /// For every layer but the last. Not for resgcn, whose blocks have a ReLU, and sgc, which has
  /// none.
  Activation activation = Activation::relu;
  bool layer_norm = false;  ///< between convolution and activation of every layer but the last
  Normalisation normalisation = Normalisation::automatic;
  bool residual = false;      ///< all but resgcn: hidden layers of equal widths add their input
  int recompute = 0;          ///< resgcn: blocks of a segment that is computed again; 0: none
  bool sparse_input = false;  ///< gcn, sage: features are kept without their zeros
  LayerOrder order = LayerOrder::automatic;  ///< gcn, sage, sgc
  int dense_layers = 0;  ///< gcn, sage: layers x·W without A, after the `layers` that aggregate
  /// gcn, sage: σ(x·W) inside every hidden graph convolution, between it and what follows (NGNN)
  int inner_layers = 0;
  /// All but resgcn: replaces the layer norm. Each column is normalised by its mean and variance
  /// over all vertices, on all ranks. Its shift replaces the bias.
  bool batch_norm = false;

  // gat
  int heads = 8;  ///< of hidden layers, side by side; must divide `hidden`
  /// of the last layer: each is as wide as the classes, and the result is their mean
  int output_heads = 1;
  Attention attention = Attention::additive;
  /// Columns of the features of edges, which add to additive scores; 0: none. As `relations`, they are
  /// those of the data: whoever makes a problem sets them.
  std::int64_t edge_features = 0;
  double attention_dropout = 0;  ///< dropout of the edges' weights
  /// Dropout of the rows x·W where they are summed; scores use whole rows.
  double projection_dropout = 0;

  // rgcn, rgat
  bool self_by_type = false;  ///< vertices of each type have weights of their own for themselves
  /// The relations that layers have weights for (TypedGraph::texts()), and the types. They are those of
  /// the data, not of the file: whoever makes a problem sets them.
  std::vector<std::string> relations{}, types{};

  /// Columns of x·P_t, of a weight matrix P_t for each type t, that the first layer gets in the place of
  /// the features x of vertices of that type; 0: it gets the features.
  std::int64_t projection = 0;

  // rgcn
  int bases = 0;   ///< the weights of relations are sums of this many matrices; 0: of their own
  int blocks = 0;  ///< the weights of relations have this many blocks on the diagonal; 0: are whole
};

/// Columns of the rows that the first layer works on.
constexpr std::int64_t input_width(const ModelConfig& model, std::int64_t features) {
  return model.projection > 0 ? model.projection : features;
}

/// The largest number of heads of its layers.
constexpr int most_heads(const ModelConfig& model) {
  return model.layers == 1 || model.output_heads > model.heads ? model.output_heads : model.heads;
}

/// Whether its layers work on edges (of each relation, or with weights that they compute) instead of
/// multiplying by A.
bool weighs_edges(const ModelConfig& model);

/// Whether its layers have weights for each relation of a typed graph.
bool by_relation(const ModelConfig& model);

/// Whether they weigh the edges of each relation.
bool weighs_relations(const ModelConfig& model);

/// Draws for edges come after those for this many layers' vertices (Dropout::layer).
inline constexpr int kMostLayersWithDrawnEdges = 2047;
/// Draws for a layer's rows x·W are in columns from here on (Dropout::col0), beyond those of its
/// output.
inline constexpr std::int64_t kFirstProjectedColumn = std::int64_t{1} << 32;

/// Checks for models of any type.
///
/// Errors    ConfigError
void require_sound(const ModelConfig& model);

enum class OptimizerType : std::uint8_t { sgd, adam };
enum class WeightDecayOn : std::uint8_t { first, all };

/// How the learning rate changes from epoch to epoch (learning_rate.hpp).
struct RateSchedule {
  enum class Type : std::uint8_t { constant, step, linear, cosine };
  Type type = Type::constant;
  int warmup = 0;       ///< epochs in which it rises to the learning rate
  int epochs = 1;       ///< linear, cosine: it reaches its minimum after this many
  int every = 1;        ///< step: epochs from one change to the next,
  double factor = 0.1;  ///< which multiplies it by this
  double least = 0;     ///< linear, cosine: share of the learning rate that is left in the end
};

struct TrainConfig {
  int epochs = 100;
  OptimizerType optimizer = OptimizerType::adam;
  double learning_rate = 0.01;
  double weight_decay = 0;
  WeightDecayOn weight_decay_on = WeightDecayOn::all;
  LossKind loss = LossKind::softmax;
  int eval_every = 1;  ///< exact evaluation once in this many epochs and after the last; 0: never
  std::uint64_t seed = 0;
  /// Gradients are summed over ranks in buckets of this many bytes while the backward pass goes on;
  /// 0: all together after it.
  std::int64_t bucket_bytes = 0;
  RateSchedule schedule{};
  /// How much the loss of a training vertex of each class counts beside others, before they are
  /// scaled to 1 on average; none: all alike. Not with several labels.
  std::vector<double> class_weights{};
  bool balance_classes = false;  ///< instead: inversely to how often a class trains
  BestBy best_by = BestBy::accuracy;
  /// Training ends after this many evaluations in a row without a better validation accuracy, or by
  /// accuracy and loss without one that is as good as all before in either; 0: never.
  int patience = 0;
  bool keep_best = false;  ///< hands over every best model (RunObserver::keep_best)
};

}  // namespace orrery
