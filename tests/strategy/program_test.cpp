// What a strategy issues: the same steps recorded and executed, safe by check(), and as counted by
// hand.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "core/base/error.hpp"
#include "core/partition/methods/cut.hpp"
#include "core/runtime/check/check.hpp"
#include "core/runtime/summary.hpp"
#include "core/strategy/make_strategy.hpp"
#include "core/strategy/train/record.hpp"
#include "tests/support/as_recorded.hpp"
#include "tests/support/problems.hpp"

namespace orrery {
namespace {

using testing::execute;
using testing::make_problem;
using testing::random_dataset;

const Placement kTwoServers = Placement::uniform(2, 1);

struct Setting {
  testing::NamedStrategy strategy;
  ModelType model;
  bool symmetric;
};

std::string name_of(const ::testing::TestParamInfo<Setting>& info) {
  return info.param.strategy.name + (info.param.model == ModelType::gcn ? "Gcn" : "Sage") +
         (info.param.symmetric ? "Symmetric" : "Directed");
}

class Recorded : public ::testing::TestWithParam<Setting> {
 protected:
  Problem problem() const {
    Problem p = make_problem(random_dataset(50, 250, 12, 4, GetParam().symmetric), 4,
                             GetParam().strategy.config);
    p.model.type = GetParam().model;
    p.model.layers = 3;
    p.model.hidden = 20;
    p.model.layer_norm = p.strategy.type != "spmm_2d";
    p.train.epochs = 3;
    return p;
  }
};

TEST_P(Recorded, StepsAndPeakEqualThoseOfTheRealRun) { testing::expect_as_recorded(problem()); }

TEST_P(Recorded, PassesTheCheckWithAndWithoutOverlapAndTiles) {
  for (const bool overlap : {true, false})
    for (const int tiles : {1, 3}) {
      Problem p = problem();
      p.strategy.overlap = overlap;
      p.strategy.column_tiles = tiles;

      EXPECT_NO_THROW(check(record_training(
          *make_strategy(p), p, epochs_to_record(TrainingBody(*make_strategy(p), p)), {})));
    }
}

/// Less and less device memory: at every allocation in turn the recorder names the tensor that did
/// not fit, and the real run fails with the same words on the same rank without hanging.
TEST_P(Recorded, BytesThatCameInAreThoseOfTheProgram) {
  Problem p = problem();
  p.partition.owner = partition_graph(*p.data->graph, p.partition.parts, {"block", "", 0}).owner;

  const Outcome real = execute(p);

  double counted = 0, planned = 0;
  // Each rank receives from each other; owners of rows receive the numbers that others ask for.
  std::vector<std::vector<double>> want(real.ranks.size(),
                                        std::vector<double>(real.ranks.size(), 0));
  for (const RankOutcome& rank : real.ranks)
    for (const Step& step : rank.program.steps)
      if (const auto* submit = std::get_if<SubmitStep>(&step)) {
        const int me = rank.program.rank;
        received_bytes(submit->op, me,
                       [&](int peer, double bytes) { want[at(me)][at(peer)] += bytes; });
        served_bytes(submit->op, me,
                     [&](int owner, double bytes) { want[at(owner)][at(me)] += bytes; });
      }
  for (std::size_t r = 0; r < want.size(); ++r)
    for (std::size_t peer = 0; peer < want.size(); ++peer) {
      const auto came = static_cast<double>(real.ranks[r].received_from[peer]);
      EXPECT_NEAR(came, want[r][peer], 1e-3 * want[r][peer] + 100) << "slices of sums are rounded";
      counted += came;
      planned += want[r][peer];
    }
  EXPECT_NEAR(counted, planned, 1e-6) << "in total to the byte";
}

TEST_P(Recorded, TooSmallADeviceIsRefusedAtEveryAllocation) {
  const Problem p = problem();
  const auto plan = make_strategy(p);
  const std::int64_t peak = record_training(*plan, p, 1, {})[0].peak_bytes[0];
  std::vector<std::string> refused;
  for (std::int64_t bytes = peak - 1; bytes > 0;) {
    Capacities capacities;
    capacities.bytes[0] = bytes;
    try {
      record_training(*plan, p, 1, capacities);
      FAIL() << "fits into " << bytes;
    } catch (const OutOfMemory& error) {
      refused.push_back(error.tensor);
      EXPECT_EQ(error.capacity, bytes);
      bytes = std::min(bytes - 1, error.in_use - 1);
    }
  }
  EXPECT_GT(refused.size(), 20U);
}

std::vector<Setting> settings() {
  std::vector<Setting> list;
  auto strategies = testing::all_strategies();
  for (const auto& local : testing::local_model_strategies()) strategies.push_back(local);
  for (const auto& inexact : testing::inexact_strategies()) strategies.push_back(inexact);
  for (const auto& strategy : strategies) {
    list.push_back({strategy, ModelType::gcn, true});
    list.push_back({strategy, ModelType::sage, false});
  }
  return list;
}
INSTANTIATE_TEST_SUITE_P(All, Recorded, ::testing::ValuesIn(settings()), name_of);

TEST(Executed, OutOfMemoryOnOneRankEndsAllRanksAndNamesTheTensor) {
  Problem p = make_problem(random_dataset(50, 250, 12, 4, true), 3, "full_graph");
  for (auto& owner : p.partition.owner) owner = owner == 2 ? 1 : owner;  // rank 1 holds most
  ExecuteOptions options;
  options.kernels = "reference";
  options.capacities.bytes[0] = 12000;

  EXPECT_THROW(execute_on_threads(TrainingBody(*make_strategy(p), p), options, {}), OutOfMemory);
}

/// Path 0 - 1 - 2 - 3 with ranks {0, 1} and {2, 3}: one layer, features 8, classes 2, no dropout.
///
/// Rows of A (GCN, self-loops added): 0: {0,1}, 1: {0,1,2}, 2: {1,2,3}, 3: {2,3}; nnz 10. Rank 0
/// needs row 2, rank 1 row 1: one halo row each way, width 2 (8 >= 2: W first), 8 bytes. Own
/// blocks: nnz 4 each; halo blocks: nnz 1 each.
class PathOfFour : public ::testing::Test {
 protected:
  static Problem problem(const std::string& strategy) {
    auto data = std::make_shared<Dataset>();
    data->graph =
        std::make_shared<const Csr>(build_csr({4, {0, 1, 1, 2, 2, 3}, {1, 0, 2, 1, 3, 2}}));
    data->symmetric = true;
    data->features = random_features(4, 8, 1);
    data->labels = {2, false, {0, 1, 0, 1}};
    data->split = {Split::train, Split::train, Split::validation, Split::test};
    Problem p;
    p.data = data;
    p.strategy.type = strategy;
    p.model.layers = 1;
    p.model.dropout = 0;
    p.strategy.first_layer = FirstLayer::recompute;
    p.train.epochs = 1;
    // As a vertex cut: vertex 1, which rank 0 owns, is on both.
    p.partition = {
        2,
        {0, 0, 1, 1},
        std::make_shared<const std::vector<std::vector<Edge>>>(
            std::vector<std::vector<Edge>>{{{0, 1}, {1, 0}}, {{1, 2}, {2, 1}, {2, 3}, {3, 2}}})};
    return p;
  }
};

TEST_F(PathOfFour, FullGraphCountsByHand) {
  const Problem p = problem("full_graph");

  const Summary s = summarise(record_training(*make_strategy(p), p, 1, {})[0], kTwoServers);

  const auto& ops = s.epoch.by_kind;
  EXPECT_EQ(ops.at("gemm").count, 2);  // X·W and its weight gradient; no gradient for the input
  EXPECT_EQ(ops.at("gemm").flops, 2 * (2.0 * 2 * 8 * 2));
  EXPECT_EQ(ops.at("spmm").count, 4);  // own and halo, forward and backward
  EXPECT_EQ(ops.at("spmm").flops, 2.0 * 2 * (4 + 1) * 2);
  EXPECT_EQ(ops.at("all_to_all_v").count, 2);
  EXPECT_EQ(ops.at("all_to_all_v").external, 2 * 8.0);  // one row of two floats each way
  EXPECT_EQ(ops.at("all_reduce").count, 1);
  // W 8x2 and b 2: 18 floats of gradients; 2(p − 1)/p of 72 bytes.
  EXPECT_EQ(ops.at("all_reduce").external, 72.0);
  EXPECT_EQ(ops.at("gather_rows").count, 1);
  EXPECT_EQ(ops.at("scatter_add_rows").count, 1);
  EXPECT_EQ(ops.at("adam").count, 1);
  EXPECT_EQ(ops.at("loss").count, 1);
  EXPECT_EQ(ops.at("activate").count, 1);    // bias
  EXPECT_EQ(ops.at("column_sum").count, 1);  // its gradient
  EXPECT_EQ(ops.size(), 10U);

  std::int64_t graph = 0;
  graph += 3 * 8 + 4 * 4 + 4 * 4;  // own block: 3 offsets, 4 columns, 4 values
  graph += 3 * 8 + 1 * 4 + 1 * 4;  // halo block: 2 rows
  graph += 2 * 8 + 1 * 4 + 1 * 4;  // its transpose: 1 row
  EXPECT_EQ(s.peak_by_class.at("graph"), graph);
  EXPECT_EQ(s.peak_by_class.at("features"), 2 * 8 * 4);
  EXPECT_EQ(s.peak_by_class.at("labels"), 2 * 4);
  EXPECT_EQ(s.peak_by_class.at("indices"), 2 * 4 + 1 * 4 + 2 * 4);  // vertices, sent row, targets
  EXPECT_EQ(s.peak_by_class.at("activations"), 2 * 8 * 4);          // 2 rows of max(8, 2)
  EXPECT_EQ(s.peak_by_class.at("scratch"), 2 * 2 * 4);
  EXPECT_EQ(s.peak_by_class.at("halo"), 8 + 8);
  EXPECT_EQ(s.peak_by_class.at("parameters"), 2 * 18 * 4);
  EXPECT_EQ(s.peak_by_class.at("optimizer"), 2 * 18 * 4);
  EXPECT_EQ(s.peak_by_class.at("metrics"), 10 * 8);
  std::int64_t sum = 0;
  for (const auto& [name, bytes] : s.peak_by_class) sum += bytes;
  EXPECT_EQ(sum, s.peak_device_bytes);
}

TEST_F(PathOfFour, EvaluationIsCountedInFullAlsoWhenItIsRare) {
  Problem p = problem("full_graph");
  p.train.eval_every = 5;

  const Summary s = summarise(record_training(*make_strategy(p), p, 2, {})[0], kTwoServers);

  EXPECT_EQ(s.evaluation.by_kind.at("score").count, 3);
  EXPECT_EQ(s.evaluation.by_kind.at("spmm").count, 2);
  EXPECT_EQ(s.evaluation.by_kind.at("all_reduce").count, 1);
}

TEST_F(PathOfFour, OneDimensionalCountsByHand) {
  const Problem p = problem("spmm_1d");

  const auto programs = record_training(*make_strategy(p), p, 1, {});
  const Summary s = summarise(programs[1], Placement::uniform(1, 2));

  const auto& ops = s.epoch.by_kind;
  EXPECT_EQ(ops.at("broadcast").count, 4);  // two stages, forward and backward
  EXPECT_EQ(ops.at("broadcast").internal,
            2 * 2 * 2 * 4);                    // the other's two rows of two floats, twice
  EXPECT_EQ(ops.at("broadcast").external, 0);  // both ranks on one server here
  EXPECT_EQ(ops.at("spmm").count, 4);
  EXPECT_EQ(ops.at("spmm").flops, 2.0 * 2 * 5 * 2);
  EXPECT_EQ(s.peak_by_class.at("scratch"), 2 * 2 * 4 + 2 * 2 * 4);  // product, one broadcast buffer
}

/// Small enough to be read by eye: the whole epoch of rank 0.
class Golden : public PathOfFour, public ::testing::WithParamInterface<testing::NamedStrategy> {};

TEST_P(Golden, EpochOfRankZeroReadsAsKept) {
  Problem p = problem(GetParam().config.type);
  p.strategy = GetParam().config;
  p.strategy.first_layer = FirstLayer::recompute;
  const std::string name = fmt::format("{}_{}_ranks_1_layer.txt", GetParam().name, p.ranks());

  const std::string text = to_string(record_training(*make_strategy(p), p, 1, {})[0]);

  const auto begin = text.find("phase    epoch 0 forward");
  const auto end = text.find("phase    epoch 0 evaluate");
  std::ifstream file(std::string(ORRERY_GOLDEN) + "/" + name);
  std::stringstream kept;
  kept << file.rdbuf();
  const std::string epoch = text.substr(begin, end - begin), now = ::testing::TempDir() + name;
  if (epoch != kept.str()) std::ofstream(now) << epoch;
  EXPECT_EQ(epoch, kept.str()) << "what it is now is in " << now;
}

INSTANTIATE_TEST_SUITE_P(All, Golden, ::testing::ValuesIn(testing::all_strategies()),
                         [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace orrery
