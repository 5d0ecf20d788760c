// A trained network on one rank of an inference, one layer after the other, so only two activations
// exist at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/inference/tile_attention.hpp"
#include "core/inference/tile_products.hpp"
#include "core/model/convolution.hpp"

namespace orrery {

/// A network's weights: rows 0 and (with batch norm) 1, like Parameters::state() of a network for
/// inference.
struct TrainedWeights {
  std::vector<float> weights;  ///< all of them in the order of Model
  /// running averages of batch norms; empty if there are none
  std::vector<float> averages;
  std::int64_t features = 0, classes = 0;  ///< of its training; 0: unknown
};

/// The layers of a network, computed one by one.
///
/// Placement activations: a tile on each rank, as in TileProducts; weights: all of them on every
///           rank
class LayerStack {
 public:
  /// Without `trained`, weights start like those of a training with this seed.
  ///
  /// Errors    ConfigError: a model whose layers cannot be computed one by one on tiles; weights of
  ///           another model
  LayerStack(Runtime& rt, TileProducts& products, const LayerGraphs& graphs,
             const InferenceConfig& config, const ModelConfig& model, std::uint64_t seed,
             std::int64_t features, std::int64_t classes, const TrainedWeights* trained);

  int layers() const { return static_cast<int>(layers_.size()); }
  /// Columns of h_level over all ranks; level 0 is the input.
  std::int64_t width(int level) const { return widths_[orrery::at(level)]; }

  /// h_layer of x = h_(layer − 1), in its own memory.
  ///
  /// Shapes    x [rows of the part, columns(width(layer − 1))] · result alike with width(layer)
  Buffer forward(int layer, const Tensor& x);
  /// The same in the memory of x, with InferenceConfig::sum_columns: x is the first columns of
  /// `rows`, and so is the result. Wider rows get memory of their own, in `rows`.
  Tensor forward_in_place(int layer, Buffer& rows);

 private:
  struct Layer {
    std::unique_ptr<Convolution> convolution;
    int bias = -1, gain = -1, shift = -1;  ///< parameter numbers; −1 if there is none
    int averages = -1;                     ///< their number, with batch norm
  };
  /// y = x·W + b.
  struct Linear {
    int weight = -1, bias = -1;
  };
  bool last(int layer) const { return layer == layers(); }
  /// Whether there are inner dense layers. Also called before all layers are declared.
  bool nested(int layer) const {
    return config_.inner_layers > 0 && layer <= config_.layers &&
           layer < config_.layers + config_.dense_layers;
  }
  Tensor own_columns(const Tensor& rows) const;
  void declare(std::uint64_t seed, const TrainedWeights* trained);
  void declare_layers();
  void declare_resgcn();
  /// The convolution of a layer, which multiplies in the order of that layer.
  Convolution& convolution_of(int layer);
  /// Only the convolution of a layer.
  Buffer convolve(int layer, const Tensor& x, std::int64_t in, std::int64_t out);
  Buffer apply(const Linear& linear, const Tensor& x, std::int64_t in, std::int64_t out,
               const std::string& name);
  /// ReLU(norm(h)).
  Buffer activated(const Layer& norm, const Tensor& h);
  /// A block of ResGCN+: the first one includes the encoder, the last one the head.
  Buffer forward_block(int layer, const Tensor& x);
  void finish(int layer, const Tensor& y);
  void normalise_rows(const Layer& layer, const Tensor& y, std::int64_t width);
  void normalise_columns(const Layer& layer, const Tensor& y);

  Runtime& rt_;
  TileProducts& products_;
  ModelConfig config_;
  std::vector<LayerOrder> orders_;    ///< of the graph convolutions
  std::vector<std::int64_t> widths_;  ///< d_0 .. d_L
  Parameters parameters_;
  LayerContext context_;
  std::unique_ptr<TileAttention> attention_;  ///< for models that weigh edges
  std::vector<Layer> layers_;
  Linear encoder_, head_;  ///< of ResGCN+
  Layer head_norm_;
};

/// Widths d_0 .. d_L of a model's levels.
std::vector<std::int64_t> widths_of(const ModelConfig& model, std::int64_t features,
                                    std::int64_t classes);

/// The number of columns of the last layer: from the weights, else by how many there are. So a
/// model can be computed for a graph without labels.
///
/// Errors    ConfigError: trained with other features; no number of columns fits
std::int64_t classes_of(const ModelConfig& model, std::int64_t features,
                        const TrainedWeights& trained);

/// Errors    ConfigError: a model whose layers cannot be computed one by one on tiles
void require_layer_by_layer(const ModelConfig& model);

}  // namespace orrery
