// Settings that fit the device memory, while that shrinks.
#include "experiments/predict/fit.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "core/base/error.hpp"
#include "core/partition/number_of_parts.hpp"
#include "experiments/config/load_problem.hpp"
#include "experiments/predict/prepared.hpp"

namespace orrery {
namespace {

/// A problem on 2 servers of 2 ranks with this much memory a rank (0: not given).
Problem problem(const std::string& strategy, std::int64_t bytes, Experiment& fitted) {
  static DatasetCache datasets;
  const std::string text = fmt::format(
      R"({{"name": "t", "dataset": {{"generate": "communities", "vertices": 160, "edges": 500,
          "features": 16}}, "model": {{"type": "gcn", "layers": 4, "hidden": 32}},
          "strategy": {{"type": "shared_preloading", {}}}, "train": {{"eval_every": 0}},
          "cluster": {{"servers": 2, "ranks_per_server": 2{}}}}})",
      strategy, bytes == 0 ? "" : fmt::format(R"(, "device_bytes": {})", bytes));
  const Experiment experiment = parse_experiments(text, "test.json", {}).front();
  const PreparedExperiment prepared = prepare(experiment, datasets.load(experiment));
  fitted = prepared.experiment;
  return *prepared.problem;
}

std::int64_t peak(const Problem& p) { return forecast_bytes(p, Placement::uniform(2, 2)); }
std::int64_t needed(const std::string& strategy) {
  Experiment e;
  return peak(problem(strategy, 0, e));
}
std::string refusal(const std::string& strategy, std::int64_t bytes) {
  Experiment e;
  try {
    problem(strategy, bytes, e);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Fit, TakesTheWholeGraphAtOnceWhileThatFits) {
  const std::int64_t all = needed(R"("batches": 1)");
  Experiment e;
  problem(R"("batches": "fit")", all, e);
  EXPECT_EQ(e.strategy.batches, 1);
  EXPECT_EQ(e.resolved["strategy"]["batches"], 1);
  problem(R"("depth": "fit")", all, e);
  EXPECT_EQ(e.strategy.depth, 4);
}

TEST(Fit, CutsMoreBatchesAsMemoryShrinksUntilNothingFits) {
  const std::int64_t all = needed(R"("batches": 1)");
  int before = 1;
  std::string told;
  for (std::int64_t room = all; told.empty(); room -= all / 12) {
    Experiment e;
    try {
      const Problem p = problem(R"("batches": "fit")", room, e);
      EXPECT_LE(peak(p), room);
      EXPECT_EQ(p.strategy.batches, e.strategy.batches);
    } catch (const ConfigError& error) {
      told = error.what();
      break;
    }
    const int batches = e.strategy.batches;
    EXPECT_GE(batches, before);
    if (batches > 1) {
      EXPECT_GT(needed(fmt::format(R"("batches": {})", batches - 1)), room);
    }
    before = batches;
  }
  EXPECT_GT(before, 1);
  EXPECT_NE(told.find("strategy.batches: nothing fits into"), std::string::npos) << told;
  EXPECT_NE(told.find("more; use more ranks"), std::string::npos) << told;
}

TEST(Fit, PreloadsFewerLayersAsMemoryShrinks) {
  const std::int64_t all = needed(R"("depth": 4)"), none = needed(R"("depth": 0)");
  ASSERT_LT(none, all);
  int before = 4;
  for (std::int64_t room = all; room >= none; room -= (all - none) / 6) {
    Experiment e;
    const Problem p = problem(R"("depth": "fit")", room, e);

    EXPECT_LE(peak(p), room);
    EXPECT_LE(*e.strategy.depth, before);
    if (*e.strategy.depth < 4) {
      EXPECT_GT(needed(fmt::format(R"("depth": {})", *e.strategy.depth + 1)), room);
    }
    before = *e.strategy.depth;
  }
  EXPECT_LT(before, 4);
  EXPECT_NE(refusal(R"("depth": "fit")", none / 2).find("0 layers preloaded need"),
            std::string::npos);
}

TEST(Fit, NeedsToKnowTheMemory) {
  EXPECT_NE(refusal(R"("depth": "fit")", 0).find("set cluster.device_bytes"), std::string::npos);
}

TEST(Preloading, CombinationsThatMeanNothingAreRefused) {
  EXPECT_NE(refusal(R"("depth": 1, "batches": 2)", 0).find("strategy.depth: goes with neither"),
            std::string::npos);
  EXPECT_NE(refusal(R"("depth": "fit", "sampling": {})", 0).find("goes with neither"),
            std::string::npos);
  EXPECT_NE(refusal(R"("depth": 5)", 0).find("found 5, but the model has 4 layers"),
            std::string::npos);
  EXPECT_NE(refusal(R"("depth": "most")", 0).find("found \"most\", expected a number or"),
            std::string::npos);
  EXPECT_NE(refusal(R"("batches": "all")", 0).find("found \"all\", expected a number or \"fit\""),
            std::string::npos);
  EXPECT_NE(refusal(R"("degrees": "part")", 0).find("goes with strategy.sampling"),
            std::string::npos);
  EXPECT_EQ(refusal(R"("degrees": "part", "sampling": {"hops": 2})", 0), "accepted");
}

TEST(Preloading, TakesMetisPartsAndExactEvaluationByDefault) {
  Experiment e;
  problem(R"("sampling": {})", 0, e);
  EXPECT_EQ(e.partition.method, "metis");
  EXPECT_EQ(e.strategy.evaluate_on, EvaluateOn::graph);
  EXPECT_EQ(e.strategy.degrees, Degrees::part);
  EXPECT_EQ(e.strategy.sampling->expansion.fanout, 15);
  EXPECT_EQ(e.strategy.ranks_per_server, 2);
  EXPECT_EQ(parse_experiments(e.resolved.dump(), "again", {}).front().resolved, e.resolved);
  problem(R"("depth": "all")", 0, e);
  EXPECT_EQ(e.strategy.evaluate_on, EvaluateOn::parts);
  EXPECT_EQ(e.strategy.degrees, Degrees::original);
}

/// 2,000 vertices of 16 features are 128,000 bytes, their edges 8 bytes each.
Experiment averaging(const std::vector<std::string>& overrides) {
  return parse_experiments(R"({"name": "t", "dataset": {"generate": "communities",
      "vertices": 2000, "edges": 8000, "features": 16}, "model": {"type": "gcn"},
      "strategy": {"type": "model_averaging"}, "cluster": {"ranks": 2}})",
                           "test.json", overrides)
      .front();
}

TEST(PartsOfModelAveraging, AreDrawnFromTheDeviceMemoryAndTheData) {
  DatasetCache datasets;
  const ProblemData data = datasets.load(averaging({}));
  const std::int64_t bytes = 8 * data.facts().edges + 4 * 16 * 2000;
  ASSERT_EQ(data_bytes(data.facts()), bytes);
  for (const std::int64_t room : {bytes, bytes / 2, bytes / 3, bytes / 7, bytes / 40}) {
    const Experiment asked = averaging(
        {fmt::format("cluster.device_bytes={}", room + 1000), "partition.working_bytes=1000"});
    int parts = 2;
    while (parts * room < bytes) parts += 2;  // equal rounds of two ranks

    const PreparedExperiment prepared = prepare(asked, data);

    EXPECT_EQ(prepared.problem->partition.parts, parts);
    EXPECT_EQ(prepared.problem->ranks(), 2);
    EXPECT_EQ(prepared.experiment.strategy.parts, parts);
    EXPECT_NE(prepared.experiment.parts_reason.find("(CATGNN 3.2)"), std::string::npos);
    EXPECT_EQ(prepared.experiment.resolved["partition"]["parts"], parts);
    const Experiment again =
        parse_experiments(prepared.experiment.resolved.dump(), "again", {}).front();
    EXPECT_EQ(prepare(again, data).problem->partition.owner, prepared.problem->partition.owner);
  }
}

TEST(PartsOfModelAveraging, AreOneARankWhereNoMemoryIsKnownAndAsManyAsAreAskedFor) {
  DatasetCache datasets;
  const ProblemData data = datasets.load(averaging({}));

  const PreparedExperiment unknown = prepare(averaging({}), data);
  const PreparedExperiment asked =
      prepare(averaging({"partition.parts=7", "cluster.device_bytes=1000000"}), data);

  EXPECT_EQ(unknown.problem->partition.parts, 2);
  EXPECT_EQ(unknown.experiment.resolved["partition"]["parts"], "auto");
  EXPECT_EQ(unknown.experiment.parts_reason, "");
  EXPECT_EQ(asked.problem->partition.parts, 7);
}

TEST(PartsOfModelAveraging, SayWhatIsMissing) {
  const auto told = [](const std::vector<std::string>& overrides) {
    const Experiment e = averaging(overrides);
    try {
      parts_of(e, 1 << 20);
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };

  EXPECT_EQ(told({"partition.working_bytes=9"}),
            "partition.working_bytes: needs the device memory: set cluster.device_bytes, or name "
            "a cluster.file");
  EXPECT_EQ(told({"partition.working_bytes=9", "partition.parts=4"}),
            "partition.working_bytes: is for partition.parts auto: leave one of them out");
  EXPECT_EQ(told({"partition.working_bytes=9", "cluster.device_bytes=9"}).substr(0, 23),
            "partition.working_bytes");
  EXPECT_EQ(told({"partition.working_bytes=9", "cluster.device_bytes=10"}).substr(0, 50),
            "partition.parts: expected at most 65536, found 104");
}

}  // namespace
}  // namespace orrery
