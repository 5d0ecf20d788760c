// Experiments on a graph that is given by its statistics: what the file says, what is refused, and
// what `orrery plan` makes of it.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "experiments/config/experiment.hpp"
#include "experiments/config/load_problem.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

const std::string kPapers = R"({"name": "papers",
  "dataset": {"statistics": {"vertices": 111059956, "edges": 3231371744, "features": 128,
                             "classes": 172, "skew": 1000}},
  "model": {"type": "gcn", "layers": 3, "hidden": 208, "dropout": 0},
  "strategy": {"type": "spmm_1d", "permute": true}, "train": {"eval_every": 0},
  "cluster": {"ranks": 8}})";

Experiment load(const std::vector<std::string>& overrides = {}) {
  return parse_experiments(kPapers, "test.json", overrides).front();
}
std::string refusal(const std::vector<std::string>& overrides) {
  try {
    load(overrides);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(StatisticsKeys, AreRead) {
  const GraphStatistics graph = *load({"dataset.statistics.symmetric=false"}).statistics;

  EXPECT_EQ(graph.name, "papers");
  EXPECT_EQ(graph.vertices, 111059956);
  EXPECT_EQ(graph.edges, 3231371744);
  EXPECT_EQ(graph.features, 128);
  EXPECT_EQ(graph.classes, 172);
  EXPECT_EQ(graph.skew, 1000);
  EXPECT_FALSE(graph.symmetric);
}

TEST(StatisticsKeys, HaveDefaultsThatStandInTheResolvedFile) {
  const Experiment e = load({"dataset.statistics.training_vertices=5"});
  EXPECT_EQ(e.statistics->training_vertices, 5);

  const Json resolved = load().resolved;
  EXPECT_EQ(resolved["dataset"]["statistics"]["training_vertices"], 77741970);  // 0.7, rounded up
  EXPECT_EQ(resolved["dataset"]["statistics"]["symmetric"], true);
  EXPECT_EQ(resolved["dataset"]["statistics"]["multilabel"], false);
  EXPECT_FALSE(resolved["dataset"].contains("reorder")) << "there is nothing to renumber";
  EXPECT_EQ(parse_experiments(resolved.dump(), "again", {}).front().resolved, resolved);
}

TEST(StatisticsKeys, ExcludeOtherSourcesAndWhatNeedsAGraph) {
  EXPECT_EQ(refusal({"dataset.path=cora"}),
            "dataset: \"path\", \"generate\", \"parts\" and \"statistics\" exclude each other");
  EXPECT_EQ(refusal({"dataset.reorder=bfs"}), "dataset.reorder: does not go with \"statistics\"");
  EXPECT_EQ(refusal({"dataset.row_normalise=true"}),
            "dataset.row_normalise: does not go with \"statistics\"");
  EXPECT_EQ(refusal({"dataset.features=3"}), "dataset.features: does not go with \"statistics\"");
  EXPECT_EQ(refusal({"dataset.vertices=3"}), "dataset.vertices: only goes with \"generate\"");
  EXPECT_EQ(refusal({"dataset.statistics.vertexes=3"}).substr(0, 75),
            "dataset.statistics.vertexes: unknown key. Did you mean \"vertices\"? Known ke");
  EXPECT_EQ(refusal({R"(dataset.statistics={"vertices": 3})"}),
            "dataset.statistics.edges: is required");
}

TEST(StatisticsKeys, DescribeGraphsThatCanBe) {
  EXPECT_EQ(refusal({"dataset.statistics.vertices=10", "dataset.statistics.edges=90"}), "accepted");
  EXPECT_EQ(refusal({"dataset.statistics.vertices=10", "dataset.statistics.edges=91"}),
            "dataset.statistics.edges: found 91, but 10 vertices have at most 90 edges without "
            "self-loops and duplicates");
  EXPECT_EQ(refusal({"dataset.statistics.training_vertices=111059957"}),
            "dataset.statistics.training_vertices: found 111059957, but there are 111059956 "
            "vertices");
  EXPECT_EQ(refusal({"dataset.statistics.vertices=18446744073709551615"}).substr(0, 34),
            "dataset.statistics.vertices: found");
  EXPECT_EQ(refusal({"dataset.statistics.skew=0.5"}).substr(0, 33),
            "dataset.statistics.skew: found 0.");
}

TEST(StatisticsKeys, NeedARandomPermutation) {
  const std::string words =
      "strategy.permute: statistics alone need true: they say how large equal blocks of a random "
      "permutation are, and nothing about other cuts";
  EXPECT_EQ(refusal({"strategy.permute=false"}), words);
  EXPECT_EQ(refusal({"strategy.permute=false", "partition.method=metis"}), words);
  EXPECT_EQ(refusal({"strategy.permute=false", "partition.method=random"}), "accepted");
}

/// Those that train, that is; `orrery plan` asks nobody to.
TEST(StatisticsKeys, AreRefusedByBackendsThatTrain) {
  for (const char* backend : {"backend=threads", "backend=mpi"}) try {
      require_data(load({backend}));
      ADD_FAILURE() << backend;
    } catch (const ConfigError& error) {
      EXPECT_STREQ(error.what(),
                   "dataset.statistics: statistics describe no graph to train on; use backend sim "
                   "or orrery plan");
    }
}

// ---- the program -------------------------------------------------------------------------------

struct Outcome {
  int exit_code;
  std::string text;
};

/// Runs a command on the experiment and keeps both of its outputs.
Outcome orrery(const std::string& command, const std::string& options) {
  const std::string file = ::testing::TempDir() + "papers-statistics.json";
  std::ofstream(file) << kPapers;
  FILE* pipe =
      popen((ORRERY_BINARY " " + command + " " + file + " " + options + " 2>&1").c_str(), "r");
  std::string text;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
  return {WEXITSTATUS(pclose(pipe)), text};
}

/// The sums of MG-GCN 4.1 and 4.2: per product of width f a rank receives n·f·(P − 1)/P elements.
TEST(StatisticsCommand, PlanCountsWorkVolumeAndMemory) {
  const std::string options =
      "--json --set 'strategy.first_layer=\"recompute\"' --set 'cluster.device_bytes=\"80 GiB\"'";
  const Outcome planned = orrery("plan", options);

  ASSERT_EQ(planned.exit_code, 0) << planned.text;
  const Json plan = Json::parse(planned.text);
  const double n = 111059956, parameters = 128 * 208 + 208 * 208 + 208 * 172 + 208 + 208 + 172;
  const double widths = 128 + 208 + 172 + 208 + 172;  // forward and, but for the first, backward
  double received = 0, products = 0;
  ASSERT_EQ(plan["ranks"].size(), 8U);
  for (const Json& rank : plan["ranks"]) {
    received += rank["bytes"]["internal"].get<double>();
    products += rank["flops_by_kind"]["spmm"].get<double>();
  }
  EXPECT_NEAR(received, 7 * 4 * (n * widths + 2 * parameters), 1e3);
  EXPECT_NEAR(products, 2 * (3231371744.0 + n) * widths, 1e4);
  EXPECT_TRUE(plan["fits"].is_boolean());
}

TEST(StatisticsCommand, PlanOfAThousandRanksHasEveryOne) {
  const Outcome planned = orrery("plan", "--json --set cluster.ranks=1024");

  ASSERT_EQ(planned.exit_code, 0) << planned.text;
  EXPECT_EQ(Json::parse(planned.text)["ranks"].size(), 1024U);
}

TEST(StatisticsCommand, WhatCannotBeIsToldInOneLine) {
  const Outcome run = orrery("run", "");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.text,
            "orrery: error: dataset.statistics: statistics describe no graph to train on; use "
            "backend sim or orrery plan\n");
  const Outcome cut = orrery("partition", "");
  EXPECT_EQ(cut.text, "orrery: error: dataset.statistics: describe no graph to cut\n");
  const Outcome full = orrery("plan", "--set 'strategy={\"type\": \"full_graph\"}'");
  EXPECT_EQ(full.exit_code, 1);
  EXPECT_EQ(full.text.find("orrery: error: full_graph: which rows"), 0U) << full.text;
}

}  // namespace
}  // namespace orrery
