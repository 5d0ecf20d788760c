// An inference computes what the training program's forward pass does, however it is cut.
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <variant>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/runtime/recording.hpp"
#include "tests/support/inferences.hpp"

namespace orrery {
namespace {

using testing::infer;
using testing::largest_difference;
using testing::Logits;
using testing::make_inference;
using testing::random_dataset;
using testing::trained_forward;

struct Tiles {
  int rows, columns;
};

constexpr std::array kTiles{Tiles{1, 1}, Tiles{3, 1}, Tiles{1, 4},
                            Tiles{2, 3}, Tiles{3, 2}, Tiles{2, 7}};

ModelConfig model_of(ModelType type) {
  ModelConfig model;
  model.type = type;
  model.layers = 3;
  model.hidden = 7;
  return model;
}

struct Case {
  std::string name;
  ModelConfig model;
  bool directed = false;
};

std::vector<Case> cases() {
  std::vector<Case> list{{"Gcn", model_of(ModelType::gcn)}, {"Sage", model_of(ModelType::sage)}};
  for (Case made : {list[0], list[1]}) {
    made.name += "AggregateFirst";
    made.model.order = LayerOrder::aggregate_first;
    list.push_back(made);
  }
  Case residual = list[1];
  residual.name = "SageResidualBatchNormDenseLayerDirected";
  residual.model.residual = residual.model.batch_norm = residual.directed = true;
  residual.model.dense_layers = 1;
  list.push_back(residual);
  for (const std::size_t base : {0, 1}) {
    Case nested = list[base];
    nested.name += "WithDenseLayersInside";
    nested.model.inner_layers = 1 + static_cast<int>(base);
    nested.model.hidden = base == 0 ? 7 : 40;  // or wider than the features
    list.push_back(nested);
  }
  Case rows = list[0];
  rows.name = "GcnLayerNormElu";
  rows.model.layer_norm = true;
  rows.model.activation = Activation::elu;
  list.push_back(rows);
  list.push_back({"ResGcn", model_of(ModelType::resgcn)});
  return list;
}

class Inference : public ::testing::TestWithParam<Case> {
 protected:
  /// Fewer classes and features than some have columns.
  static std::shared_ptr<const Dataset> data() {
    return random_dataset(61, 260, 10, 5, !GetParam().directed);
  }
};

TEST_P(Inference, IsTheForwardPassOfTrainingOnAnyTiles) {
  const Logits expected = trained_forward(data(), GetParam().model);

  for (const auto& [rows, columns] : kTiles)
    for (const auto gemm : {DenseProduct::ring, DenseProduct::reduce})
      for (const std::int64_t group_bytes : {0, 40}) {
        InferenceConfig config;
        config.rows = rows;
        config.columns = columns;
        config.gemm = gemm;
        config.group_bytes = group_bytes;
        EXPECT_LE(
            largest_difference(infer(make_inference(data(), GetParam().model, config)), expected),
            1e-6)
            << rows << " x " << columns << " groups of " << group_bytes;
      }
}

TEST_P(Inference, IsTheSameByTheRivalsOfFetchedRows) {
  const Logits expected = trained_forward(data(), GetParam().model);

  for (const auto& [rows, columns] : kTiles)
    for (const auto& [spmm, group_bytes] :
         {std::pair{SparseProduct::exchange_graph, 0}, std::pair{SparseProduct::two_d, 0},
          std::pair{SparseProduct::two_d, 100}}) {
      InferenceConfig config;
      config.rows = rows;
      config.columns = columns;
      config.spmm = spmm;
      config.group_bytes = group_bytes;
      EXPECT_LE(
          largest_difference(infer(make_inference(data(), GetParam().model, config)), expected),
          1e-6)
          << rows << " x " << columns << " by product " << static_cast<int>(spmm);
    }
}

/// Every choice of an order for each of three layers.
std::vector<std::vector<LayerOrder>> every_order() {
  std::vector<std::vector<LayerOrder>> all;
  for (int bits = 0; bits < 8; ++bits) {
    all.emplace_back();
    for (int layer = 0; layer < 3; ++layer)
      all.back().push_back((bits >> layer & 1) != 0 ? LayerOrder::aggregate_first
                                                    : LayerOrder::transform_first);
  }
  return all;
}

TEST_P(Inference, IsTheSameWithAnyOrderOfEachLayer) {
  const Logits expected = trained_forward(data(), GetParam().model);

  for (const auto& order : every_order()) {
    InferenceConfig config;
    config.rows = 3;
    config.columns = 2;
    config.order = order;
    EXPECT_LE(largest_difference(infer(make_inference(data(), GetParam().model, config)), expected),
              1e-6);
  }
}

/// The widths of the rows that layers sum are those of their orders: not all are done alike.
TEST(InferenceOrder, IsThatOfEachLayer) {
  const auto data = random_dataset(61, 260, 10, 5, true);  // widths 10, 7, 7, 5
  for (const auto& order : every_order()) {
    InferenceConfig config;
    config.rows = 3;
    config.order = order;
    const InferenceProblem problem = make_inference(data, model_of(ModelType::gcn), config);
    const InferenceBody body(problem);
    std::vector<std::set<std::int64_t>> summed(3);
    int stage = -1;
    for (const Step& step : record_rank(body, 0, body.epochs(), {}).steps) {
      if (const auto* phase = std::get_if<PhaseStep>(&step)) stage = phase->phase.epoch;
      const auto* submit = std::get_if<SubmitStep>(&step);
      if (submit == nullptr || stage < 0) continue;
      if (const auto* sum = std::get_if<SpMM>(&submit->op)) summed[at(stage)].insert(sum->x.cols());
    }
    const std::array<std::int64_t, 4> widths{10, 7, 7, 5};
    for (std::size_t l = 0; l < 3; ++l)
      EXPECT_EQ(summed[l],
                std::set<std::int64_t>{order[l] == LayerOrder::aggregate_first ? widths[l]
                                                                               : widths[l + 1]})
          << "layer " << l + 1;
  }
}

/// Layers that are computed in the memory of their inputs.
TEST(InferenceInPlace, IsTheForwardPassOfTraining) {
  const auto data = random_dataset(61, 260, 10, 5, true);
  ModelConfig plain = model_of(ModelType::gcn), wide = plain, dense = plain, late = plain;
  wide.hidden = 40;  // wider than the features
  dense.dense_layers = 2;
  dense.layer_norm = true;
  late.order = LayerOrder::aggregate_first;
  for (const ModelConfig& model : {plain, wide, dense, late}) {
    const Logits expected = trained_forward(data, model);
    for (const int rows : {1, 2, 5})
      for (const int sum_columns : {1, 3, 7, 64}) {
        InferenceConfig config;
        config.rows = rows;
        config.sum_columns = sum_columns;
        config.group_bytes = rows == 5 ? 40 : 0;
        EXPECT_LE(largest_difference(infer(make_inference(data, model, config)), expected), 1e-6)
            << rows << " parts, " << sum_columns << " columns at a time, hidden " << model.hidden;
      }
    InferenceConfig mixed;
    mixed.rows = 2;
    mixed.sum_columns = 3;
    mixed.order = {LayerOrder::aggregate_first, LayerOrder::transform_first,
                   LayerOrder::aggregate_first};
    EXPECT_LE(largest_difference(infer(make_inference(data, model, mixed)), expected), 1e-6);
  }
}

TEST(InferenceInPlace, HoldsActivationsOnce) {
  const auto data = random_dataset(400, 1200, 32, 5, true);
  ModelConfig model = model_of(ModelType::gcn);
  model.hidden = 32;
  const auto peak = [&](int sum_columns) {
    InferenceConfig config;
    config.fanout = 4;
    config.sum_columns = sum_columns;
    const InferenceProblem problem = make_inference(data, model, config);
    const InferenceBody body(problem);
    std::int64_t held = 0, most = 0;
    std::map<std::uint32_t, std::int64_t> activations;
    for (const Step& step : record_rank(body, 0, body.epochs(), {}).steps) {
      if (const auto* made = std::get_if<AllocStep>(&step);
          made && made->tensor.bytes() >= 400 * 16) {
        held += activations[made->tensor.id] = made->tensor.bytes();
        most = std::max(most, held);
      }
      if (const auto* gone = std::get_if<ReleaseStep>(&step))
        if (const auto known = activations.find(gone->tensor.id); known != activations.end())
          held -= std::exchange(known->second, 0);
    }
    return most;
  };
  const std::int64_t once = 400 * 32 * 4;

  EXPECT_GE(peak(0), 3 * once);
  // Besides: an eighth, which are 4 of 32 columns, weights, and entries. The block of rows of a
  // product is as large as the activations here, as there are so few rows.
  EXPECT_LT(peak(4), 2 * once + 3 * once / 4);
}

TEST_P(Inference, OfDrawnNeighboursIsTheSameOnAnyTiles) {
  InferenceConfig config;
  config.fanout = 3;
  const Logits one = infer(make_inference(data(), GetParam().model, config)),
               all = trained_forward(data(), GetParam().model);
  EXPECT_GT(largest_difference(one, all), 1e-3) << "nothing was left out";

  for (const auto& [rows, columns] : kTiles) {
    config.rows = rows;
    config.columns = columns;
    config.group_bytes = 40;
    EXPECT_LE(largest_difference(infer(make_inference(data(), GetParam().model, config)), one),
              1e-6)
        << rows << " x " << columns;
    config.spmm = rows == 2 ? SparseProduct::two_d : SparseProduct::exchange_graph;
    config.group_bytes = 0;
    EXPECT_LE(largest_difference(infer(make_inference(data(), GetParam().model, config)), one),
              1e-6)
        << rows << " x " << columns << " by product " << static_cast<int>(config.spmm);
    config.spmm = SparseProduct::ids_then_rows;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Inference, ::testing::ValuesIn(cases()),
                         [](const auto& made) { return made.param.name; });

struct AttentionCase {
  std::string name;
  Attention attention = Attention::additive;
  int heads = 2, output_heads = 1;
  bool directed = false;
};

class InferenceOfAttention : public ::testing::TestWithParam<AttentionCase> {
 protected:
  static ModelConfig model() {
    ModelConfig model = model_of(ModelType::gat);
    model.hidden = 6;
    model.attention = GetParam().attention;
    model.heads = GetParam().heads;
    model.output_heads = GetParam().output_heads;
    model.residual = true;
    return model;
  }
  static std::shared_ptr<const Dataset> data() {
    return random_dataset(61, 260, 10, 5, !GetParam().directed);
  }
};

TEST_P(InferenceOfAttention, IsTheForwardPassOfTrainingOnAnyTiles) {
  const Logits expected = trained_forward(data(), model());

  for (const auto& [rows, columns] : kTiles)
    for (const auto sddmm : {EdgeProduct::split, EdgeProduct::duplicated})
      for (const std::int64_t group_bytes : {0, 100}) {
        InferenceConfig config;
        config.rows = rows;
        config.columns = columns;
        config.sddmm = sddmm;
        config.group_bytes = group_bytes;
        EXPECT_LE(largest_difference(infer(make_inference(data(), model(), config)), expected),
                  1e-6)
            << rows << " x " << columns << " groups of " << group_bytes << " by product "
            << static_cast<int>(sddmm);
      }
}

TEST_P(InferenceOfAttention, OfDrawnNeighboursIsTheSameOnAnyTiles) {
  InferenceConfig config;
  config.fanout = 3;
  const Logits one = infer(make_inference(data(), model(), config));

  for (const auto& [rows, columns] : {Tiles{3, 1}, Tiles{2, 3}})
    for (const auto sddmm : {EdgeProduct::split, EdgeProduct::duplicated}) {
      config.rows = rows;
      config.columns = columns;
      config.sddmm = sddmm;
      EXPECT_LE(largest_difference(infer(make_inference(data(), model(), config)), one), 1e-6)
          << rows << " x " << columns;
    }
}

INSTANTIATE_TEST_SUITE_P(Forms, InferenceOfAttention,
                         ::testing::Values(AttentionCase{"Additive"},
                                           AttentionCase{"AdditiveAveragedDirected",
                                                         Attention::additive, 3, 2, true},
                                           AttentionCase{"Dot", Attention::dot},
                                           AttentionCase{"DotAveraged", Attention::dot, 3, 2}),
                         [](const auto& made) { return made.param.name; });

/// Keeps tiles in memory, as a run that goes on finds those of the layers up to `first`.
class TilesInMemory final : public LayerStore {
 public:
  int layers_done() const override { return first; }
  void put(int rank, int layer, std::span<const float> tile) override {
    const std::lock_guard lock(mutex_);
    EXPECT_TRUE(tiles.insert({{layer, rank}, {tile.begin(), tile.end()}}).second);
  }
  std::shared_ptr<const std::vector<float>> take(int rank, int layer,
                                                 std::int64_t elements) const override {
    const auto& tile = tiles.at({layer, rank});
    EXPECT_EQ(static_cast<std::int64_t>(tile.size()), elements);
    return std::make_shared<const std::vector<float>>(tile);
  }
  std::map<std::pair<int, int>, std::vector<float>> tiles;
  int first = 0;

 private:
  std::mutex mutex_;
};

TEST(InferenceThatGoesOn, EndsWithTheSameBitsAfterAnyLayer) {
  const auto data = random_dataset(61, 260, 10, 3, true);
  InferenceConfig config;
  config.rows = 2;
  config.columns = 4;  // more than there are classes: some tiles of the last layer are empty
  config.fanout = 4;
  config.group_bytes = 40;
  const InferenceProblem problem = make_inference(data, model_of(ModelType::sage), config);
  const Logits expected = infer(problem);
  TilesInMemory kept;
  const auto run = [&](LayerStore& layers) {
    testing::KeptRows rows(61);
    const InferenceBody body(problem, &rows, &layers);
    const Outcome outcome = execute_on_threads(body, testing::on_reference_kernels(), {});
    EXPECT_EQ(outcome.epochs.size(), at(4 - layers.layers_done()));
    return rows.rows;
  };

  EXPECT_EQ(run(kept), expected);
  EXPECT_EQ(kept.tiles.size(), 8U + 8U + 6U);

  for (int first = 1; first <= 3; ++first) {
    TilesInMemory found;
    found.first = first;
    for (const auto& [which, tile] : kept.tiles)
      if (which.first <= first) found.tiles[which] = tile;
    EXPECT_EQ(run(found), expected) << first;
    EXPECT_EQ(found.tiles, kept.tiles) << first;
  }
}

TEST(InferenceOfTheWrongThing, IsRefused) {
  const auto data = random_dataset(4, 10, 3, 2, true);
  InferenceConfig config;
  const InferenceProblem powers = make_inference(data, model_of(ModelType::sgc), config);
  EXPECT_THROW(InferenceBody{powers}, ConfigError);

  config.fanout = 0;
  EXPECT_THROW(make_inference(data, model_of(ModelType::gcn), config), ConfigError);

  TrainedWeights trained;
  trained.weights.resize(3 * 7 + 7 + 7 * 7 + 7 + 7 * 4 + 4);
  EXPECT_EQ(classes_of(model_of(ModelType::gcn), 3, trained), 4);
  EXPECT_THROW(classes_of(model_of(ModelType::gcn), 5, trained), ConfigError);

  config = {};
  InferenceProblem other = make_inference(data, model_of(ModelType::gcn), config);
  other.weights = std::make_shared<const TrainedWeights>(TrainedWeights{{1, 2, 3}, {}});
  EXPECT_THROW(infer(other), ConfigError);
}

}  // namespace
}  // namespace orrery
