// The planner of inferences beside an exhaustive search: every combination of its keys, laid out and
// recorded one by one.
#include "experiments/infer/choose_tiles.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/parallel.hpp"
#include "core/runtime/recording.hpp"
#include "core/runtime/summary.hpp"
#include "experiments/infer/layer_orders.hpp"
#include "tests/support/inferences.hpp"
#include "tests/support/rows_in_drawn_order.hpp"

namespace orrery {
namespace {

using testing::make_inference;
using testing::random_dataset;

constexpr std::array kEveryGemm{DenseProduct::ring, DenseProduct::reduce};
constexpr std::array kEverySddmm{EdgeProduct::split, EdgeProduct::duplicated};

/// Bytes that all ranks receive from others in the whole inference, by their recorded operations.
double received_by_all(const InferenceProblem& problem) {
  const InferenceBody body(problem);
  double sum = 0;
  for (const Program& program : record_ranks(body, body.epochs(), {}))
    for (const Step& step : program.steps)
      if (const auto* submit = std::get_if<SubmitStep>(&step))
        received_bytes(submit->op, program.rank, [&](int, double bytes) { sum += bytes; });
  return sum;
}

/// The fewest bytes of all combinations, and how many there are.
struct Search {
  double fewest = std::numeric_limits<double>::infinity();
  int combinations = 0;
  InferenceConfig best{};
};

/// Every choice of an order for each layer; only one that is empty for a model without orders.
std::vector<LayerOrders> every_order(const ModelConfig& model) {
  if (!has_orders(model)) return {LayerOrders{}};
  std::vector<LayerOrders> all;
  for (int bits = 0; bits < 1 << model.layers; ++bits) {
    all.emplace_back();
    for (int layer = 0; layer < model.layers; ++layer)
      all.back().push_back((bits >> layer & 1) != 0 ? LayerOrder::aggregate_first
                                                    : LayerOrder::transform_first);
  }
  return all;
}

Search exhaustive(const std::shared_ptr<const Dataset>& data, const ModelConfig& model, int ranks) {
  const ThreadPool alone(1);  // of so little work threads would mostly wait
  const bool attention = weighs_edges(model);
  std::vector<SparseProduct> every_spmm{SparseProduct::ids_then_rows};
  if (!attention)
    every_spmm.insert(every_spmm.end(), {SparseProduct::exchange_graph, SparseProduct::two_d});
  Search search;
  for (int columns = 1; columns <= ranks; ++columns)
    for (const DenseProduct gemm : kEveryGemm)
      for (const EdgeProduct sddmm : kEverySddmm)
        for (const SparseProduct spmm : every_spmm)
          for (const LayerOrders& order : every_order(model)) {
            if (ranks % columns != 0 || (!attention && sddmm != EdgeProduct::split)) continue;
            InferenceConfig config;
            config.order = order;
            config.rows = ranks / columns;
            config.columns = columns;
            config.gemm = gemm;
            config.sddmm = sddmm;
            config.spmm = spmm;
            const double bytes = received_by_all(make_inference(data, model, config));
            ++search.combinations;
            if (bytes >= search.fewest) continue;
            search.fewest = bytes;
            search.best = config;
          }
  return search;
}

InferenceProblem asked_of(const std::shared_ptr<const Dataset>& data, const ModelConfig& model) {
  InferenceProblem asked = make_inference(data, model, {});
  asked.graphs = nullptr;
  return asked;
}

/// The first choice has the fewest bytes, and its bytes are those of the way that it names.
void expect_fewest(const std::shared_ptr<const Dataset>& data, const ModelConfig& model, int ranks,
                   const Search& search) {
  const InferenceProblem asked = asked_of(data, model);
  const ThreadPool alone(1);
  const auto choices = choose_tiles(asked, ranks, std::nullopt);

  ASSERT_FALSE(choices.empty());
  // Shares of an all-reduction are no whole numbers, and the two sums have other orders.
  EXPECT_DOUBLE_EQ(choices.front().received_bytes, search.fewest) << ranks << " ranks";
  EXPECT_DOUBLE_EQ(received_by_all(laid_out(asked, choices.front())), search.fewest)
      << ranks << " ranks";
  EXPECT_LT(search.fewest, choices.back().received_bytes) << "all ways are alike";
}

ModelConfig model_of(const ModelType& type, int layers, int hidden) {
  ModelConfig model;
  model.type = type;
  model.layers = layers;
  model.hidden = hidden;
  return model;
}

/// Few edges and wide inputs, many edges and narrow ones: other tiles win.
TEST(ChooseTiles, FindsTheFewestBytesOfAnExhaustiveSearchForAGcn) {
  const ModelConfig model = model_of(ModelType::gcn, 2, 11);
  for (const int ranks : {12, 16}) {
    const auto sparse = random_dataset(97, 150, 40, 7, true),
               dense = random_dataset(97, 2000, 5, 7, true);

    const Search of_sparse = exhaustive(sparse, model, ranks),
                 of_dense = exhaustive(dense, model, ranks);

    EXPECT_EQ(of_sparse.combinations, (ranks == 12 ? 6 : 5) * 2 * 3 * 4);
    EXPECT_NE(of_sparse.best.columns, of_dense.best.columns);
    expect_fewest(sparse, model, ranks, of_sparse);
    expect_fewest(dense, model, ranks, of_dense);
  }
}

/// One part exchanges no graph, one column is not cut by columns, and groups are only of fetched rows.
TEST(ChooseTiles, ListsEveryProductWithTheGraphThatTilesTellApart) {
  using Products = std::set<std::pair<int, SparseProduct>>;  // by columns
  constexpr auto kIds = SparseProduct::ids_then_rows, kGraph = SparseProduct::exchange_graph,
                 k2d = SparseProduct::two_d;
  const auto products_of = [](const InferenceProblem& asked) {
    Products listed;
    for (const TileChoice& choice : choose_tiles(asked, 4, std::nullopt))
      listed.insert({choice.config.columns, choice.config.spmm});
    return listed;
  };
  const auto data = random_dataset(60, 400, 4, 4, true);
  const InferenceProblem gcn = asked_of(data, model_of(ModelType::gcn, 2, 8)),
                         gat = asked_of(data, model_of(ModelType::gat, 2, 8));
  InferenceProblem in_groups = gcn;
  in_groups.config.group_bytes = 100;

  EXPECT_EQ(
      products_of(gcn),
      (Products{{1, kIds}, {1, kGraph}, {2, kIds}, {2, kGraph}, {2, k2d}, {4, kIds}, {4, k2d}}));
  EXPECT_EQ(products_of(in_groups),
            (Products{{1, kIds}, {2, kIds}, {2, k2d}, {4, kIds}, {4, k2d}}));
  EXPECT_EQ(products_of(gat), (Products{{1, kIds}, {2, kIds}, {4, kIds}}));
}

TEST(ChooseTiles, FindsTheFewestBytesOfAnExhaustiveSearchForAttention) {
  for (const Attention attention : {Attention::additive, Attention::dot})
    for (const int ranks : {12, 16}) {
      const auto data = random_dataset(97, 1500, 24, 8, false);
      ModelConfig model = model_of(ModelType::gat, 2, 12);
      model.heads = 2;
      model.attention = attention;

      const Search search = exhaustive(data, model, ranks);

      EXPECT_EQ(search.combinations, (ranks == 12 ? 6 : 5) * 2 * 2);
      expect_fewest(data, model, ranks, search);
    }
}

/// Where rows lie in files, the first layer gains by another order than the others: of the ways that
/// fuse it, the planner finds the best and the next of all orders of four layers, also where memory
/// forbids some, and says of each listed one what recording it alone says.
TEST(ChooseTiles, FindsTheBestAndTheNextOrderOfAllLayers) {
  const auto data = random_dataset(97, 400, 9, 7, true);
  const testing::RowsInDrawnOrder rows(*data);
  ModelConfig model = model_of(ModelType::sage, 4, 8);
  InferenceProblem asked = asked_of(data, model);
  auto with_files = std::make_shared<InferenceData>(*asked.data);
  with_files->feature_files = rows.files;
  asked.data = with_files;
  const ThreadPool alone(1);
  const auto costs_of = [&](const InferenceConfig& config) {
    const InferenceProblem problem = laid_out(asked, {config});
    const RankStages stages = count_stages(InferenceBody(problem), {});
    return std::pair{received_bytes_of(stages), largest_peak(stages)};
  };
  InferenceConfig config;
  config.rows = 3;
  config.columns = 2;
  std::vector<std::pair<double, std::int64_t>> all;
  for (const LayerOrders& order : every_order(model)) {
    config.order = order;
    all.push_back(costs_of(config));
  }
  const auto [least, most] = std::minmax_element(
      all.begin(), all.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  ASSERT_LT(least->second, most->second) << "memory forbids none";

  for (const auto& device_bytes :
       {std::optional<std::int64_t>(), std::optional((least->second + most->second) / 2)}) {
    std::vector<double> fitting;
    for (const auto& [bytes, peak] : all)
      if (!device_bytes || peak <= *device_bytes) fitting.push_back(bytes);
    std::sort(fitting.begin(), fitting.end());
    config.order.clear();
    config.group_bytes = device_bytes ? 1 << 20 : 0;  // stays: groups would be cut until all fit
    asked.config.group_bytes = config.group_bytes;
    std::vector<double> listed;
    bool mixed = false;
    for (const TileChoice& choice : choose_tiles(asked, 6, device_bytes)) {
      const InferenceConfig& way = choice.config;
      if (way.rows != 3 || way.gemm != DenseProduct::ring ||
          way.spmm != SparseProduct::ids_then_rows || way.preparation != Preparation::fused)
        continue;
      EXPECT_EQ(std::pair(choice.received_bytes, choice.peak_bytes), costs_of(way));
      if (choice.fits) listed.push_back(choice.received_bytes);
      mixed = mixed || order_json(way.order).is_array();
    }
    ASSERT_GE(listed.size(), 2U);
    ASSERT_GE(fitting.size(), 2U);
    EXPECT_DOUBLE_EQ(listed[0], fitting[0]);
    EXPECT_DOUBLE_EQ(listed[1], fitting[1]);
    EXPECT_TRUE(mixed);
  }
}

}  // namespace
}  // namespace orrery
