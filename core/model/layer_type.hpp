// What the rest of the program knows of a graph convolution, and the list of them: those of this
// folder and those from outside.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/model/convolution.hpp"
#include "core/model/model_config.hpp"

namespace orrery {

/// The entries of A: as model.normalisation says, 1/d_v, or 1.
enum class Scaling : std::uint8_t { chosen, mean, sum };

struct LayerType {
  std::string name;           ///< model.type
  std::string description{};  ///< a few words
  Scaling scaling = Scaling::mean;
  bool self_loops = false;  ///< stored self-loops are dropped; with this A has one in each row
  /// Takes features without their zeros, and multiplies them by its weights first (transform() and
  /// weight_gradient() of Convolution do so).
  bool sparse_input = false;
  /// Multiplies a layer's first rows(layer) inputs by a weight of their own, in addition to all of
  /// them.
  bool own_rows = false;
  /// Works on edges instead of multiplying by A: it computes their weights (Products::edges), or
  /// multiplies by each relation.
  bool weighs_edges = false;
  /// Works on edges by their relations (Products::aggregate_relation) in a typed graph,
  bool by_relation = false;
  /// and weighs each of them (Products::relation_edges).
  bool weighs_relations = false;
  /// A layer that weighs edges: its weights choose the largest value, by columns and without heads;
  /// it needs the rows of all sources at once (Products::holds_sources()).
  bool takes_largest = false;
  /// A tape keeps the aggregated input also where x is multiplied by W first (tape.hpp).
  bool tape_keeps_aggregated = false;
  std::unique_ptr<Convolution> (*make)(LayerContext& context, int layer, std::int64_t in,
                                       std::int64_t out, bool decays) = nullptr;
};

// The layers of this folder.
LayerType gcn_layer();
LayerType sage_layer();
LayerType sage_pool_layer();
LayerType gat_layer();
LayerType rgcn_layer();
LayerType rgat_layer();

/// Adds a layer from outside when the program starts:
///   const AddLayer added({.name = "mine", ...});
/// in a source file of the folder that was given to Meson's option `plugins`.
class AddLayer {
 public:
  explicit AddLayer(LayerType layer);
};

/// The layers of this folder and then these.
///
/// Errors    ConfigError: two with one name, an invalid name, no function
std::vector<LayerType> with_built_in(std::vector<LayerType> added);

/// All layers; those added from outside come last.
///
/// Errors    as with_built_in()
const std::vector<LayerType>& layer_types();

/// The layers of a model; ResGCN+ has those of GraphSAGE, SGC those of GCN.
const LayerType& layer_of(const ModelConfig& model);

/// Errors    ConfigError: no layer and no model has this name; the message lists all
ModelType model_type(const std::string& name);

/// Whether the weights of relations of a layer are blocks (ModelConfig::blocks): each block has
/// columns of its own in the layer's input and in its output. Layers with fewer columns have whole
/// weights.
inline bool has_blocks(const ModelConfig& model, std::int64_t in, std::int64_t out) {
  return model.blocks > 0 && model.blocks <= in && model.blocks <= out;
}

}  // namespace orrery
