// A batch that the ranks of a server compute together.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/strategy/edges/device_edges.hpp"
#include "core/strategy/product/halo_product.hpp"
#include "core/strategy/product/rank_products.hpp"
#include "core/strategy/store/feature_store.hpp"

namespace orrery {

/// One rank's share: the vertices of the batch that are its to compute on every level, with their
/// rows of every layer's matrix. The rows that these need of the server's other ranks are their
/// halo.
struct CooperativeShare {
  SampledBatch own;                  ///< without matrices
  std::vector<HaloStructure> parts;  ///< of each layer
  std::vector<EdgeStructure> edges;  ///< of each layer, where the model weighs them; else none

  std::int64_t entries(std::size_t layer) const {
    return parts[layer].own_block.nnz() + parts[layer].halo_block.nnz();
  }
};

/// Requires  batches that are cooperative
CooperativeShare cooperative_share(const SampledBatches& batches, const ModelConfig& model,
                                   int rank, int epoch, int step);

/// Products of a share. Rows travel within the server, in both directions, for each layer; features
/// are pulled from their owners.
class CooperativeProducts : public RankProducts {
 public:
  /// `data` has the share's vertices; `store` and `server` are the rank's: the store may be null
  /// where load_features() is answered by another.
  CooperativeProducts(Runtime& rt, std::shared_ptr<const CooperativeShare> share, VertexData data,
                      Group server, FeatureStore* store);

  VertexData data() const override { return data_; }
  IndexList vertices() const override { return IndexList(share_->own.vertices); }
  std::int64_t rows(int level) const override { return share_->own.rows[at(level)]; }
  Halo halo(int layer) const override { return {part(layer).received(), part(layer).sent()}; }
  Tensor row_ids() const override { return row_ids_.tensor(); }
  void load_features(std::int64_t first_column, const Tensor& features) override;
  void prepare(std::int64_t widest_aggregate, std::int64_t widest) override;
  void aggregate(int layer, const Tensor& x, const Tensor& y, float beta) override;
  void aggregate_adjoint(int layer, const Tensor& dy, const Tensor& dx, float beta) override;

  std::int64_t sources(int layer) const override { return exchange(layer).sources(); }
  const Edges& edges(int layer) const override { return edges_[at(layer) - 1].edges(); }
  void bring_sources(int layer, const Tensor& x, const std::function<void()>& meanwhile) override;
  void bring_sources_adjoint(int layer, const Tensor& dx,
                             const std::function<void()>& meanwhile) override;

 private:
  const HaloStructure& part(int layer) const { return share_->parts[at(layer) - 1]; }
  const SourceExchange& exchange(int layer) const { return exchanges_[at(layer) - 1]; }

  std::shared_ptr<const CooperativeShare> share_;
  VertexData data_;
  FeatureStore* store_;
  Buffer row_ids_, places_;
  std::vector<HaloProduct> products_;
  HaloBuffers buffers_;
  // In the place of products_ and buffers_, where layers weigh edges:
  std::vector<DeviceEdges> edges_;
  std::vector<SourceExchange> exchanges_;
  Buffer sent_;
};

}  // namespace orrery
