// What `orrery plan` makes of a graph that is given by its statistics.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/experiments/papers100m.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;
using testing::kPapers;

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

/// MG-GCN 5.2: a random permutation makes all tiles alike. Eq. 13 to 15 let their rows differ.
TEST(StatisticsCommand, PlanCountsTheNonZerosOfEveryTile) {
  const Outcome planned = orrery("plan", "--json");

  ASSERT_EQ(planned.exit_code, 0) << planned.text;
  const Json tiles = Json::parse(planned.text)["tiles"];
  const double n = 111059956, stored = 3231371744.0 + n;
  EXPECT_EQ(tiles["tiles"], 64);
  EXPECT_NEAR(tiles["rows"]["mean"].get<double>(), n / 8, 1);
  EXPECT_NEAR(tiles["nonzeros"]["mean"].get<double>(), stored / 64, 1);
  EXPECT_NEAR(tiles["nonzeros"]["imbalance"].get<double>(), 1, 1e-6);
  EXPECT_NEAR(tiles["nonzeros_of_rank"]["mean"].get<double>(), stored / 8, 1);
}

/// By a second way: each entry costs 2 FLOP a column, of which there are 4 forward and 4 backward.
TEST(StatisticsCommand, PlanTellsUnevenTiles) {
  const auto plan = [](const std::string& more) {
    return orrery("plan",
                  "--set 'dataset={\"generate\": \"rmat\", \"vertices\": 512, \"edges\": 4096, "
                  "\"classes\": 4, \"features\": 8}' --set 'model={\"type\": \"gcn\", \"layers\": "
                  "1, \"hidden\": 8}' --set partition.method=degree_block " +
                      more);
  };
  const std::string uneven = "--set 'strategy={\"type\": \"spmm_1d\"}'";
  const Outcome planned = plan(uneven + " --json"), words = plan(uneven);
  const Outcome halo = plan("--set 'strategy={\"type\": \"full_graph\"}' --json");

  ASSERT_EQ(planned.exit_code, 0) << planned.text;
  ASSERT_EQ(halo.exit_code, 0) << halo.text;
  const Json result = Json::parse(planned.text);
  const Json& tiles = result["tiles"];
  double flops = 0;
  for (const Json& rank : result["ranks"]) flops += rank["flops_by_kind"]["spmm"].get<double>();
  EXPECT_GT(tiles["rows"]["most"], tiles["rows"]["least"]);
  EXPECT_GT(tiles["nonzeros"]["imbalance"], 1);
  EXPECT_DOUBLE_EQ(tiles["nonzeros"]["mean"].get<double>() * 64, flops / (2 * 8));
  EXPECT_DOUBLE_EQ(tiles["nonzeros_of_rank"]["mean"].get<double>() * 8, flops / (2 * 8));
  EXPECT_NE(words.text.find("non-zeros of a tile"), std::string::npos) << words.text;
  EXPECT_TRUE(Json::parse(halo.text)["tiles"].is_null());
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
            "orrery: error: dataset.statistics: dataset.statistics has nothing to train on; use "
            "backend sim or orrery plan\n");
  const Outcome cut = orrery("partition", "");
  EXPECT_EQ(cut.text, "orrery: error: dataset.statistics: describe no graph to cut\n");
  const Outcome full = orrery("plan", "--set 'strategy={\"type\": \"full_graph\"}'");
  EXPECT_EQ(full.exit_code, 1);
  EXPECT_EQ(full.text.find("orrery: error: full_graph: the edges decide which rows"), 0U)
      << full.text;
}

}  // namespace
}  // namespace orrery
