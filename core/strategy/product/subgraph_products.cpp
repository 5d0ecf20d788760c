#include "core/strategy/product/subgraph_products.hpp"

#include "core/base/index.hpp"
#include "core/strategy/edges/device_edges.hpp"
#include "core/strategy/product/local_matrix.hpp"
#include "core/strategy/structure/cut_rows.hpp"

namespace orrery {
namespace {

/// The matrices of a part for the layers of a model, or its edges.
struct PreparedSubgraph {
  struct Matrix {
    SparseMatrix forward;
    std::optional<SparseMatrix> adjoint;  ///< empty if A = Aᵀ
  };
  std::shared_ptr<const Subgraph> part;
  int layers;
  std::vector<Matrix> matrices;
  std::vector<EdgeStructure> edges;     ///< replaces matrices
  std::vector<std::size_t> of_layer{};  ///< which matrix, or which edges, a layer uses

  std::int64_t rows(int level) const {
    return level == 0 ? part->a.rows() : part->at_distance(layers - level);
  }
};

class SubgraphProducts final : public RankProducts {
 public:
  SubgraphProducts(Runtime& rt, std::shared_ptr<const Structure> structure,
                   const StrategyConfig& config)
      : RankProducts(rt),
        structure_(std::move(structure)),
        prepared_(content_of<PreparedSubgraph>(*structure_)),
        averages_gradients_(config.averaging == Averaging::gradient),
        row_ids_(rt, {rows(0), 1}, DType::i32, "indices/vertices") {
    rt.submit(Lane::copy, Load{vertices().source(), row_ids_.tensor()});
    rt.wait(Lane::compute, rt.record(Lane::copy));
    for (const EdgeStructure& edges : prepared_.edges) edges_.emplace_back(rt, edges);
    for (const PreparedSubgraph::Matrix& matrix : prepared_.matrices) {
      Matrix loaded{LocalMatrix(rt, matrix.forward, config.column_tiles, "part"), std::nullopt};
      if (matrix.adjoint)
        loaded.adjoint.emplace(rt, *matrix.adjoint, config.column_tiles, "part transposed");
      matrices_.push_back(std::move(loaded));
    }
  }

  VertexData data() const override { return prepared_.part->data; }
  IndexList vertices() const override { return IndexList(prepared_.part->vertices); }
  std::int64_t rows(int level) const override { return prepared_.rows(level); }
  Tensor row_ids() const override { return row_ids_.tensor(); }
  void prepare(std::int64_t, std::int64_t) override {}

  const Edges& edges(int layer) const override { return edges_[of_layer(layer)].edges(); }
  void aggregate(int layer, const Tensor& x, const Tensor& y, float beta) override {
    matrix(layer).forward.multiply(rt_, x, y, beta);
  }
  void aggregate_adjoint(int layer, const Tensor& dy, const Tensor& dx, float beta) override {
    const Matrix& a = matrix(layer);
    (a.adjoint ? *a.adjoint : a.forward).multiply(rt_, dy, dx, beta);
  }

  std::optional<Group> gradient_group() const override {
    return averages_gradients_ ? RankProducts::gradient_group() : std::nullopt;
  }

 private:
  struct Matrix {
    LocalMatrix forward;
    std::optional<LocalMatrix> adjoint;
  };
  std::size_t of_layer(int layer) const { return prepared_.of_layer[at(layer) - 1]; }
  const Matrix& matrix(int layer) const { return matrices_[of_layer(layer)]; }

  std::shared_ptr<const Structure> structure_;
  const PreparedSubgraph& prepared_;
  bool averages_gradients_;
  Buffer row_ids_;
  std::vector<Matrix> matrices_;
  std::vector<DeviceEdges> edges_;
};

}  // namespace

std::shared_ptr<const Structure> prepare_subgraph(std::shared_ptr<const Subgraph> part,
                                                  const ModelConfig& model) {
  PreparedSubgraph prepared{std::move(part), model.layers, {}, {}};
  const SparseMatrix& a = prepared.part->a;
  const auto& vertices = *prepared.part->vertices;
  std::optional<EndVertices> ends = ends_for(model);
  if (ends) ends->rows = ends->sources = vertices;
  CutWork work;
  for (int layer = 1; layer <= model.layers; ++layer) {
    const std::int64_t rows = prepared.rows(layer), columns = prepared.rows(layer - 1);
    const bool as_before = layer > 1 && rows == columns && columns == prepared.rows(layer - 2);
    if (!as_before && weighs_edges(model)) {
      prepared.edges.push_back(make_edge_structure(leading(a, rows, columns), ends));
      work.add(prepared.edges.back().entries(), prepared.edges.back().bytes());
    } else if (!as_before) {
      PreparedSubgraph::Matrix matrix{leading(a, rows, columns), std::nullopt};
      work.add(matrix.forward);
      if (!a.symmetric || rows != columns) matrix.adjoint = transpose(matrix.forward);
      if (matrix.adjoint) work.add(*matrix.adjoint);
      prepared.matrices.push_back(std::move(matrix));
    }
    prepared.of_layer.push_back(std::max(prepared.matrices.size(), prepared.edges.size()) - 1);
  }
  return make_structure(std::move(prepared), work.report());
}

std::unique_ptr<RankProducts> load_subgraph(Runtime& rt, std::shared_ptr<const Structure> structure,
                                            const StrategyConfig& config) {
  return std::make_unique<SubgraphProducts>(rt, std::move(structure), config);
}

}  // namespace orrery
