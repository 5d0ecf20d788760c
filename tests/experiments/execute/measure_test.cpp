// From timelines to the numbers and pictures of a result.
#include "experiments/execute/measure.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <future>
#include <map>
#include <nlohmann/json.hpp>

#include "core/base/index.hpp"
#include "core/base/rng.hpp"
#include "core/runtime/buffer.hpp"
#include "experiments/execute/execute.hpp"
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

/// Two ranks end an epoch within a hundredth of each other: the first has worked, the second waited for it.
TEST(Measurement, TellsThePartsOfTheRankThatTheOthersWaitedFor) {
  EpochCost worked{1.99, {}}, waited{2, {}}, early{1, {}};
  worked.breakdown.compute = 1.99;
  waited.breakdown.compute = 0.5;
  waited.breakdown.internal = 1.5;
  early.breakdown.compute = 1;

  const Measurement m = measure({{worked}, {waited}, {early}}, {});
  const Measurement alone = measure({{early}, {waited}}, {});

  EXPECT_DOUBLE_EQ(m.epoch_seconds, 2);
  EXPECT_DOUBLE_EQ(m.breakdown.compute, 1.99);
  EXPECT_NEAR(m.breakdown.other, 0.01, 1e-12);
  EXPECT_DOUBLE_EQ(alone.breakdown.internal, 1.5);
}

TEST(Measurement, HoldsTheMedianEpochOfEveryRank) {
  const Measurement m = measure({costs({10, 1, 3, 5}), costs({9, 2, 1, 4})}, {});

  ASSERT_EQ(m.ranks.size(), 2U);
  EXPECT_DOUBLE_EQ(m.epoch_seconds, 3);
  EXPECT_DOUBLE_EQ(m.ranks[0].breakdown.compute, 3);
  EXPECT_DOUBLE_EQ(m.ranks[1].breakdown.compute, 1);
}

/// Two ranks whose sum of the first epoch goes on beside the second one: rank 1 takes part in it only
/// after rank 0 has reported the first epoch.
class SumAcrossEpochs final : public Body {
 public:
  int ranks() const override { return 2; }
  int epochs() const override { return 2; }
  void run(Runtime& rt, RunObserver& observer, const RunControl&) const override {
    const Buffer sum(rt, {1, 1}, DType::f32, "gradients/sum");
    rt.phase({Stage::forward, 0});
    rt.submit(Lane::compute, Fill{sum.tensor(), 1});
    const bool runs = rt.scalar(Lane::compute, sum.tensor()).has_value();
    if (runs && rt.rank() == 1)
      waited_ = first_reported_.get_future().wait_for(std::chrono::seconds(20));
    rt.wait(Lane::comm, rt.record(Lane::compute));
    rt.submit(Lane::comm, AllReduce{sum.tensor(), world_group(2)});
    report(rt, observer, 0);
    if (runs && rt.rank() == 0) first_reported_.set_value();
    rt.phase({Stage::forward, 1});
    rt.wait(Lane::compute, rt.record(Lane::comm));
    rt.submit(Lane::compute, Copy{sum.tensor(), sum.tensor(), 2});
    rt.sync(rt.record(Lane::compute));
    report(rt, observer, 1);
  }
  std::future_status waited() const { return waited_; }

 private:
  static void report(Runtime& rt, RunObserver& observer, int epoch) {
    rt.phase({Stage::evaluate, epoch});
    const EpochReport report{epoch, std::nullopt, std::nullopt, 0};
    observer.epochs_done({&report, 1});
  }
  mutable std::promise<void> first_reported_;
  mutable std::future_status waited_ = std::future_status::deferred;
};

// It would take time that belongs to no epoch, and a stale halo would be no faster than an exact one.
TEST(Measurement, DoesNotWaitForWhatGoesOnBesideTheNextEpoch) {
  const SumAcrossEpochs body;
  ExecuteOptions options;
  options.timeline_epochs = {0, 1};

  const Outcome outcome = execute_on_threads(body, options, {});

  EXPECT_EQ(body.waited(), std::future_status::ready);
  EXPECT_EQ(outcome.epochs.size(), 2U);
  for (const RankOutcome& rank : outcome.ranks) {
    const auto& spans = rank.timeline.spans;
    EXPECT_EQ(std::count_if(spans.begin(), spans.end(),
                            [](const Span& span) { return span.kind == "all_reduce"; }),
              1);  // kept although it ended later
    EXPECT_EQ(std::count_if(spans.begin(), spans.end(),
                            [](const Span& span) { return span.phase.epoch == 1; }),
              0);
  }
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

TEST(BestEpoch, ByAccuracyAndLossIsTheLastAtWhichNeitherHadBeenBetter) {
  const auto scored = [](int epoch, double accuracy, double loss) {
    return EpochReport{.epoch = epoch,
                       .loss = 1.0,
                       .scores = Accuracies{0.5, accuracy, 0.5},
                       .validation_loss = loss};
  };
  // Epoch 3 is as good as epoch 1 in both; later ones are better in one of them only.
  const std::vector<EpochReport> epochs{
      scored(0, 0.3, 2.0), scored(1, 0.6, 1.0), {2, 1.0, {}},       scored(3, 0.6, 1.0),
      scored(4, 0.7, 1.1), scored(5, 0.6, 0.9), scored(6, 0.6, 0.8)};

  EXPECT_EQ(best_epoch(epochs, BestBy::accuracy_and_loss)->epoch, 3);
  EXPECT_EQ(best_epoch(epochs)->epoch, 4);
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

  const auto trace = nlohmann::json::parse(chrome_trace({zero, one}, {}));

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
  EXPECT_EQ(trace["traceEvents"][2]["dur"], 1e6);
}

/// (from, to) of every arrow, in the order of the file.
std::vector<std::pair<int, int>> arrows_of(const nlohmann::json& trace) {
  std::map<int, std::pair<int, int>> ends;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] == "s") ends[event["id"]].first = event["pid"];
    if (event["ph"] == "f") ends[event["id"]].second = event["pid"];
  }
  std::vector<std::pair<int, int>> list;
  for (const auto& [id, pair] : ends) list.push_back(pair);
  return list;
}

/// Ranks that did these collectives one after the other, in groups that start with their number.
std::vector<Timeline> ranks_that_did(const std::vector<Span>& spans, int ranks) {
  std::vector<Timeline> timelines(at(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    timelines[at(rank)].rank = rank;
    for (const Span& span : spans)
      if (span.group.contains(rank)) timelines[at(rank)].spans.push_back(span);
  }
  return timelines;
}

Span collective(std::string_view kind, const Group& group, int root = -1) {
  Span span{Lane::comm, kind, true, false, {Stage::forward, 0, 1}, 1, 2, 0, 8};
  span.group = group;
  span.root = root;
  return span;
}

TEST(Trace, HasArrowsFromTheRanksThatSendToThoseThatReceive) {
  using Pairs = std::vector<std::pair<int, int>>;
  const Group odd{1, 1, 2, 2}, all{0, 0, 3, 1};
  const auto arrows = [](const Span& span, int ranks) {
    return arrows_of(nlohmann::json::parse(chrome_trace(ranks_that_did({span}, ranks), {})));
  };

  EXPECT_EQ(arrows(collective("broadcast", all, 1), 3), (Pairs{{1, 0}, {1, 2}}));
  EXPECT_EQ(arrows(collective("broadcast", odd, 1), 4), (Pairs{{3, 1}}));
  EXPECT_EQ(arrows(collective("reduce", all, 2), 3), (Pairs{{0, 2}, {1, 2}}));
  EXPECT_EQ(arrows(collective("all_gather", odd), 4), (Pairs{{1, 3}, {3, 1}}));
  EXPECT_EQ(arrows(collective("all_reduce", {0, 0, 5, 1}), 5),
            (Pairs{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 0}}));
  EXPECT_EQ(arrows(collective("broadcast", {0, 0, 5, 1}, 0), 3), (Pairs{{0, 1}, {0, 2}}))
      << "of ranks that are in the file";
}

TEST(Trace, HasArrowsBetweenTheSameTurnsOfACollective) {
  auto timelines = ranks_that_did(
      {collective("broadcast", {0, 0, 2, 1}, 0), collective("broadcast", {0, 0, 2, 1}, 1)}, 2);
  for (Timeline& timeline : timelines) timeline.spans[1].begin = 5 + timeline.rank;

  const auto trace = nlohmann::json::parse(chrome_trace(timelines, {}));

  EXPECT_EQ(arrows_of(trace), (std::vector<std::pair<int, int>>{{0, 1}, {1, 0}}));
  for (const auto& event : trace["traceEvents"])
    if (event["ph"] == "f" && event["id"] == 2) {
      EXPECT_NEAR(event["ts"].get<double>(), 5e6, 1);
    }
}

TEST(Trace, SaysWhatItIsOfAndWhereEpochsBegin) {
  Timeline timeline;
  for (const int epoch : {3, 4}) {
    timeline.spans.push_back(
        {Lane::compute, "gemm", false, false, {Stage::forward, epoch, 1}, 1.0 * epoch, 10, 8, 9});
    timeline.spans.back().shape = {20, 16};
    timeline.spans.push_back(
        {Lane::comm2, "load", false, false, {Stage::evaluate, epoch, 1}, 10, 11, 8, 9});
  }

  const auto trace = nlohmann::json::parse(chrome_trace({timeline}, {{"experiment", "one\xff"}}));

  EXPECT_EQ(trace["otherData"]["epochs"], (std::vector<int>{3, 4}));
  EXPECT_TRUE(trace["otherData"].contains("experiment"));
  std::map<std::string, double> begins;
  std::map<int, int> places;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] == "i") begins[event["name"]] = event["ts"];
    if (event["name"] == "thread_sort_index")
      places[event["tid"]] = event["args"]["sort_index"].get<int>();
    if (event["name"] == "gemm") {
      EXPECT_EQ(event["args"]["shape"], "20 x 16");
    }
    if (event["name"] == "load") {
      EXPECT_FALSE(event["args"].contains("shape"));
    }
  }
  EXPECT_EQ(begins.size(), 2U);
  EXPECT_NEAR(begins["epoch 3"], 3e6, 1);
  EXPECT_NEAR(begins["epoch 4"], 4e6, 1);
  EXPECT_LT(places.at(static_cast<int>(Lane::compute)), places.at(static_cast<int>(Lane::comm2)));
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

    const auto trace = nlohmann::json::parse(chrome_trace({timeline}, {}));

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
