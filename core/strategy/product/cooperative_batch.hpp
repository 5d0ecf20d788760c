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

/// One rank's share: the vertices of the batch that it computes on every level, with their rows of
/// every layer's matrix. The rows that these need of the server's other ranks are its halo.
///
/// Placement the rows of one rank; halo rows: on the other ranks of its server
struct CooperativeShare {
  SampledBatch own;                  ///< without matrices; no vertices if it is only counted
  std::vector<HaloStructure> parts;  ///< halo of each layer
  std::vector<EdgeStructure> edges;  ///< edges of each layer if the model weighs them, else empty

  std::int64_t entries(std::size_t layer) const {
    return parts[layer].own_block.nnz() + parts[layer].halo_block.nnz();
  }
};

/// `features`: of the data's edges; null: they have none.
///
/// Requires  cooperative batches
CooperativeShare cooperative_share(const SampledBatches& batches, const ModelConfig& model,
                                   int rank, int epoch, int step,
                                   const std::shared_ptr<const EdgeFeatures>& features = nullptr);

/// Bounds for the share of any batch, by the place of a rank on its server; counted only. Each sum is
/// at its bound by itself, so what ranks send and receive does not agree. A sum of rows is handed out
/// to the ranks in order, so the number of one rank is no bound.
///
/// Requires  cooperative batches
/// Cost      a pass over the vertices of the graph
std::vector<CooperativeShare> largest_shares(
    const SampledBatches& batches, const ModelConfig& model,
    const std::shared_ptr<const EdgeFeatures>& features = nullptr);

/// Bytes that a share takes in host memory, with the transposed blocks that its loading makes. The
/// batch of the server is not counted: the ranks of a process share it.
std::int64_t host_bytes(const CooperativeShare& share);

/// Products of a share. Rows travel within the server, in both directions, for each layer. Features
/// are pulled from their owners.
///
/// Placement activations: each row of a server's batch on one of its ranks
class CooperativeProducts : public RankProducts {
 public:
  /// `data` has the share's vertices; `store` and `server` belong to the rank. The store may be
  /// null if another object answers load_features(). `features`: of the share's edges, if they were
  /// brought to the device.
  CooperativeProducts(Runtime& rt, std::shared_ptr<const CooperativeShare> share, VertexData data,
                      Group server, FeaturesOfEdges features, FeatureStore* store);

  VertexData data() const override { return data_; }
  IndexList vertices() const override {
    return share_->own.vertices ? IndexList(share_->own.vertices) : IndexList::counted(rows(0));
  }
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
  FeaturesOfEdges features_of_edges_;
  // Replace products_ and buffers_ if layers weigh edges:
  std::vector<DeviceEdges> edges_;
  std::vector<SourceExchange> exchanges_;
  Buffer sent_;
};

}  // namespace orrery
