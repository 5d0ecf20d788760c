// Any body is recorded, checked, summed up and simulated: here one that does not train.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "core/base/error.hpp"
#include "experiments/config/load_problem.hpp"
#include "experiments/execute/measure.hpp"
#include "experiments/predict/simulate.hpp"
#include "tests/support/forward_body.hpp"

namespace orrery {
namespace {

using testing::ForwardBody;

class AnyBody : public ::testing::Test {
 protected:
  AnyBody() : prepared_(prepare(experiment(), DatasetCache().load(experiment()))) {}

  static Experiment experiment() {
    return parse_experiments(R"({
        "name": "small", "seed": 3,
        "dataset": {"generate": "communities", "vertices": 400, "edges": 2400, "features": 24},
        "model": {"type": "gcn", "layers": 2, "hidden": 16, "dropout": 0.5},
        "strategy": {"type": "full_graph"}, "train": {"epochs": 3, "eval_every": 0},
        "cluster": {"file": "dgx-1", "gpus": 4}, "backend": "sim"})",
                             "small", {})
        .front();
  }
  ForwardBody forward() const {
    return ForwardBody(*prepared_.strategy, *prepared_.problem, ModelUse::inference);
  }

  PreparedExperiment prepared_;
};

TEST_F(AnyBody, AmountsToTheSameRecordedAndRun) {
  const Placement placement = prepared_.experiment.placement();
  const auto recorded =
      summaries(record_checked(forward(), {}), forward(), placement, forward().period());
  const auto shared = summaries(record_checked_shared(forward(), 1, {}), forward(), placement, 1);

  ExecuteOptions options;
  options.placement = placement;
  const Outcome real = execute_on_threads(forward(), options, {});

  ASSERT_EQ(recorded.size(), 4U);
  for (std::size_t r = 0; r < recorded.size(); ++r) {
    const auto sum = recorded[r].epoch.sum();
    EXPECT_GT(sum.internal + sum.external, 0);
    for (const Summary& other : {shared[r], real.ranks[r].summary}) {
      EXPECT_EQ(other.epoch.sum().internal, sum.internal);
      EXPECT_EQ(other.epoch.sum().flops, sum.flops);
    }
    EXPECT_FALSE(recorded[r].peak_by_class.contains("optimizer"));
  }
}

TEST_F(AnyBody, IsSimulatedInLessTimeThanTraining) try {
  Simulator simulator;
  const auto seconds = [](const SimulatedOutcome& simulated) {
    EXPECT_EQ(simulated.outcome.epochs.size(), 3U);
    return simulated.outcome.ranks[0].epochs.back().seconds;
  };

  const double training = seconds(simulate(prepared_, simulator));
  const double forward_alone = seconds(simulate(forward(), prepared_.experiment, simulator));

  EXPECT_GT(forward_alone, 0);
  EXPECT_LT(2 * forward_alone, training) << "backward passes, gradients and updates";
} catch (const NotBuilt& error) {
  GTEST_SKIP() << error.what();
}

/// Whatever runs, simulates or plans it: none would be kept within an epoch.
TEST(Prepare, RefusesCheckpointsWithinAnEpochThatHasNoMoreSteps) {
  const auto refusal = [](int steps) -> std::string {
    const Experiment experiment =
        parse_experiments(
            R"({"name": "t", "dataset": {"generate": "communities", "vertices": 200, "edges": 900},
                "model": {"type": "gcn"}, "cluster": {"ranks": 2},
                "strategy": {"type": "mini_batch", "batch": 24, "fanouts": [3, 3]}})",
            "t", {fmt::format("train.checkpoint_steps={}", steps)})
            .front();
    try {
      prepare(experiment, DatasetCache().load(experiment));
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "accepted";
  };

  EXPECT_EQ(refusal(2), "accepted");
  EXPECT_EQ(refusal(3),
            "train.checkpoint_steps: found 3, but an epoch has 3 steps here: set it to fewer, or "
            "use train.checkpoint_every");
}

}  // namespace
}  // namespace orrery
