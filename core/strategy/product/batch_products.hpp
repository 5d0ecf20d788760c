// A batch on a device.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/strategy/edges/device_edges.hpp"
#include "core/strategy/edges/vertex_table.hpp"
#include "core/strategy/product/local_matrix.hpp"
#include "core/strategy/product/rank_products.hpp"
#include "core/strategy/store/feature_store.hpp"
#include "core/strategy/store/rows_ahead.hpp"
#include "core/strategy/structure/sampled_batches.hpp"

namespace orrery {

/// Bytes of a graph's structure, in which edges are drawn and pairs are looked up.
constexpr std::int64_t structure_bytes(std::int64_t vertices, std::int64_t entries) {
  return 8 * vertices + 4 * entries;
}

/// The work of drawing and cutting a batch with this many edges from a graph of so many bytes. A model
/// that works by relation has its edges grouped as well, which has a price of its own. `values`: how
/// many values that the data has for each edge (weights, rows of features) are looked up.
/// `relabelled_later`: nothing is numbered and transposed where it is drawn.
HostWork drawing_work(std::int64_t edges, std::int64_t graph_bytes, bool grouped = false,
                      int values = 0, bool relabelled_later = false);

/// The work of looking at so many entries of a graph of so many vertices for those whose ends are both in a
/// batch.
HostWork scanning_work(std::int64_t entries, std::int64_t vertices);

/// The work of drawing negatives for links, and of finding the rows of the ends of so many pairs, which
/// are looked up in a graph of so many bytes.
HostWork pairing_work(std::int64_t pairs, std::int64_t graph_bytes);

/// The edges of each layer if the model weighs them or works by relation, else none. `relations`: what
/// the batch was drawn from, for the latter. `features`: of the data's edges; null: they have none.
std::vector<EdgeStructure> edges_of(const ModelConfig& model, const SampledBatch& batch,
                                    const StackedRelations* relations = nullptr,
                                    const std::shared_ptr<const EdgeFeatures>& features = nullptr);

/// Those of SampledBatches::largest(), counted only.
std::vector<EdgeStructure> largest_edges_of(
    const ModelConfig& model, const SampledBatches& batches, const SampledBatch& largest,
    const std::shared_ptr<const EdgeFeatures>& features = nullptr);

/// Bytes of a matrix in host memory, with its values.
std::int64_t matrix_bytes(const SparseMatrix& matrix);

/// Bytes that a batch takes in host memory from its drawing to the end of its step; for a batch
/// that is only counted, the bytes of one of these sizes.
std::int64_t host_bytes(const SampledBatch& batch, const std::vector<EdgeStructure>& edges);
/// Those of the lists of rows that a batch needs.
std::int64_t host_bytes(const WantedRows& rows);

/// Products of one rank's batch, in which nothing travels. Features are those of `data`; gradients
/// are summed over all ranks.
///
/// Placement all rows of a batch and its matrices on its rank
class BatchProducts : public RankProducts {
 public:
  /// `data` has the batch's vertices; `edges` as edges_of() returns them; `features` of these edges
  /// if they were brought to the device.
  BatchProducts(Runtime& rt, std::shared_ptr<const SampledBatch> batch, VertexData data,
                const std::vector<EdgeStructure>& edges, FeaturesOfEdges features = {});

  VertexData data() const override { return data_; }
  std::shared_ptr<const std::vector<float>> target_weights() const override {
    return batch_->target_weights;
  }
  IndexList vertices() const override {
    return batch_->vertices ? IndexList(batch_->vertices) : IndexList::counted(rows(0));
  }
  std::shared_ptr<const PairRows> pairs() const override { return batch_->pairs; }
  std::int64_t rows(int level) const override { return batch_->rows[at(level)]; }
  bool in_blocks() const override { return !batch_->alike; }
  Tensor row_ids() const override { return row_ids_.tensor(); }
  void prepare(std::int64_t, std::int64_t) override {}
  const Edges& edges(int layer) const override { return edges_[of_layer_[at(layer) - 1]].edges(); }
  const std::vector<Rows>& rows_of_type(int level, int type) const override {
    return level == 0 ? relations(1).inputs_of_type(type) : relations(level).rows_of_type(type);
  }
  const std::vector<Rows>& rows_of_relation(int layer, int relation) const override {
    return relations(layer).rows(relation);
  }
  RelationEdges relation_edges(int layer, int relation) const override {
    return relations(layer).edges(relation);
  }
  void aggregate_relation(int layer, int relation, const Tensor& x, const Tensor& y,
                          float beta) override {
    relations(layer).multiply(rt_, relation, x, y, beta);
  }
  void aggregate_relation_adjoint(int layer, int relation, const Tensor& dy, const Tensor& dx,
                                  float beta) override {
    relations(layer).multiply_adjoint(rt_, relation, dy, dx, beta);
  }
  void aggregate(int layer, const Tensor& x, const Tensor& y, float beta) override;
  void aggregate_adjoint(int layer, const Tensor& dy, const Tensor& dx, float beta) override;

 private:
  struct Matrix {
    LocalMatrix forward;
    std::optional<LocalMatrix> adjoint;
  };
  const Matrix& matrix(int layer) const { return matrices_[of_layer_[at(layer) - 1]]; }

  const LocalRelations& relations(int layer) const { return relations_[of_layer_[at(layer) - 1]]; }

  std::shared_ptr<const SampledBatch> batch_;
  VertexData data_;
  Buffer row_ids_;
  std::optional<VertexTable> table_;  ///< of vertices, if the device does it
  FeaturesOfEdges features_of_edges_;
  std::vector<Matrix> matrices_;
  std::vector<DeviceEdges> edges_;         ///< replaces matrices if layers weigh edges,
  std::vector<LocalRelations> relations_;  ///< or these, if they work by relation
  std::vector<std::size_t> of_layer_;      ///< which of them
};

/// The same, with features pulled from their owners.
class PulledBatchProducts final : public BatchProducts {
 public:
  /// `store` must outlive the result.
  PulledBatchProducts(Runtime& rt, std::shared_ptr<const SampledBatch> batch, VertexData data,
                      const std::vector<EdgeStructure>& edges, FeaturesOfEdges features,
                      WantedRows wanted, FeatureStore& store)
      : BatchProducts(rt, std::move(batch), std::move(data), edges, std::move(features)),
        wanted_(std::move(wanted)),
        store_(store) {}
  void load_features(std::int64_t first_column, const Tensor& features) override;

 private:
  WantedRows wanted_;
  FeatureStore& store_;
  Buffer places_;  ///< place of the features among the pulled rows
};

/// The same, with features that were fetched into host memory before.
class FetchedBatchProducts final : public BatchProducts {
 public:
  /// `fetched` must outlive the result; this is its first batch.
  FetchedBatchProducts(Runtime& rt, std::shared_ptr<const SampledBatch> batch, VertexData data,
                       const std::vector<EdgeStructure>& edges, FeaturesOfEdges features,
                       RowsAhead& fetched)
      : BatchProducts(rt, std::move(batch), std::move(data), edges, std::move(features)),
        fetched_(fetched) {}
  void load_features(std::int64_t first_column, const Tensor& features) override {
    ORRERY_ASSERT(first_column == 0);
    places_ = fetched_.take(features);
  }

 private:
  RowsAhead& fetched_;
  Buffer places_;  ///< place of the features in their slot
};

}  // namespace orrery
