// Backward passes against central differences of the loss, through the whole model on one rank.
#include "tests/support/gradients.hpp"

namespace orrery {
namespace {

using testing::kSagePool;
using testing::make_problem;
using testing::random_dataset;

struct Case {
  ModelType type;
  std::int64_t hidden;
  bool norm;
  bool symmetric;
  LossKind loss;
  int layers = 3;
  bool residual = false;
  int recompute = 0;
  LayerOrder order = LayerOrder::automatic;
  int dense_layers = 0;
  bool batch_norm = false;
  Activation activation = Activation::relu;
  int inner_layers = 0;
};

class Gradient : public ::testing::TestWithParam<Case> {};

TEST_P(Gradient, EqualsCentralDifferenceOfTheLoss) {
  const Case c = GetParam();
  auto data = std::make_shared<Dataset>(*random_dataset(30, 120, 10, 3, c.symmetric));
  if (c.loss == LossKind::sigmoid) {
    data->labels.multilabel = true;
    data->labels.values.clear();
    for (int i = 0; i < 30 * 3; ++i) data->labels.values.push_back(i * 7 % 5 < 2 ? 1 : 0);
  }
  Problem problem = make_problem(data, 1, "full_graph");
  problem.model.type = c.type;
  problem.model.layers = c.layers;
  problem.model.hidden = c.hidden;
  problem.model.dropout = 0.25;
  problem.model.layer_norm = c.norm;
  problem.model.residual = c.residual;
  problem.model.recompute = c.recompute;
  problem.model.order = c.order;
  problem.model.dense_layers = c.dense_layers;
  problem.model.batch_norm = c.batch_norm;
  problem.model.activation = c.activation;
  problem.model.inner_layers = c.inner_layers;
  problem.train.loss = c.loss;

  testing::expect_gradient_of_differences(problem);
}

INSTANTIATE_TEST_SUITE_P(
    Models, Gradient,
    ::testing::Values(Case{ModelType::gcn, 6, false, true, LossKind::softmax},
                      Case{ModelType::gcn, 16, false, false, LossKind::softmax},
                      Case{ModelType::gcn, 6, true, false, LossKind::sigmoid},
                      Case{ModelType::sage, 6, false, true, LossKind::softmax},
                      Case{ModelType::sage, 16, true, false, LossKind::softmax},
                      Case{kSagePool, 6, false, true, LossKind::softmax},
                      Case{kSagePool, 16, true, false, LossKind::sigmoid, 2, true},
                      Case{ModelType::sage, 6, true, true, LossKind::sigmoid},
                      Case{ModelType::gcn, 6, false, false, LossKind::softmax, 3, false, 0,
                           LayerOrder::aggregate_first},
                      Case{ModelType::gcn, 16, true, true, LossKind::softmax, 3, false, 0,
                           LayerOrder::transform_first},
                      Case{ModelType::gcn, 6, false, false, LossKind::softmax, 3, false, 0,
                           LayerOrder::aggregate_both},
                      Case{ModelType::gcn, 16, true, true, LossKind::sigmoid, 4, true, 0,
                           LayerOrder::aggregate_both, 1},
                      Case{ModelType::sage, 6, false, true, LossKind::softmax, 3, false, 0,
                           LayerOrder::aggregate_first},
                      Case{ModelType::sage, 16, true, false, LossKind::softmax, 4, true, 0,
                           LayerOrder::transform_first},
                      Case{ModelType::gcn, 6, false, true, LossKind::softmax, 2, false, 0,
                           LayerOrder::automatic, 1},
                      Case{ModelType::gcn, 6, true, false, LossKind::softmax, 1, true, 0,
                           LayerOrder::automatic, 3},
                      Case{ModelType::sage, 12, true, true, LossKind::sigmoid, 2, false, 0,
                           LayerOrder::aggregate_first, 2},
                      Case{ModelType::gcn, 16, false, false, LossKind::softmax, 2, false, 0,
                           LayerOrder::automatic, 0, true},
                      Case{ModelType::sage, 12, false, true, LossKind::sigmoid, 3, true, 0,
                           LayerOrder::aggregate_first, 1, true},
                      Case{ModelType::gcn, 6, true, true, LossKind::softmax, 3, false, 0,
                           LayerOrder::automatic, 0, false, Activation::elu},
                      Case{ModelType::sage, 12, false, false, LossKind::softmax, 3, true, 0,
                           LayerOrder::automatic, 1, true, Activation::elu},
                      Case{ModelType::gcn, 6, false, false, LossKind::softmax, 3, false, 0,
                           LayerOrder::automatic, 0, false, Activation::relu, 1},
                      Case{ModelType::sage, 12, true, true, LossKind::sigmoid, 3, true, 0,
                           LayerOrder::automatic, 1, false, Activation::elu, 3},
                      Case{ModelType::gcn, 8, false, true, LossKind::softmax, 5, true},
                      Case{ModelType::gcn, 6, true, false, LossKind::softmax, 4, true},
                      Case{ModelType::sage, 8, true, true, LossKind::sigmoid, 5, true},
                      Case{ModelType::sgc, 1, false, true, LossKind::softmax, 3},
                      Case{ModelType::sgc, 1, false, false, LossKind::sigmoid, 2, false, 0,
                           LayerOrder::aggregate_first},
                      Case{ModelType::sgc, 1, false, true, LossKind::softmax, 1, false, 0,
                           LayerOrder::transform_first},
                      Case{ModelType::resgcn, 8, true, true, LossKind::softmax, 3},
                      Case{ModelType::resgcn, 6, true, false, LossKind::sigmoid, 1},
                      Case{ModelType::resgcn, 8, true, true, LossKind::softmax, 5, false, 1},
                      Case{ModelType::resgcn, 8, true, false, LossKind::softmax, 5, false, 2},
                      Case{ModelType::resgcn, 8, true, false, LossKind::softmax, 4, false, 9}));

}  // namespace
}  // namespace orrery
