// A trained network on one rank of an inference, one layer after the other, so that only two
// activations are there at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/inference/tile_products.hpp"
#include "core/model/convolution.hpp"

namespace orrery {

/// What a network has learned: rows 0 and (with batch norm) 1 as Parameters::state() of a network for
/// inference has them.
struct TrainedWeights {
  std::vector<float> weights;   ///< all of them in the order of Model
  std::vector<float> averages;  ///< running averages of batch norms; empty without
};

class LayerStack {
 public:
  /// Without `trained` weights start as those of a training with this seed do.
  ///
  /// Errors    ConfigError: a model whose layers cannot be computed one by one on tiles; weights of
  ///           another model
  LayerStack(Runtime& rt, TileProducts& products, const ModelConfig& model, std::uint64_t seed,
             std::int64_t features, std::int64_t classes, const TrainedWeights* trained);

  int layers() const { return static_cast<int>(layers_.size()); }
  /// Columns of h_level over all ranks; level 0 is the input.
  std::int64_t width(int level) const { return widths_[orrery::at(level)]; }

  /// h_layer of x = h_(layer − 1), in memory of its own.
  ///
  /// Shapes    x [rows of the part, columns(width(layer − 1))] · result alike with width(layer)
  Buffer forward(int layer, const Tensor& x);

 private:
  struct Layer {
    std::unique_ptr<Convolution> convolution;
    int bias = -1, gain = -1, shift = -1;  ///< parameter numbers; −1 where there is none
    int averages = -1;                     ///< their number, with batch norm
  };
  bool last(int layer) const { return layer == layers(); }
  /// Whether there are dense layers inside. Asked before all layers are declared, too.
  bool nested(int layer) const {
    return config_.inner_layers > 0 && layer <= config_.layers &&
           layer < config_.layers + config_.dense_layers;
  }
  Tensor own_columns(const Tensor& rows) const;
  void declare(std::uint64_t seed, const TrainedWeights* trained);
  void finish(int layer, const Tensor& y);
  void normalise_rows(const Layer& layer, const Tensor& y, std::int64_t width);
  void normalise_columns(const Layer& layer, const Tensor& y);

  Runtime& rt_;
  TileProducts& products_;
  ModelConfig config_;
  std::vector<std::int64_t> widths_;  ///< d_0 .. d_L
  Parameters parameters_;
  LayerContext context_;
  std::vector<Layer> layers_;
};

/// Widths d_0 .. d_L of a model's levels.
std::vector<std::int64_t> widths_of(const ModelConfig& model, std::int64_t features,
                                    std::int64_t classes);

/// How many columns the last layer has, by how many weights there are: so a model can be computed for a
/// graph that has no labels.
///
/// Errors    ConfigError: no number of columns fits
std::int64_t classes_of(const ModelConfig& model, std::int64_t features,
                        const TrainedWeights& trained);

/// Errors    ConfigError: a model whose layers cannot be computed one by one on tiles
void require_layer_by_layer(const ModelConfig& model);

}  // namespace orrery
