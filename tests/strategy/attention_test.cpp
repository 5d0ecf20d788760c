// Graph attention over ranks: the losses of one rank in every strategy that carries it, what
// travels, and what it takes in memory.
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>

#include "core/base/index.hpp"
#include "core/partition/parts/write_parts.hpp"
#include "core/runtime/check/check.hpp"
#include "core/runtime/summary.hpp"
#include "core/strategy/edges/edge_structure.hpp"
#include "core/strategy/train/record.hpp"
#include "tests/support/problems.hpp"

namespace orrery {
namespace {

using testing::execute;
using testing::kSagePool;
using testing::losses;
using testing::make_problem;
using testing::random_dataset;

struct AttentionModel {
  std::string name;
  ModelConfig config;
  bool symmetric;
};

ModelConfig gat(int layers, std::int64_t hidden, int heads, int output_heads, Attention form,
                double attention_dropout) {
  ModelConfig model;
  model.type = ModelType::gat;
  model.layers = layers;
  model.hidden = hidden;
  model.dropout = 0.3;
  model.heads = heads;
  model.output_heads = output_heads;
  model.attention = form;
  model.attention_dropout = attention_dropout;
  return model;
}

ModelConfig with_residual_and_norm(ModelConfig model) {
  model.residual = model.layer_norm = true;
  return model;
}

/// The recipe of Veličković et al.: elu, and dropout of the rows that are summed.
ModelConfig published(ModelConfig model) {
  model.activation = Activation::elu;
  model.projection_dropout = 0.3;
  return model;
}

/// GraphSAGE that takes the largest over edges.
ModelConfig pooling(int layers, std::int64_t hidden) {
  ModelConfig model;
  model.type = kSagePool;
  model.layers = layers;
  model.hidden = hidden;
  model.dropout = 0.3;
  return model;
}

const std::vector<AttentionModel>& attention_models() {
  static const std::vector<AttentionModel> list{
      {"Additive", gat(2, 16, 4, 1, Attention::additive, 0), true},
      {"AdditiveAsPublishedOnDirectedGraph", published(gat(3, 12, 3, 2, Attention::additive, 0.4)),
       false},
      {"MaxPooling", pooling(3, 12), true},
      {"AdditiveWithDropoutAndResidual",
       with_residual_and_norm(gat(3, 16, 8, 1, Attention::additive, 0.4)), true},
      {"DotAsPublished", published(gat(2, 16, 2, 3, Attention::dot, 0.4)), false}};
  return list;
}

struct AttentionCase {
  testing::NamedStrategy strategy;
  int ranks;
  std::string kernels;
  AttentionModel model;
};

class AttentionOverRanks : public ::testing::TestWithParam<AttentionCase> {
 protected:
  static Problem problem(const StrategyConfig& strategy, int ranks, const AttentionModel& model) {
    Problem made = make_problem(random_dataset(61, 350, 12, 5, model.symmetric), ranks, strategy);
    made.model = model.config;
    made.train.epochs = 6;
    return made;
  }
};

TEST_P(AttentionOverRanks, LossesAreThoseOfOneRank) {
  static std::map<std::string, std::vector<double>> of_one_rank;
  const auto& [strategy, ranks, kernels, model] = GetParam();
  auto& want = of_one_rank[model.name];
  if (want.empty()) want = losses(execute(problem({}, 1, model)));

  const auto got = losses(execute(problem(strategy.config, ranks, model), kernels));

  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], want[i], 1e-4 * want[i]) << "epoch " << i;
  EXPECT_LT(*std::min_element(want.begin() + 1, want.end()), want.front());
}

/// The strategies that carry a form, in a variant that does.
std::vector<testing::NamedStrategy> carrying(Attention form) {
  auto all = testing::all_strategies();
  std::erase_if(all, [form](const auto& s) {
    const StrategyInfo& info = info_of(s.config);
    return !info.carries_attention || s.config.variant == Variant::column ||
           (form == Attention::dot && info.sources_pass_by);
  });
  return all;
}

/// Numbers of ranks on which a strategy is tried.
std::vector<int> worlds_of(const StrategyConfig& strategy) {
  if (strategy.replication == 2) return {4, 6, 8};
  if (strategy.ranks_per_server == 2) return {2, 4, 6};
  return {2, 3, 5};
}

/// Every strategy that carries attention with every model of a form that it takes, each on worlds
/// that take turns.
std::vector<AttentionCase> attention_cases() {
  std::vector<AttentionCase> list;
  std::size_t turn = 0;
  for (const auto& strategy : carrying(Attention::additive))
    for (const AttentionModel& model : attention_models()) {
      const bool passes_by = info_of(strategy.config).sources_pass_by;
      if (passes_by && (model.config.attention == Attention::dot || model.config.type == kSagePool))
        continue;
      list.push_back({strategy, worlds_of(strategy.config)[turn % 3],
                      turn % 2 == 0 ? "reference" : "cpu", model});
      ++turn;
    }
  return list;
}

std::string name_of_attention(const ::testing::TestParamInfo<AttentionCase>& info) {
  return info.param.strategy.name + std::to_string(info.param.ranks) + "Ranks_" +
         info.param.model.name + "_" + info.param.kernels;
}
INSTANTIATE_TEST_SUITE_P(All, AttentionOverRanks, ::testing::ValuesIn(attention_cases()),
                         name_of_attention);

TEST(Attention, GivesTheSameLossesWithoutOverlapAndOnRanksWithoutVertices) {
  const auto data = random_dataset(40, 200, 8, 3, true);
  Problem problem = make_problem(data, 4, "full_graph");
  problem.model = gat(2, 8, 2, 2, Attention::additive, 0.3);
  problem.train.epochs = 4;
  Problem serial = problem, crowded = problem, alone = make_problem(data, 1, "full_graph");
  serial.strategy.overlap = false;
  for (auto& owner : crowded.partition.owner) owner = 2;
  alone.model = problem.model;
  alone.train.epochs = 4;

  const auto want = losses(execute(alone));

  EXPECT_EQ(losses(execute(serial)), losses(execute(problem)));
  const auto on_one_of_four = losses(execute(crowded));
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(on_one_of_four[i], want[i], 1e-5);
}

// The heads of one layer have 3 columns each, those of the other 5; ranks without vertices hold
// empty blocks.
TEST(Attention, InStagesGivesTheLossesOfOneRankWhereRanksHaveNoVertices) {
  const auto data = random_dataset(40, 200, 8, 5, false);
  const ModelConfig model = published(gat(2, 15, 5, 3, Attention::additive, 0.3));
  const auto on = [&](int ranks, const StrategyConfig& strategy, const std::vector<int>& parts) {
    Problem p = make_problem(data, ranks, strategy);
    p.model = model;
    p.train.epochs = 4;
    if (!parts.empty())
      for (auto& owner : p.partition.owner) owner = parts[at(owner) % parts.size()];
    EXPECT_NO_THROW(check(record_training(*make_strategy(p), p, 1, {})));
    return losses(execute(p, "cpu"));
  };
  const auto want = on(1, {}, {});
  StrategyConfig staged, copies;
  staged.type = "spmm_1d";
  copies.type = "spmm_15d";
  copies.replication = 2;

  for (const auto& [ranks, strategy, parts] : {std::tuple{4, staged, std::vector{2}},
                                               {4, staged, std::vector{0, 3}},
                                               {8, copies, std::vector{1, 3}},
                                               {4, copies, std::vector{1}}}) {
    const auto got = on(ranks, strategy, parts);
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i)
      EXPECT_NEAR(got[i], want[i], 1e-4 * want[i]) << ranks << " ranks, epoch " << i;
  }
}

/// Without the edges between the first vertices and the others.
std::shared_ptr<const Dataset> parted(const Dataset& data, Vertex first) {
  auto result = std::make_shared<Dataset>(data);
  auto graph = std::make_shared<Csr>();
  graph->rows = graph->cols = data.vertices();
  for (Vertex v = 0; v < data.vertices(); ++v) {
    for (const Vertex u : data.graph->row(v))
      if ((u < first) == (v < first)) graph->columns.push_back(u);
    graph->offsets.push_back(graph->nnz());
  }
  result->graph = graph;
  return result;
}

// Two clusters without edges between them, on a rank each or on one rank together, have all edges.
TEST(Attention, OfBatchesOfClustersIsThatOfTheGraphWhereNoEdgeIsBetweenThem) {
  const auto data = parted(*random_dataset(60, 350, 12, 5, true), 30);
  StrategyConfig clusters;
  clusters.type = "mini_batch";
  clusters.first_layer = FirstLayer::recompute;
  for (const Attention form : {Attention::additive, Attention::dot}) {
    const auto on = [&](const StrategyConfig& strategy, int ranks) {
      Problem p = make_problem(data, ranks, strategy);
      p.model = published(gat(2, 12, 3, 2, form, 0.4));
      p.train.epochs = 4;
      return losses(execute(p));
    };
    const auto want = on({}, 1);
    for (const int ranks : {1, 2}) {
      MiniBatchSettings settings;
      settings.sampler = BatchSampler::cluster;
      settings.clusters = 2;
      settings.together = 2 / ranks;
      clusters.own = settings;

      const auto got = on(clusters, ranks);

      for (std::size_t e = 0; e < 4; ++e) EXPECT_NEAR(got[e], want[e], 1e-5 * want[e]) << ranks;
    }
  }
}

TEST(Attention, TrainsOnOneVertex) {
  auto data = std::make_shared<Dataset>(*random_dataset(1, 1, 4, 2, true));
  data->split = {Split::train};
  for (const Attention form : {Attention::additive, Attention::dot}) {
    Problem problem = make_problem(data, 1, "full_graph");
    problem.model = gat(2, 8, 2, 2, form, 0.3);
    problem.train.epochs = 3;

    for (const double loss : losses(execute(problem))) EXPECT_TRUE(std::isfinite(loss));
  }
}

TEST(Attention, NumbersEdgesByTheirVerticesAndNearlyAlwaysDifferently) {
  std::set<std::int32_t> numbers;
  for (Vertex row = 0; row < 300; ++row)
    for (Vertex source = 0; source < 300; ++source) numbers.insert(edge_number(row, source));

  // Among 90,000 numbers of 32 bits, about one pair is expected to be equal.
  EXPECT_GE(numbers.size(), 90'000U - 5);
  EXPECT_NE(edge_number(1, 2), edge_number(2, 1));
}

TEST(Attention, TrainsFromAFolderOfPartsAsFromMemory) {
  namespace fs = std::filesystem;
  const fs::path folder =
      fs::temp_directory_path() / ("orrery-attention-" + std::to_string(::getpid()));
  for (const std::string strategy : {"full_graph", "spmm_1d"}) {
    fs::create_directories(folder);
    Problem p = make_problem(random_dataset(40, 200, 8, 3, false), 3, strategy);
    p.model = published(gat(2, 8, 2, 2, Attention::additive, 0.5));
    p.train.epochs = 3;
    Problem stored = p;
    write_parts(*p.data, p.partition, {"test", {}, 1, true}, folder / "parts");
    stored.stored = std::make_shared<const PartitionedDataset>(folder / "parts");
    stored.data.reset();
    stored.partition.owner.clear();

    EXPECT_EQ(losses(execute(stored)), losses(execute(p))) << strategy;
    fs::remove_all(folder);
  }
}

/// Programs of one epoch without an evaluation.
std::vector<Program> recorded(Problem problem) {
  problem.train.epochs = 1;
  problem.train.eval_every = 0;
  return record_training(*make_strategy(problem), problem, 1, {});
}

// Each row is sent once forward, and its gradient once back, in every layer, as wide as all heads
// together: by brute force over edges.
TEST(Attention, ReceivesEachForeignSourceOnceInEachDirectionAndNothingForScores) {
  for (const Attention form : {Attention::additive, Attention::dot}) {
    Problem p = make_problem(random_dataset(83, 420, 24, 5, false), 3, "full_graph");
    p.model = published(gat(3, 16, 4, 2, form, 0.5));
    const std::int64_t columns = 16 + 16 + 2 * 5;
    std::map<int, std::set<Vertex>> foreign;
    std::map<int, std::int64_t> sent;
    for (Vertex v = 0; v < 83; ++v)
      for (const Vertex u : p.data->graph->row(v)) {
        const auto owner = p.partition.owner[at(u)], reader = p.partition.owner[at(v)];
        if (owner != reader && foreign[reader].insert(u).second) ++sent[owner];
      }

    const auto programs = recorded(p);

    for (int rank = 0; rank < 3; ++rank) {
      double bytes = 0;
      for (const Step& step : programs[at(rank)].steps)
        if (const auto* submit = std::get_if<SubmitStep>(&step))
          if (std::holds_alternative<AllToAllV>(submit->op))
            received_bytes(submit->op, rank, [&](int, double from) { bytes += from; });
      const auto rows = static_cast<std::int64_t>(foreign[rank].size()) + sent[rank];
      EXPECT_EQ(bytes, static_cast<double>(4 * columns * rows)) << rank;
    }
  }
}

TEST(Attention, ProgramsOfEveryStrategyPassTheCheckWithAndWithoutOverlap) {
  for (const Attention form : {Attention::additive, Attention::dot})
    for (const auto& strategy : carrying(form)) {
      SCOPED_TRACE(strategy.name);
      Problem p = make_problem(random_dataset(61, 350, 12, 5, false), 4, strategy.config);
      p.model = published(gat(2, 8, 2, 2, form, 0.5));
      Problem turned = p;
      turned.strategy.overlap = false;

      EXPECT_NO_THROW(check(record_training(*make_strategy(p), p, 2, {})));
      EXPECT_NO_THROW(check(record_training(*make_strategy(turned), turned, 2, {})));
    }
}

// A server samples the same, and cuts its vertices into the same co-batches, however many ranks it
// has.
TEST(Attention, OfSampledServersAndOfCoBatchesDoesNotDependOnTheirRanks) {
  StrategyConfig co_batches, sampled;
  co_batches.type = sampled.type = "shared_preloading";
  co_batches.split = sampled.split = ServerSplit::random;
  co_batches.batches = 2;
  sampled.sampling = SamplingConfig{{.hops = 1, .fanout = 3}, true};
  for (StrategyConfig config : {co_batches, sampled}) {
    std::vector<std::vector<double>> by_ranks;
    for (const int ranks : {1, 3}) {
      config.ranks_per_server = ranks;
      Problem p = make_problem(random_dataset(61, 350, 12, 5, true), 2 * ranks, config);
      p.model = published(gat(3, 12, 3, 2, Attention::additive, 0.4));
      p.train.epochs = 5;
      by_ranks.push_back(losses(execute(p)));
    }

    for (std::size_t i = 0; i < 5; ++i)
      EXPECT_NEAR(by_ranks[1][i], by_ranks[0][i], 1e-4 * by_ranks[0][i]) << "epoch " << i;
  }
}

TEST(Attention, StepsAndPeakOfARecordingEqualThoseOfTheRealRun) {
  auto strategies = carrying(Attention::additive);
  for (const auto& local : testing::local_model_strategies()) strategies.push_back(local);
  for (const auto& strategy : strategies) {
    Problem p = make_problem(random_dataset(50, 250, 12, 4, true), 4, strategy.config);
    p.model = published(gat(3, 8, 2, 2, Attention::additive, 0.5));
    p.train.epochs = 2;

    const Outcome real = execute(p);
    const auto programs = record_training(*make_strategy(p), p, p.train.epochs, {});

    for (std::size_t r = 0; r < programs.size(); ++r) {
      EXPECT_EQ(to_string(real.ranks[r].program), to_string(programs[r])) << strategy.name;
      EXPECT_EQ(real.ranks[r].peak_bytes, programs[r].peak_bytes[0]) << strategy.name;
      EXPECT_EQ(real.ranks[r].final_bytes, 0) << strategy.name;
    }
  }
}

/// Bytes that a rank receives in an epoch.
double received(const Program& program) {
  double bytes = 0;
  for (const Step& step : program.steps)
    if (const auto* submit = std::get_if<SubmitStep>(&step))
      received_bytes(submit->op, program.rank, [&](int, double from) { bytes += from; });
  return bytes;
}

// Rows pass by whole, so that what travels does not depend on where edges lie.
TEST(Attention, OfAGraphThatIsGivenByItsStatisticsIsRecordedInStages) {
  for (const int replication : {1, 2}) {
    StrategyConfig config;
    config.type = replication == 1 ? "spmm_1d" : "spmm_15d";
    config.replication = replication;
    Problem real = make_problem(random_dataset(80, 900, 12, 5, true), 4, config, "block");
    real.model = published(gat(2, 8, 2, 2, Attention::additive, 0.5));
    Problem counted = real;
    const DataFacts facts = real.facts();
    GraphStatistics graph;
    graph.vertices = facts.vertices;
    graph.edges = facts.edges;
    graph.features = facts.features;
    graph.classes = facts.classes;
    graph.training_vertices = facts.training_vertices;
    graph.symmetric = true;
    counted.statistics = graph;
    counted.data.reset();
    counted.partition.owner.clear();

    const auto programs = recorded(real), expected = recorded(counted);

    EXPECT_NO_THROW(check(expected));
    for (std::size_t r = 0; r < 4; ++r)
      EXPECT_NEAR(received(expected[r]), received(programs[r]),
                  replication == 1 ? 1e-6 : 0.05 * received(programs[r]))
          << "of several copies gradients of weights travel too, which are of edges";
  }
}

// Rows once forward; once more backward, and their gradients to their owners; of every vertex a number
// for each head, in both directions.
TEST(Attention, InStagesReceivesRowsAndNumbersOfAllOtherVertices) {
  for (const int ranks : {3, 4}) {
    Problem p = make_problem(random_dataset(83, 420, 24, 5, false), ranks, "spmm_1d");
    p.model = published(gat(3, 16, 4, 2, Attention::additive, 0.5));
    const double columns = 16 + 16 + 2 * 5, heads = 4 + 4 + 2;
    const auto own_rows = [&](int rank) {
      return static_cast<double>(
          std::count(p.partition.owner.begin(), p.partition.owner.end(), rank));
    };

    const auto programs = recorded(p);

    for (int rank = 0; rank < ranks; ++rank) {
      std::map<std::string, double> bytes;
      for (const Step& step : programs[at(rank)].steps)
        if (const auto* submit = std::get_if<SubmitStep>(&step))
          received_bytes(submit->op, rank, [&](int, double from) {
            bytes[std::string(kind_of(submit->op))] += from;
          });
      const double own = own_rows(rank), others = 83 - own;
      EXPECT_EQ(bytes["broadcast"], 4 * 2 * columns * others);
      EXPECT_EQ(bytes["reduce"], 4 * columns * own * (ranks - 1));
      EXPECT_EQ(bytes["all_gather"], 4 * heads * others);
      EXPECT_EQ(bytes["reduce_scatter"], 4 * heads * own * (ranks - 1));
    }
  }
}

// The memory that gat.cpp states, on one rank, beside what every model has.
TEST(Attention, TakesTheMemoryOfItsFormula) {
  const std::int64_t n = 50, features = 12, classes = 4, hidden = 16, h = 4, out = 2;
  for (const Attention form : {Attention::additive, Attention::dot})
    for (const auto& [attention_dropout, projection_dropout] :
         {std::pair{0.0, 0.0}, {0.5, 0.0}, {0.0, 0.5}}) {
      Problem p = make_problem(random_dataset(n, 250, features, classes, false), 1, "full_graph");
      p.model = gat(2, hidden, h, out, form, attention_dropout);
      p.model.projection_dropout = projection_dropout;
      p.model.dropout = 0;
      p.train.optimizer = OptimizerType::sgd;
      std::int64_t m = 0;  // edges with a self-loop for every vertex
      for (Vertex v = 0; v < n; ++v) {
        const auto row = p.data->graph->row(v);
        m += p.data->graph->degree(v) + 1 - std::count(row.begin(), row.end(), v);
      }

      const Program program = recorded(p).front();

      const bool additive = form == Attention::additive;
      const std::int64_t last = out * classes;  // columns of its heads
      const std::int64_t scalars =
          additive ? 2 * 2 * (n * h + n * out) + 2 * 2 * (h * hidden + out * last) : 0;
      const std::int64_t rows = (projection_dropout > 0 ? 2 : 1) * n * (hidden + last);
      const std::int64_t activations = n * std::max(features, hidden) + n * hidden  // Model's
                                       + rows + m * (h + out) + n * last + scalars;
      const std::int64_t per_edge = additive && attention_dropout == 0 ? 1 : 2;
      const std::int64_t scratch = n * hidden + per_edge * m * h;
      const std::int64_t graph = 4 * 2 * m + 2 * 8 * (n + 1)    // pattern and its transpose
                                 + 4 * m + 8 * (n + 1) + 4 * m  // by source, order
                                 + (attention_dropout > 0 ? 4 * m : 0) +
                                 (projection_dropout > 0 ? 4 * n : 0);
      EXPECT_EQ(program.peak_by_class.at("activations"), 4 * activations);
      EXPECT_EQ(program.peak_by_class.at("scratch"), 4 * scratch);
      EXPECT_EQ(program.peak_by_class.at("graph"), graph);
    }
}

}  // namespace
}  // namespace orrery
