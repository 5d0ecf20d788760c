// Traces of experiments: their messages carry the bytes that the recorded programs say.
#include <gtest/gtest.h>

#include "core/base/index.hpp"
#include "experiments/config/load_problem.hpp"
#include "experiments/predict/simulate.hpp"
#include "sim/traces/execution_trace.hpp"

namespace orrery {
namespace {

/// Bytes that all ranks receive in the first epoch by operations but all-reduces, which the trace
/// leaves whole.
double received(const PreparedExperiment& prepared, const PricedRun& run) {
  double bytes = 0;
  for (const Summary& rank :
       summaries(run.programs, prepared.body(), prepared.experiment.placement(), 1))
    for (const auto& [kind, totals] : rank.epoch.by_kind)
      if (kind != "all_reduce") bytes += totals.internal + totals.external;
  return bytes;
}

class Traces : public ::testing::TestWithParam<const char*> {};

TEST_P(Traces, CarryTheBytesOfThePlan) {
  const std::string text = R"({
    "name": "small", "seed": 3,
    "dataset": {"generate": "communities", "vertices": 2000, "edges": 12000, "features": 24},
    "model": {"type": "gcn", "layers": 2, "hidden": 16, "dropout": 0.5},
    "strategy": {"type": "full_graph"}, "train": {"epochs": 3, "eval_every": 0},
    "cluster": {"file": "dgx-1", "gpus": 4}, "backend": "sim"})";
  const Experiment experiment =
      parse_experiments(text, "small",
                        {std::string("strategy=") + GetParam(), "simulation.epochs=2"})
          .front();
  const PreparedExperiment prepared = prepare(experiment, DatasetCache().load(experiment));
  const PricedRun run = price_run(prepared);

  const sim::TraceSums sums = sim::sums_of(sim::trace_of(run.simulation, {{0, 1}, true}));

  EXPECT_GT(sums.message_bytes, 0);
  EXPECT_EQ(static_cast<double>(sums.message_bytes), received(prepared, run));
  const sim::TraceSums both = sim::sums_of(sim::trace_of(run.simulation, {{0, 2}, true}));
  EXPECT_EQ(both.message_bytes, 2 * sums.message_bytes);
}

INSTANTIATE_TEST_SUITE_P(OfStrategies, Traces,
                         ::testing::Values(R"({"type": "full_graph"})", R"({"type": "spmm_1d"})",
                                           R"({"type": "spmm_15d", "replication": 2})"));

}  // namespace
}  // namespace orrery
