// Features without their zeros: against the same features with them.
#include "core/strategy/product/sparse_features.hpp"

#include <gtest/gtest.h>

#include "core/base/error.hpp"
#include "core/runtime/summary.hpp"
#include "core/strategy/make_strategy.hpp"
#include "core/strategy/train/record.hpp"
#include "tests/support/problems.hpp"

namespace orrery {
namespace {

using testing::execute;
using testing::losses;
using testing::make_problem;
using testing::random_dataset;

/// 20 columns, in each row the numbers of which one in five is no zero; one row has none.
std::shared_ptr<const Dataset> bags_of_words(bool symmetric = false) {
  constexpr std::int64_t kWidth = 20;
  auto data = std::make_shared<Dataset>(*random_dataset(60, 300, 2, 4, symmetric));
  std::vector<float> values;
  for (Vertex v = 0; v < 60; ++v)
    for (std::int64_t c = 0; c < kWidth; ++c)
      values.push_back(v != 7 && (v * 7 + c) % 5 == 0 ? 0.25F * static_cast<float>(1 + v % 9 + c)
                                                      : 0);
  data->features = dense_features(60, kWidth, std::move(values), "words", true);
  return data;
}

Problem problem_with(ModelType type, int ranks, const StrategyConfig& strategy, bool sparse) {
  Problem p = make_problem(bags_of_words(), ranks, strategy);
  p.model.type = type;
  p.model.layers = 3;
  p.model.dropout = 0;
  p.model.sparse_input = sparse;
  // Rows that are used again are those of X·W, as with sparse features.
  p.strategy.first_layer = FirstLayer::recompute;
  p.train.epochs = 8;
  return p;
}

class SparseInputs : public ::testing::TestWithParam<testing::NamedStrategy> {};

TEST_P(SparseInputs, LearnWhatDenseOnesLearn) {
  for (const ModelType type : {ModelType::gcn, ModelType::sage})
    for (const std::string kernels : {"reference", "cpu"}) {
      const Outcome want = execute(problem_with(type, 4, GetParam().config, false), kernels),
                    got = execute(problem_with(type, 4, GetParam().config, true), kernels);

      for (std::size_t e = 0; e < want.epochs.size(); ++e)
        EXPECT_NEAR(losses(got)[e], losses(want)[e], 1e-5 * losses(want)[e]) << kernels << e;
      EXPECT_EQ(*got.epochs.back().scores->test, *want.epochs.back().scores->test);
    }
}

std::vector<testing::NamedStrategy> strategies_with_sparse_input() {
  auto all = testing::all_strategies();
  for (const auto& more : {testing::local_model_strategies(), testing::inexact_strategies()})
    all.insert(all.end(), more.begin(), more.end());
  std::erase_if(all, [](const auto& s) {
    return s.config.type == "spmm_2d" || s.config.type == "mini_batch";
  });
  return all;
}
INSTANTIATE_TEST_SUITE_P(Strategies, SparseInputs,
                         ::testing::ValuesIn(strategies_with_sparse_input()),
                         [](const auto& each) { return each.param.name; });

TEST(SparseInput, GoesWithLayersThatTransformFirst) {
  const auto problem = [](LayerOrder order, std::int64_t hidden, bool sparse) {
    Problem p = problem_with(ModelType::sage, 2, {}, sparse);
    p.model.hidden = hidden;
    p.model.order = order;
    return p;
  };
  const auto wide = [&](bool sparse) {
    return losses(execute(problem(LayerOrder::transform_first, 40, sparse)));
  };

  const auto dense = wide(false), got = wide(true);

  for (std::size_t e = 0; e < dense.size(); ++e) EXPECT_NEAR(got[e], dense[e], 1e-5 * dense[e]);
  EXPECT_THROW(make_strategy(problem(LayerOrder::automatic, 40, true)), ConfigError);
  EXPECT_THROW(make_strategy(problem(LayerOrder::aggregate_first, 16, true)), ConfigError);
}

TEST(SparseInput, TakesMemoryAndWorkOfItsEntries) {
  const auto first_rank = [](bool sparse) {
    const Problem p = problem_with(ModelType::gcn, 1, {}, sparse);
    const auto programs = record_training(*make_strategy(p), p, 1, {});
    return summarise(programs[0], Placement::uniform(1, 1), 1);
  };

  const Summary dense = first_rank(false), sparse = first_rank(true);

  // X is 59 rows of 4 entries, and multiplied forward and, transposed, for the weight gradient.
  const double entries = 59 * 4, rows = 60, width = 20, hidden = 16;
  EXPECT_EQ(sparse.epoch.by_kind.at("spmm").flops - dense.epoch.by_kind.at("spmm").flops,
            2 * 2 * entries * hidden);
  EXPECT_EQ(dense.epoch.by_kind.at("gemm").flops - sparse.epoch.by_kind.at("gemm").flops,
            2 * 2 * rows * width * hidden);
  EXPECT_EQ(dense.peak_by_class.at("features"), 4 * rows * width);
  EXPECT_EQ(sparse.peak_by_class.count("features"), 0);
}

TEST(SparseInput, IsRefusedWhereItCannotBe) {
  const auto why = [](const auto& change) {
    Problem p = problem_with(ModelType::gcn, 4, {}, true);
    change(p);
    try {
      make_strategy(p);
    } catch (const ConfigError& error) {
      EXPECT_EQ(error.path, "model.sparse_input");
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  const auto says = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };

  EXPECT_TRUE(says(why([](Problem& p) { p.model.dropout = 0.5; }), "model.dropout"));
  EXPECT_TRUE(says(why([](Problem& p) { p.model.type = ModelType::resgcn; }), "gcn and sage"));
  EXPECT_TRUE(says(why([](Problem& p) { p.model.hidden = 21; }), "20 wide"));
  EXPECT_TRUE(says(why([](Problem& p) { p.strategy.type = "spmm_2d"; }), "spmm_2d"));
}

}  // namespace
}  // namespace orrery
