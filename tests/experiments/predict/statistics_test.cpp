// Experiments on a graph that is given by its statistics: what the file says, and what is refused.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "experiments/config/experiment.hpp"
#include "experiments/config/load_problem.hpp"
#include "experiments/predict/prepared.hpp"
#include "experiments/predict/simulate.hpp"
#include "tests/experiments/papers100m.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;
using testing::kPapers;

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
  EXPECT_EQ(
      refusal({"dataset.path=cora"}),
      "dataset: \"path\", \"generate\", \"parts\", \"statistics\" and \"edge_list\" exclude each "
      "other");
  EXPECT_EQ(refusal({"dataset.reorder=bfs"}), "dataset.reorder: does not go with \"statistics\"");
  EXPECT_EQ(refusal({"dataset.row_normalise=true"}),
            "dataset.row_normalise: does not go with \"statistics\"");
  EXPECT_EQ(refusal({"dataset.features=3"}), "dataset.features: does not go with \"statistics\"");
  EXPECT_EQ(refusal({"dataset.vertices=3"}), "dataset.vertices: only goes with \"generate\"");
  EXPECT_EQ(refusal({"dataset.statistics.vertexes=3"}).substr(0, 75),
            "dataset.statistics.vertexes: unknown key. Did you mean \"vertices\"? Known ke");
  EXPECT_EQ(
      refusal({R"(dataset.statistics={"vertices": 3})"}),
      "dataset.statistics.edges: is required\nand 2 more:\n"
      "  dataset.statistics.features: is required\n  dataset.statistics.classes: is required");
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
      "strategy.permute: dataset.statistics needs true: counts are enough for equal blocks of a "
      "random permutation, not for other cuts";
  EXPECT_EQ(refusal({"strategy.permute=false"}), words);
  EXPECT_EQ(refusal({"strategy.permute=false", "partition.method=metis"}), words);
  EXPECT_EQ(refusal({"strategy.permute=false", "partition.method=random"}), "accepted");
}

/// It has no permutation: which edges leave a server is what it needs, and counts do not say.
TEST(StatisticsKeys, OfPreloadingAreRefusedForTheEdgesThatAreMissing) {
  for (const char* method : {"metis", "random"}) {
    const Experiment e = load({R"(strategy={"type": "shared_preloading"})",
                               std::string("partition.method=") + method,
                               R"(cluster={"servers": 2, "ranks_per_server": 1})"});
    try {
      prepare(e, DatasetCache().load(e));
      ADD_FAILURE() << method;
    } catch (const NeedsStructure& error) {
      EXPECT_EQ(std::string(error.what()).substr(0, 19), "shared_preloading: ") << error.what();
      EXPECT_NE(std::string(error.what()).find("dataset.statistics has none"), std::string::npos);
    }
  }
}

/// A profile of GPUs prices hubs; one of CPUs, whose kernels balance entries, refuses to ignore them.
TEST(StatisticsKeys, SkewChangesPricesOrIsRefused) {
  const std::string cpus = R"(cluster={"file": "r5-16-25gbe", "gpus": 8})",
                    gpus = R"(cluster={"file": "dgx-a100", "gpus": 8})";

  EXPECT_GT(profile_of(load({gpus, "backend=sim"})).roofline.multiprocessors, 1);
  EXPECT_NO_THROW(profile_of(load({cpus, "backend=sim", "dataset.statistics.skew=1"})));
  try {
    profile_of(load({cpus, "backend=sim"}));
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(),
                 "dataset.statistics.skew: device profile \"r5-16\" has the same prices for any "
                 "skew: leave the key out");
  }
}

/// Those that train, that is; `orrery plan` asks nobody to.
TEST(StatisticsKeys, AreRefusedByBackendsThatTrain) {
  for (const char* backend : {"backend=threads", "backend=mpi"}) try {
      require_data(load({backend}));
      ADD_FAILURE() << backend;
    } catch (const ConfigError& error) {
      EXPECT_STREQ(error.what(),
                   "dataset.statistics: dataset.statistics has nothing to train on; use backend "
                   "sim or orrery plan");
    }
}

}  // namespace
}  // namespace orrery
