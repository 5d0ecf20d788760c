// From timelines to the numbers and pictures of a result.
#include "experiments/measure.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "experiments/trace.hpp"

namespace orrery {
namespace {

/// One rank whose epoch e ends at ends[e], computing all the time.
Timeline timeline(int rank, const std::vector<double>& ends) {
  Timeline t{rank, {}, {}};
  double begin = 0;
  int epoch = 0;
  for (const double end : ends) {
    t.marks.push_back({{Stage::forward, epoch, 1}, begin});
    t.marks.push_back({{Stage::evaluate, epoch}, end});
    t.spans.push_back(
        {Lane::compute, "gemm", false, false, {Stage::forward, epoch, 1}, begin, end, 2, 3});
    begin = end;
    ++epoch;
  }
  return t;
}

/// Rank 0 takes 10, 1, 2, 3 s, rank 1 takes 9, 2, 1, 4 s: the slowest 10, 2, 2, 4; without the
/// first the median is 2.
TEST(Measurement, IsTheMedianEpochOfTheSlowestRankWithoutTheFirst) {
  const Measurement m =
      measure({timeline(0, {10, 11, 13, 16}), timeline(1, {9, 11, 12, 16})}, {}, 4);

  EXPECT_EQ(m.seconds, (std::vector<double>{10, 2, 2, 4}));
  EXPECT_DOUBLE_EQ(m.epoch_seconds, 2);
  EXPECT_DOUBLE_EQ(m.breakdown.total(), m.epoch_seconds);
}

TEST(Measurement, OfASingleEpochIsThatEpoch) {
  EXPECT_DOUBLE_EQ(measure({timeline(0, {5})}, {}, 1).epoch_seconds, 5);
}

EpochReport scored(int epoch, double validation, double test) {
  return {epoch, 1.0, Accuracies{0.5, validation, test}};
}

TEST(BestEpoch, IsTheFirstWithTheHighestValidation) {
  EXPECT_EQ(
      best_epoch({scored(0, 0.3, 0.9), scored(1, 0.6, 0.5), {2, 1.0, {}}, scored(3, 0.6, 0.8)})
          ->epoch,
      1);
  EXPECT_FALSE(best_epoch({{0, 1.0, {}}}).has_value());
}

TEST(BestEpoch, WithoutValidationVerticesIsTheLast) {
  EXPECT_EQ(
      best_epoch({{0, 1.0, Accuracies{0.1, {}, 0.2}}, {1, 1.0, Accuracies{0.1, {}, 0.3}}})->epoch,
      1);
}

TEST(Trace, IsJsonWithARowPerRankAndLane) {
  const auto trace =
      nlohmann::json::parse(chrome_trace({timeline(0, {1, 2, 3}), timeline(1, {1, 2, 3})}, 2));

  int spans = 0, lanes = 0, ranks = 0;
  for (const auto& event : trace["traceEvents"]) {
    spans += event["ph"] == "X" ? 1 : 0;
    lanes += event["name"] == "thread_name" ? 1 : 0;
    ranks += event["name"] == "process_name" ? 1 : 0;
  }
  EXPECT_EQ(spans, 4) << "two epochs of each rank";
  EXPECT_EQ(lanes, 2);
  EXPECT_EQ(ranks, 2);
}

}  // namespace
}  // namespace orrery
