// A partitioner, a layer and a strategy from outside: known by the names, keys and messages that those of the
// tree have, and right by second ways.
#include "experiments/config/plugins.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <numeric>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/model/adjacency.hpp"
#include "core/partition/methods/cut.hpp"
#include "core/runtime/check/check.hpp"
#include "core/runtime/recording.hpp"
#include "core/strategy/train/record.hpp"
#include "core/strategy/train/train.hpp"
#include "experiments/config/load_problem.hpp"
#include "experiments/config/validate_json.hpp"
#include "tests/support/gradients.hpp"
#include "tests/support/problems.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;
using testing::execute;
using testing::losses;
using testing::random_dataset;

const std::string kExamples = std::string(ORRERY_EXAMPLES) + "/";

std::string refusal(const std::function<void()>& work) {
  try {
    work();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

bool says(const std::string& text, const std::string& what) {
  return text.find(what) != std::string::npos;
}

Experiment experiment_with(const std::string& partition, const std::string& model = "gcn") {
  const std::string text = R"({"name": "x", "dataset": {"generate": "communities", "vertices": 300,
      "edges": 1500, "features": 8, "classes": 4}, "strategy": {"type": "full_graph"},
      "model": {"type": ")" +
                           model + R"("}, "cluster": {"ranks": 2}, "partition": )" + partition +
                           "}";
  return parse_experiments(text, "text", {}).front();
}

/// A method that breaks its promises in one way or another.
const MethodParameter kFault =
    number_parameter("fault", {0, 0, 3, "0: none; 1: a part too many; 2: no owner; 3: no parts"});
const AddPartitioner faulty({.name = "faulty",
                             .description = "wrong on purpose",
                             .compared = false,
                             .parameters = {kFault},
                             .cut = [](const Csr& graph, int parts, const PartitionOptions& options,
                                       std::span<const Split>) {
                               const double fault = number_of(kFault, options);
                               return Partition{
                                   fault == 3 ? 0 : parts,
                                   std::vector<std::int32_t>(fault == 2 ? 0 : at(graph.rows),
                                                             fault == 1 ? parts : 0)};
                             }});

bool among(const Json& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// ---- names

TEST(Plugins, AreNamedWhereTheirKindIsChosen) {
  const Json& schema = experiment_schema()["properties"];
  const Json& partition = schema["partition"]["properties"];

  EXPECT_TRUE(among(partition["method"]["enum"], "bfs_chunks"));
  EXPECT_EQ(schema["model"]["properties"]["type"]["enum"].back(), "gin");
  EXPECT_EQ(partition["degree_weight"]["x-when"]["method"], Json::array({"bfs_chunks"}));
  EXPECT_EQ(compared_methods().back(), "bfs_chunks");
  EXPECT_TRUE(says(plugin_lines(), "bfs_chunks"));
  EXPECT_TRUE(says(plugin_lines(), "gin"));
}

TEST(Plugins, AreAmongWhatAnUnknownNameMayHaveMeant) {
  EXPECT_TRUE(says(refusal([] { experiment_with(R"({"method": "bfs_chunk"})"); }),
                   "Did you mean \"bfs_chunks\"?"));
  EXPECT_TRUE(says(refusal([] { experiment_with("{}", "gim"); }), "gin"));
  EXPECT_TRUE(says(refusal([] {
                     partition_graph(build_csr({2, {0}, {1}}), 2, {"nothing", "", 0});
                   }),
                   "bfs_chunks"));
  EXPECT_TRUE(says(refusal([] { model_type("nothing"); }),
                   "gcn, sage, sage-pool, gat, rgcn, rgat, gin, resgcn+"));
}

TEST(Plugins, CannotTakeANameThatIsThere) {
  const CutGraph cut = [](const Csr& graph, int parts, const PartitionOptions&,
                          std::span<const Split>) {
    return Partition{parts, std::vector<std::int32_t>(at(graph.rows))};
  };
  const auto method = [&](const std::string& name) {
    return Partitioner{.name = name, .cut = cut};
  };
  const auto with = [](Partitioner one) {
    return refusal([&] { with_built_in(std::vector<Partitioner>{one}); });
  };
  const auto layer = [](const std::string& name) {
    LayerType made = gcn_layer();
    made.name = name;
    return refusal([&] { with_built_in(std::vector<LayerType>{made}); });
  };

  EXPECT_EQ(with(method("mine")), "accepted");
  EXPECT_TRUE(says(with(method("hdrf")), "\"hdrf\" is the name of two partitioners"));
  EXPECT_TRUE(says(with(method("two words")), "is no name: use small letters"));
  EXPECT_TRUE(says(with(method("")), "is no name"));
  EXPECT_TRUE(says(with(Partitioner{.name = "empty", .cut = CutGraph()}), "no function that cuts"));
  EXPECT_EQ(layer("mine"), "accepted");
  for (const std::string name : {"gcn", "sage", "resgcn+"})
    EXPECT_TRUE(says(layer(name), "is the name of two layers")) << name;
  EXPECT_TRUE(says(refusal([&] {
                     with_built_in(std::vector<Partitioner>{method("mine"), method("mine")});
                   }),
                   "\"mine\" is the name of two"));
}

TEST(Plugins, ShareOnlyNumbersThatHaveNoDefaultOfTheirOwn) {
  const auto schema_with = [](const std::string& number) {
    const Partitioner method{.name = "mine",
                             .parameters = {number_parameter(number, {2, 1, 3, "a number"})},
                             .cut = CutGraph()};
    return with_plugins(experiment_schema(), {method}, {},
                        {})["properties"]["partition"]["properties"];
  };

  EXPECT_EQ(schema_with("own")["own"]["default"], 2);
  EXPECT_EQ(schema_with("balance")["balance"]["x-when"]["method"].back(), "mine");
  for (const std::string taken : {"gamma", "file", "method", "parts", "hops", "degree_weight"})
    EXPECT_TRUE(says(refusal([&] { schema_with(taken); }), "rename it")) << taken;
}

// ---- numbers

TEST(PluginNumbers, ReachTheMethodWithinTheirRange) {
  const Experiment asked = experiment_with(R"({"method": "bfs_chunks", "degree_weight": 0.25})"),
                   none = experiment_with(R"({"method": "bfs_chunks"})");

  EXPECT_EQ(asked.partition.numbers.at("degree_weight"), 0.25);
  EXPECT_EQ(method_parameters(asked.partition), Json({{"degree_weight", 0.25}}));
  EXPECT_EQ(method_parameters(none.partition), Json({{"degree_weight", 1.0}}));
  EXPECT_TRUE(
      says(refusal([] { experiment_with(R"({"method": "bfs_chunks", "degree_weight": -1})"); }),
           "partition.degree_weight"));
  EXPECT_TRUE(says(refusal([] { experiment_with(R"({"method": "hdrf", "degree_weight": 1})"); }),
                   "only goes with \"method\": bfs_chunks"));
}

TEST(Plugins, ThatDoNotGiveEveryVertexAPartAreNamed) {
  const auto with = [](double fault) {
    PartitionOptions options{"faulty", "", 0};
    options.numbers["fault"] = fault;
    try {
      partition_graph(build_csr({3, {0, 1}, {1, 2}}), 2, options);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };

  EXPECT_EQ(with(0), "accepted");
  EXPECT_EQ(with(1), "the partitioner \"faulty\" gave vertex 0 to part 2, but there are 2");
  EXPECT_EQ(with(2), "the partitioner \"faulty\" gave a part to 0 vertices, but there are 3");
  EXPECT_EQ(with(3), "the partitioner \"faulty\" made 0 parts, not 2");
}

// ---- the partitioner

Partition chunks(const Csr& graph, int parts, double degree_weight) {
  PartitionOptions options{"bfs_chunks", "", 0};
  options.numbers["degree_weight"] = degree_weight;
  return partition_graph(graph, parts, options);
}

/// A path whose vertices have numbers that jump: i-th is 7·i mod n, from 0.
Csr jumping_path(std::int64_t n) {
  EdgeList list{n, {}, {}};
  for (std::int64_t i = 0; i + 1 < n; ++i) {
    list.source.push_back(static_cast<Vertex>(7 * i % n));
    list.destination.push_back(static_cast<Vertex>(7 * (i + 1) % n));
  }
  return symmetrise(build_csr(list));
}

TEST(BfsChunks, CutAPathBetweenItsPartsOnly) {
  const Csr path = jumping_path(100);

  const Partition p = chunks(path, 4, 0);

  for (std::int64_t i = 0; i < 100; ++i) EXPECT_EQ(p.owner[at(7 * i % 100)], i / 25) << i;
  EXPECT_DOUBLE_EQ(edge_cut(path, p), 3 * 2.0 / (2 * 99));
  EXPECT_DOUBLE_EQ(balance(p), 1);
}

TEST(BfsChunks, GiveNoPartMoreThanItsShareOfWorkAndAVertex) {
  const auto data = random_dataset(500, 3000, 1, 2, true);
  const Csr& graph = *data->graph;
  for (const double weight : {0.0, 1.0, 20.0})
    for (const int parts : {1, 3, 8}) {
      const Partition p = chunks(graph, parts, weight);

      std::vector<double> work(at(parts));
      double largest = 0, all = 0;
      for (Vertex v = 0; v < 500; ++v) {
        const double w = 1 + weight * static_cast<double>(graph.degree(v));
        work[at(p.owner[at(v)])] += w;
        largest = std::max(largest, w);
        all += w;
      }
      for (const double w : work) EXPECT_LE(w, all / parts + largest) << weight << " " << parts;
    }
}

TEST(BfsChunks, CutLessOfCommunitiesThanChanceDoes) {
  const Experiment experiment = load_experiments(kExamples + "bfs_chunks.json", {}).front();
  const ProblemData data = DatasetCache().load(experiment);

  const Partition p = make_partition(experiment, data);
  const Partition random = partition_graph(*data.data->graph, p.parts, {"random", "", 1});

  EXPECT_EQ(p.parts, 3);
  EXPECT_LT(edge_cut(*data.data->graph, p), 0.9 * edge_cut(*data.data->graph, random));
}

// ---- the layer

ModelConfig gin(int layers, std::int64_t hidden, double dropout) {
  ModelConfig model;
  model.type = model_type("gin");
  model.layers = layers;
  model.hidden = hidden;
  model.dropout = dropout;
  return model;
}

TEST(Gin, AddsUpNeighboursUnscaledAndWithoutSelfLoops) {
  const auto data = random_dataset(40, 200, 3, 2, false);

  const SparseMatrix a = normalised_adjacency(*data, gin(2, 8, 0));

  for (const float value : *a.values) EXPECT_EQ(value, 1);
  for (Vertex v = 0; v < 40; ++v)
    for (const Vertex u : a.csr().row(v)) EXPECT_NE(u, v);
  EXPECT_FALSE(a.symmetric);
  EXPECT_TRUE(normalised_adjacency(*random_dataset(40, 200, 3, 2, true), gin(2, 8, 0)).symmetric);
}

/// Widths that make it multiply by W first, second, and keep its first aggregated input. Few edges:
/// sums grow with degrees, and with them what a step of the differences bends.
TEST(Gin, GradientsEqualCentralDifferences) {
  struct Case {
    std::int64_t hidden;
    double dropout;
    bool norm, symmetric;
  };
  for (const auto& [hidden, dropout, norm, symmetric] : {Case{6, 0.25, true, true},
                                                         {16, 0.25, true, false},
                                                         {6, 0, true, false},
                                                         {16, 0, false, true}}) {
    Problem problem =
        testing::make_problem(random_dataset(30, 45, 10, 3, symmetric), 1, "full_graph");
    problem.model = gin(3, hidden, dropout);
    problem.model.layer_norm = norm;

    testing::expect_gradient_of_differences(problem);
  }
}

/// One layer without bias: logits = (x + A·x)·W, summed up here in double from the edges.
TEST(Gin, LossIsThatOfTheDefinition) {
  const auto data = random_dataset(30, 120, 10, 3, false);
  Problem problem = testing::make_problem(data, 1, "full_graph");
  problem.model = gin(1, 8, 0);
  problem.model.bias = false;
  std::vector<Vertex> everyone(30);
  std::iota(everyone.begin(), everyone.end(), 0);
  std::vector<float> x(30 * 10);
  data->features->read(everyone, 0, 10, x.data(), 10);

  double got = 0, expected = 0;
  ThreadWorld(1).run([&](int, Communicator& communicator) {
    Executor rt({}, make_reference_kernels, communicator);
    testing::GradientBench bench(rt, problem);
    got = bench.loss();
    for (std::int64_t v = 0; v < 30; v += 2) {  // the bench's targets
      std::vector<double> sum(10), logits(3);
      for (std::size_t f = 0; f < 10; ++f) sum[f] = static_cast<double>(x[at(v) * 10 + f]);
      for (const Vertex u : data->graph->row(v))
        if (u != v)
          for (std::size_t f = 0; f < 10; ++f) sum[f] += static_cast<double>(x[at(u) * 10 + f]);
      for (std::size_t c = 0; c < 3; ++c)
        for (std::size_t f = 0; f < 10; ++f)
          logits[c] +=
              sum[f] * static_cast<double>(bench.weight(static_cast<std::int64_t>(f * 3 + c)));
      double all = 0;
      for (const double logit : logits) all += std::exp(logit);
      expected += 0.1 * (std::log(all) - logits[at(data->labels.values[at(v)])]);
    }
    rt.finish();
  });

  EXPECT_NEAR(got, expected, 1e-5 * expected);
}

class GinOfStrategies : public ::testing::TestWithParam<testing::NamedStrategy> {};

TEST_P(GinOfStrategies, LearnsOnSeveralRanksWhatOneLearns) {
  for (const bool kept : {false, true})
    for (const bool symmetric : {false, true}) {
      const auto problem = [&](const StrategyConfig& strategy, int ranks) {
        Problem made =
            testing::make_problem(random_dataset(101, 500, 24, 5, symmetric), ranks, strategy);
        made.model = gin(3, kept ? 40 : 16, kept ? 0 : 0.3);
        made.model.layer_norm = GetParam().config.type != "spmm_2d";
        made.train.epochs = 6;
        return made;
      };
      const bool grid = GetParam().config.type == "spmm_2d";
      const bool fours =
          grid || GetParam().config.type == "spmm_15d" || GetParam().config.ranks_per_server == 2;

      const auto want = losses(execute(problem({}, 1))),
                 got = losses(execute(problem(GetParam().config, fours ? 4 : 3)));

      ASSERT_EQ(got.size(), want.size());
      for (std::size_t e = 0; e < want.size(); ++e)
        EXPECT_NEAR(got[e], want[e], 1e-4 * want[e]) << e << (kept ? " kept" : "");
    }
}

TEST_P(GinOfStrategies, IsRecordedWithoutRacesOrLeaks) {
  const bool three = GetParam().config.type == "full_graph" || GetParam().config.type == "spmm_1d";
  Problem problem =
      testing::make_problem(random_dataset(60, 300, 12, 3, true), three ? 3 : 4, GetParam().config);
  problem.model = gin(2, 8, 0);
  problem.train.epochs = 2;

  EXPECT_NO_THROW(check(record_training(*make_strategy(problem), problem, 2, {})));
}

INSTANTIATE_TEST_SUITE_P(All, GinOfStrategies, ::testing::ValuesIn(testing::all_strategies()),
                         [](const auto& test) { return test.param.name; });

// ---- the strategy

Problem gathered(int ranks, bool symmetric) {
  Problem problem =
      testing::make_problem(random_dataset(101, 500, 24, 5, symmetric), ranks, "gathered");
  problem.model.layers = 3;
  problem.train.epochs = 6;
  return problem;
}

TEST(Gathered, LearnsOnSeveralRanksWhatOneLearns) {
  for (const bool symmetric : {false, true})
    for (const int ranks : {2, 3, 4}) {
      const auto want = losses(execute(gathered(1, symmetric))),
                 got = losses(execute(gathered(ranks, symmetric)));

      ASSERT_EQ(got.size(), want.size());
      for (std::size_t e = 0; e < want.size(); ++e)
        EXPECT_NEAR(got[e], want[e], 1e-4 * want[e]) << ranks << " ranks, epoch " << e;
    }
}

TEST(Gathered, MovesTheRowsOfOthersOncePerProduct) {
  const Problem gathers = gathered(3, false);
  Problem broadcasts = gathers;
  broadcasts.strategy.type = "spmm_1d";

  const auto received = [](const Problem& problem, int rank, const char* kind) {
    const auto strategy = make_strategy(problem);
    const Program program = record_rank(TrainingBody(*strategy, problem), rank, 2, {});
    return summarise(program, Placement::uniform(1, 3)).epoch.by_kind.at(kind).internal;
  };
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_GT(received(gathers, rank, "all_gather"), 0);
    EXPECT_EQ(received(gathers, rank, "all_gather"), received(broadcasts, rank, "broadcast"));
  }
}

TEST(Gathered, IsCheckedAndHasTheSettingsItSays) {
  const Problem problem = gathered(4, true);
  EXPECT_NO_THROW(check(record_training(*make_strategy(problem), problem, 2, {})));

  const auto with = [](const std::string& strategy) {
    return refusal([&] {
      parse_experiments(
          R"({"name": "x", "dataset": {"generate": "rmat", "vertices": 64, "edges": 128},
          "model": {"type": "gcn"}, "strategy": )" +
              strategy + "}",
          "text", {});
    });
  };
  EXPECT_EQ(with(R"({"type": "gathered", "column_tiles": 2})"), "accepted");
  EXPECT_TRUE(says(with(R"({"type": "gathered", "overlap": false})"), "strategy.overlap"));
  EXPECT_TRUE(says(with(R"({"type": "gatherd"})"), "gathered"));
  EXPECT_TRUE(says(plugin_lines(), "gathered"));
}

/// The worked example of the documentation is the code that is compiled here.
TEST(Gathered, IsWhatTheDocumentationShows) {
  const auto text = [](const std::string& file) {
    std::ifstream in(file);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  const std::string shown = text(kExamples + "../../docs/extending.md"),
                    code = text(kExamples + "gathered.cpp");
  std::size_t blocks = 0;
  for (std::size_t begin = shown.find("```cpp\n"); begin != std::string::npos; ++blocks) {
    const std::size_t first = begin + 7, end = shown.find("```", first);
    EXPECT_TRUE(says(code, shown.substr(first, end - first))) << shown.substr(first, end - first);
    begin = shown.find("```cpp\n", end);
  }
  EXPECT_GE(blocks, 3U);
}

// ---- the experiment files beside the examples

TEST(PluginExperiments, TrainToBetterThanChance) {
  for (const std::string file : {"gin.json", "bfs_chunks.json", "gathered.json"}) {
    const Experiment experiment =
        load_experiments(kExamples + file, {"train.epochs=20", "train.eval_every=20"}).front();
    const ProblemData data = DatasetCache().load(experiment);
    const Problem problem = make_problem(experiment, data, make_partition(experiment, data));

    const Outcome outcome = execute(problem, "cpu");

    EXPECT_LT(*outcome.epochs.back().loss, 0.8 * *outcome.epochs.front().loss) << file;
    EXPECT_GT(*outcome.epochs.back().scores->test, 2.0 / 8) << file << ": chance is 1 / 8";
  }
}

}  // namespace
}  // namespace orrery
