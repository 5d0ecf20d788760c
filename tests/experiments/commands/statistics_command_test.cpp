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
