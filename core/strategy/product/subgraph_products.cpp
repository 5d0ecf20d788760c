#include "core/strategy/product/subgraph_products.hpp"

#include "core/base/index.hpp"
#include "core/strategy/product/local_matrix.hpp"
#include "core/strategy/structure/cut_rows.hpp"

namespace orrery {
namespace {

class SubgraphProducts final : public RankProducts {
 public:
  SubgraphProducts(Runtime& rt, std::shared_ptr<const Subgraph> part, int layers,
                   const StrategyConfig& config)
      : RankProducts(rt),
        part_(std::move(part)),
        layers_(layers),
        averages_gradients_(config.averaging == Averaging::gradient),
        row_ids_(rt, {rows(0), 1}, DType::i32, "indices/vertices") {
    rt.submit(Lane::copy, Load{vertices().source(), row_ids_.tensor()});
    rt.wait(Lane::compute, rt.record(Lane::copy));
    for (int layer = 1; layer <= layers; ++layer) {
      const bool as_before =
          layer > 1 && rows(layer) == rows(layer - 1) && rows(layer - 1) == rows(layer - 2);
      if (!as_before) load_matrix(rows(layer), rows(layer - 1), config.column_tiles);
      matrix_of_layer_.push_back(matrices_.size() - 1);
    }
  }

  VertexData data() const override { return part_->data; }
  IndexList vertices() const override { return IndexList(part_->vertices); }
  std::int64_t rows(int level) const override {
    return level == 0 ? part_->a.rows() : part_->at_distance(layers_ - level);
  }
  Tensor row_ids() const override { return row_ids_.tensor(); }
  void prepare(std::int64_t, std::int64_t) override {}

  void aggregate(int layer, const Tensor& x, const Tensor& y, float beta) override {
    matrix(layer).forward.multiply(rt_, x, y, beta);
  }
  void aggregate_adjoint(int layer, const Tensor& dy, const Tensor& dx, float beta) override {
    const Matrix& a = matrix(layer);
    (a.adjoint ? *a.adjoint : a.forward).multiply(rt_, dy, dx, beta);
  }

  void synchronise(const Tensor& gradients) override {
    if (averages_gradients_) RankProducts::synchronise(gradients);
  }

 private:
  struct Matrix {
    LocalMatrix forward;
    std::optional<LocalMatrix> adjoint;  ///< none where A = Aᵀ
  };

  void load_matrix(std::int64_t rows, std::int64_t columns, int tiles) {
    const SparseMatrix block = leading(part_->a, rows, columns);
    Matrix matrix{LocalMatrix(rt_, block, tiles, "part"), std::nullopt};
    if (!part_->a.symmetric || rows != columns)
      matrix.adjoint.emplace(rt_, transpose(block), tiles, "part transposed");
    matrices_.push_back(std::move(matrix));
  }
  const Matrix& matrix(int layer) const { return matrices_[matrix_of_layer_[at(layer) - 1]]; }

  std::shared_ptr<const Subgraph> part_;
  int layers_;
  bool averages_gradients_;
  Buffer row_ids_;
  std::vector<Matrix> matrices_;
  std::vector<std::size_t> matrix_of_layer_;
};

}  // namespace

std::unique_ptr<RankProducts> make_subgraph_products(Runtime& rt,
                                                     std::shared_ptr<const Subgraph> part,
                                                     int layers, const StrategyConfig& config) {
  return std::make_unique<SubgraphProducts>(rt, std::move(part), layers, config);
}

}  // namespace orrery
