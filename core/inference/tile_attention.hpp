// A layer of graph attention on the tiles of an inference, with the weights of the layer that was
// trained (core/model/gat.cpp).
//
// z = x·W is placed like all matrices: rows of the part, columns of the rank. The numbers of edges
// are made from whole rows (TileSddmm) or, for the additive form, from a number per row and head
// that is summed up over the ranks of the part. The rows of z are then summed with these weights,
// as those of a GCN are with the entries of A (FetchedRows).
#pragma once

#include <memory>

#include "core/inference/layer_graphs.hpp"
#include "core/inference/tile_products.hpp"
#include "core/model/convolution.hpp"

namespace orrery {

/// The state that all layers share: the entries of A stay on the device while layers have the same
/// aggregation.
class TileAttention {
 public:
  TileAttention(Runtime& rt, const LayerGraphs& graphs, const InferenceConfig& config);
  ~TileAttention();
  TileAttention(const TileAttention&) = delete;
  TileAttention& operator=(const TileAttention&) = delete;

  /// A layer; its parameters are declared in the order of the trained one.
  std::unique_ptr<Convolution> make_layer(LayerContext& context, TileProducts& products,
                                          const ModelConfig& model, int layer, std::int64_t in,
                                          std::int64_t out);

  struct Parts;

 private:
  std::unique_ptr<Parts> parts_;
};

}  // namespace orrery
