#include "core/strategy/product/batch_products.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/cache_line.hpp"
#include "core/base/error.hpp"
#include "core/base/index.hpp"

namespace orrery {

namespace {

/// Bytes of so many random cache lines of a table that come from memory: none if a core's own cache
/// holds the table, all if no cache holds any of it. In between caches of several sizes lie, and the
/// share grows with the logarithm. Both ends are assumed; prices are measured with graphs in between.
std::int64_t from_memory(double lines, std::int64_t table_bytes) {
  constexpr double kNearest = 1 << 20, kAll = 64 << 20;
  const double share = std::log(std::max(1.0, static_cast<double>(table_bytes) / kNearest)) /
                       std::log(kAll / kNearest);
  return static_cast<std::int64_t>(kCacheLineBytes * lines * std::min(1.0, share));
}

}  // namespace

HostWork drawing_work(std::int64_t edges, std::int64_t graph_bytes, bool grouped, int values,
                      bool relabelled_later) {
  const auto kind = [&](const char* numbered, const char* later) {
    return relabelled_later ? later : numbered;
  };
  return {grouped ? kind("sample_relations", "sample_relation_vertices")
                  : kind("sample", "sample_vertices"),
          edges,
          // What a drawn edge touches in the graph, the numbering and lists of values: a line each.
          from_memory((2 + values) * static_cast<double>(edges), graph_bytes), 1};
}

HostWork scanning_work(std::int64_t entries, std::int64_t vertices) {
  // The place of its column in the table of numbers, which has 4 bytes for each vertex.
  return {"scan", entries, from_memory(static_cast<double>(entries), 4 * vertices), 1};
}

HostWork pairing_work(std::int64_t pairs, std::int64_t graph_bytes) {
  // For both ends the row that tells whether a pair is an edge, and a place in a table.
  return {"pairs", pairs, from_memory(4 * static_cast<double>(pairs), graph_bytes), 1};
}

std::vector<EdgeStructure> edges_of(const ModelConfig& model, const SampledBatch& batch,
                                    const StackedRelations* relations,
                                    const std::shared_ptr<const EdgeFeatures>& features) {
  std::vector<EdgeStructure> edges;
  if (!weighs_edges(model)) return edges;
  if (by_relation(model)) {
    for (std::size_t l = 0; l < batch.layers.size(); ++l) {
      const bool again = batch.alike && !edges.empty();
      edges.push_back(again ? edges.front() : EdgeStructure{});
      if (again) continue;
      RelationStructure made =
          make_relations(*relations, batch.layers[l].forward, batch.rows[l + 1], *batch.vertices);
      if (weighs_relations(model))
        weigh_relations(made, ends_for(model, features), *batch.vertices);
      else
        transpose_relations(made, batch.later_numbers);
      if (l == 0 && model.projection > 0)
        made.input_types =
            rows_by_type(type_runs(*batch.vertices, *relations), relations->types.size());
      edges.back().relations = std::make_shared<const RelationStructure>(std::move(made));
    }
    return edges;
  }
  std::optional<EndVertices> ends = ends_for(model, features);
  if (ends && batch.vertices) ends->rows = ends->sources = *batch.vertices;
  for (const SampledBatch::Layer& layer : batch.layers)
    edges.push_back(batch.alike && !edges.empty() ? edges.front()
                    : batch.relabelled_later()
                        ? edges_later(layer.forward, batch.later_numbers, ends)
                        : make_edge_structure(layer.forward, ends));
  return edges;
}

namespace {

/// Rows of all types begin with the first one, because each type is at its bound by itself.
RelationStructure largest_relations(const ModelConfig& model, const SampledBatches& batches,
                                    const SampledBatch& largest, int layer,
                                    const std::shared_ptr<const EdgeFeatures>& features) {
  const SampledBatches::RelationBounds most = batches.relation_bounds(layer);
  const std::int64_t columns = largest.rows[at(layer) - 1];
  RelationStructure made;
  made.relabelled_later = largest.relabelled_later();
  made.relations.resize(most.edges.size());
  if (layer == 1 && model.projection > 0)
    for (const std::int64_t rows : batches.type_bounds(0)) made.input_types.push_back({{0, rows}});
  for (std::size_t t = 0; t < most.rows.size(); ++t) {
    made.types.push_back({{0, most.rows[t]}});
    for (const int r : batches.relations()->types[t].relations) {
      const std::int64_t edges = most.edges[at(r)];
      RelationMatrix& relation = made.relations[at(r)];
      relation.destination = static_cast<int>(t);
      if (weighs_relations(model)) {
        const std::int64_t sources = std::min(columns, most.rows[t] + edges);
        relation.edges = make_edge_structure({Counts{most.rows[t], sources, edges}, nullptr},
                                             ends_for(model, features));
        relation.sources = IndexList::counted(sources);
      } else {
        relation.matrix = {Counts{most.rows[t], columns, edges}, nullptr};
        relation.transposed = {Counts{columns, most.rows[t], edges}, nullptr};
      }
    }
  }
  return made;
}

}  // namespace

std::vector<EdgeStructure> largest_edges_of(const ModelConfig& model, const SampledBatches& batches,
                                            const SampledBatch& largest,
                                            const std::shared_ptr<const EdgeFeatures>& features) {
  if (!by_relation(model)) return edges_of(model, largest, nullptr, features);
  std::vector<EdgeStructure> edges(largest.layers.size());
  for (std::size_t l = 0; l < edges.size(); ++l)
    edges[l].relations = std::make_shared<const RelationStructure>(
        largest_relations(model, batches, largest, static_cast<int>(l) + 1, features));
  return edges;
}

namespace {

template <class T>
std::int64_t list_bytes(const std::shared_ptr<const std::vector<T>>& list) {
  return list ? static_cast<std::int64_t>(list->capacity() * sizeof(T)) : 0;
}

}  // namespace

std::int64_t matrix_bytes(const SparseMatrix& matrix) {
  constexpr std::int64_t kOffset = sizeof(EdgeIndex), kEntry = sizeof(Vertex) + sizeof(float);
  if (std::holds_alternative<Counts>(matrix.pattern))
    return (matrix.rows() + 1) * kOffset + matrix.nnz() * kEntry;
  const Csr& csr = matrix.csr();
  return static_cast<std::int64_t>(csr.offsets.capacity()) * kOffset +
         static_cast<std::int64_t>(csr.columns.capacity() * sizeof(Vertex)) +
         list_bytes(matrix.values);
}

std::int64_t host_bytes(const SampledBatch& batch, const std::vector<EdgeStructure>& edges) {
  // In a batch that is only counted, one list of numbers stands in several places.
  const std::int64_t number = sizeof(Vertex);
  std::int64_t bytes = batch.vertices ? list_bytes(batch.vertices) : batch.rows.front() * number;
  for (const SampledBatch::Layer& layer : batch.layers) {
    bytes += matrix_bytes(layer.forward);
    if (layer.adjoint && !batch.relabelled_later()) bytes += matrix_bytes(*layer.adjoint);
    if (batch.alike) break;
  }
  for (const EdgeStructure& of_layer : edges) {
    bytes += of_layer.bytes();
    if (batch.alike) break;
  }
  if (batch.pairs)
    for (const auto* list : {&batch.pairs->left, &batch.pairs->right})
      bytes += static_cast<std::int64_t>(list->capacity()) * number;
  return bytes + list_bytes(batch.target_weights) + host_bytes(batch.features);
}

std::int64_t host_bytes(const WantedRows& rows) {
  return list_bytes(rows.pulled.numbers) + list_bytes(rows.pulled.rows_per_owner) +
         list_bytes(rows.places);
}

BatchProducts::BatchProducts(Runtime& rt, std::shared_ptr<const SampledBatch> batch,
                             VertexData data, const std::vector<EdgeStructure>& edges,
                             FeaturesOfEdges features)
    : RankProducts(rt),
      batch_(std::move(batch)),
      data_(std::move(data)),
      row_ids_(rt, {rows(0), 1}, DType::i32, "indices/vertices"),
      features_of_edges_(std::move(features)) {
  rt.submit(Lane::copy, Load{vertices().source(), row_ids_.tensor()});
  rt.wait(Lane::compute, rt.record(Lane::copy));
  const VertexTable* const table =
      batch_->relabelled_later() ? &table_.emplace(rt, row_ids_.tensor()) : nullptr;
  for (const EdgeStructure& of_layer : edges) {
    const bool again = batch_->alike && !of_layer_.empty();
    const bool by_relation = of_layer.relations != nullptr;
    if (!again && by_relation)
      relations_.emplace_back(rt, *of_layer.relations, &features_of_edges_, table);
    if (!again && !by_relation)
      edges_.emplace_back(rt, of_layer, features_of_edges_.take(of_layer.entries()), table);
    of_layer_.push_back((by_relation ? relations_.size() : edges_.size()) - 1);
  }
  if (!edges.empty()) return;
  for (const SampledBatch::Layer& layer : batch_->layers) {
    if (matrices_.empty() || !batch_->alike) {
      Matrix loaded{LocalMatrix(rt, layer.forward, 1, "block"), std::nullopt};
      if (table != nullptr) {
        loaded.forward.relabel(*table);
        if (layer.adjoint)
          loaded.adjoint =
              loaded.forward.transposed(rt, layer.adjoint->pattern, "block transposed");
      } else if (layer.adjoint) {
        loaded.adjoint.emplace(rt, *layer.adjoint, 1, "block transposed");
      }
      matrices_.push_back(std::move(loaded));
    }
    of_layer_.push_back(matrices_.size() - 1);
  }
}

void PulledBatchProducts::load_features(std::int64_t first_column, const Tensor& features) {
  ORRERY_ASSERT(first_column == 0);
  places_ = store_.pull(wanted_, features);
}

void BatchProducts::aggregate(int layer, const Tensor& x, const Tensor& y, float beta) {
  matrix(layer).forward.multiply(rt_, x, y, beta);
}

void BatchProducts::aggregate_adjoint(int layer, const Tensor& dy, const Tensor& dx, float beta) {
  const Matrix& a = matrix(layer);
  ORRERY_ASSERT(a.adjoint.has_value());
  a.adjoint->multiply(rt_, dy, dx, beta);
}

}  // namespace orrery
