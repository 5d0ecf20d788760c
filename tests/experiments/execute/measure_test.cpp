// From timelines to the numbers and pictures of a result.
#include "experiments/execute/measure.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/base/rng.hpp"
#include "experiments/execute/trace.hpp"
#include "tests/experiments/execute/perfetto_rule.hpp"

namespace orrery {
namespace {

/// Epochs of the given seconds, all of them computing.
std::vector<EpochCost> costs(const std::vector<double>& seconds) {
  std::vector<EpochCost> list;
  for (const double s : seconds) {
    list.push_back({s, {}});
    list.back().breakdown.compute = s;
  }
  return list;
}

/// Slowest of the two: 10, 2, 2, 4; without the first the median is 2.
TEST(Measurement, IsTheMedianEpochOfTheSlowestRankWithoutTheFirst) {
  const Measurement m = measure({costs({10, 1, 2, 3}), costs({9, 2, 1, 4})}, {});

  EXPECT_EQ(m.seconds, (std::vector<double>{10, 2, 2, 4}));
  EXPECT_DOUBLE_EQ(m.epoch_seconds, 2);
  EXPECT_DOUBLE_EQ(m.breakdown.total(), m.epoch_seconds);
}

/// Periods of three epochs: 10 | 6 1 2 | 6 1 2, and with one epoch more those of the end.
TEST(Measurement, HasTheMeanOfWholePeriodsWithoutTheFirstEpoch) {
  Summary summary;
  summary.epochs = 3;

  EXPECT_DOUBLE_EQ(measure({costs({10, 6, 1, 2, 6, 1, 2})}, {summary}).mean_epoch_seconds, 3);
  EXPECT_DOUBLE_EQ(measure({costs({10, 8, 6, 1, 2})}, {summary}).mean_epoch_seconds, 3);
  EXPECT_DOUBLE_EQ(measure({costs({10, 2})}, {summary}).mean_epoch_seconds, 6);
  EXPECT_DOUBLE_EQ(measure({costs({10, 2, 4})}, {}).mean_epoch_seconds, 3);
}

TEST(Measurement, HoldsTheMedianEpochOfEveryRank) {
  const Measurement m = measure({costs({10, 1, 3, 5}), costs({9, 2, 1, 4})}, {});

  ASSERT_EQ(m.ranks.size(), 2U);
  EXPECT_DOUBLE_EQ(m.epoch_seconds, 3);
  EXPECT_DOUBLE_EQ(m.ranks[0].breakdown.compute, 3);
  EXPECT_DOUBLE_EQ(m.ranks[1].breakdown.compute, 1);
}

TEST(Measurement, NamesTheClassesOfTheRankWithTheLargestPeak) {
  Summary small, large;
  small.peak_device_bytes = 10;
  small.peak_by_class = {{"features", 10}};
  large.peak_device_bytes = 30;
  large.peak_by_class = {{"features", 12}, {"buffers", 18}};

  const Measurement m = measure({costs({1}), costs({1})}, {small, large});

  EXPECT_EQ(m.peak_by_class, large.peak_by_class);
}

TEST(Measurement, OfASingleEpochIsThatEpoch) {
  EXPECT_DOUBLE_EQ(measure({costs({5})}, {}).epoch_seconds, 5);
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
  Timeline zero, one;
  one.rank = 1;
  for (Timeline* t : {&zero, &one}) {
    t->spans.push_back({Lane::compute, "gemm", false, 0, {Stage::forward, 0, 1}, 1, 2, 8, 9});
    t->spans.push_back({Lane::comm, "broadcast", true, 1, {Stage::forward, 0, 1}, 1, 3, 0, 4});
    t->memory = {{0.5, 100}, {2.5, 40}};
  }

  const auto trace = nlohmann::json::parse(chrome_trace({zero, one}));

  int spans = 0, lanes = 0, ranks = 0;
  std::vector<int> bytes;
  for (const auto& event : trace["traceEvents"]) {
    spans += event["ph"] == "X" ? 1 : 0;
    lanes += event["name"] == "thread_name" ? 1 : 0;
    ranks += event["name"] == "process_name" ? 1 : 0;
    if (event["ph"] == "C") bytes.push_back(event["args"]["bytes"]);
  }
  EXPECT_EQ(spans, 4);
  EXPECT_EQ(lanes, 4);
  EXPECT_EQ(ranks, 2);
  EXPECT_EQ(bytes, (std::vector<int>{100, 40, 100, 40}));
  EXPECT_EQ(trace["traceEvents"][1]["dur"], 1e6);
}

/// Spans back to back at moments that are no whole nanoseconds: some shorter than one, some so late
/// that a microsecond's third digit is all that a double keeps, and some that the last bit of a sum
/// makes overlap.
TEST(Trace, HasSlicesThatMeetWhereSpansMeetHoweverAViewerRounds) {
  for (const double origin : {0.0, 2.1, 1e5}) {
    Timeline timeline;
    Sequence draws(3, Purpose::edges, 0);
    for (double now = origin; timeline.spans.size() < 4000;) {
      const double end = now + std::pow(10.0, -10 + 6 * draws.uniform());
      timeline.spans.push_back(
          {Lane::compute, "gemm", false, 0, {Stage::forward, 0, 1}, now, end, 8, 9});
      now = draws.uniform() < 0.5 ? end : std::nextafter(end, 0.0);
    }

    const auto trace = nlohmann::json::parse(chrome_trace({timeline}));

    const auto round = [](double us) { return std::round(us * 1000); };
    EXPECT_EQ(testing::dropped_slices(trace, testing::cut), std::vector<std::string>{});
    EXPECT_EQ(testing::dropped_slices(trace, round), std::vector<std::string>{});
    double sum = 0;
    for (const auto& event : trace["traceEvents"])
      if (event["ph"] == "X") sum += event["dur"].get<double>();
    EXPECT_NEAR(sum, 1e6 * (timeline.spans.back().end - origin), 1e-3 * 20) << "none is shortened";
  }
}

}  // namespace
}  // namespace orrery
