#include "experiments/starve/stage_times.hpp"

#include <gtest/gtest.h>

namespace orrery {
namespace {

Span span(Lane lane, double begin, double end) {
  Span s;
  s.lane = lane;
  s.begin = begin;
  s.end = end;
  return s;
}

constexpr auto stage_number = [](BatchStage stage) { return static_cast<std::size_t>(stage); };

/// Epoch 1 is from 10 to 20. A batch is drawn until 13, fetched until 15, loaded until 16 and trained
/// until 18; the next one is drawn meanwhile, and nothing is done in the last second.
Timeline one_batch() {
  Timeline timeline;
  timeline.marks = {{{Stage::load, 0, -1}, 0},
                    {{Stage::load, 1, -1}, 10},
                    {{Stage::forward, 1, 0}, 16},
                    {{Stage::evaluate, 1, -1}, 20}};
  timeline.spans = {span(Lane::sampler, 8, 13),  span(Lane::store, 13, 15),
                    span(Lane::copy, 15, 16),    span(Lane::compute, 16, 17),
                    span(Lane::comm2, 16.5, 18), span(Lane::sampler, 15.5, 19),
                    span(Lane::compute, 20, 30), span(Lane::host, 10, 20)};
  return timeline;
}

TEST(StageTimes, AreThoseOfLanesAndTheTrainerWaitsForTheLastStageAtWork) {
  const StageTimes times = stage_times(one_batch(), {1, 1});

  EXPECT_DOUBLE_EQ(times.seconds, 10);
  EXPECT_DOUBLE_EQ(times.busy[stage_number(BatchStage::sample)], 3 + 3.5);
  EXPECT_DOUBLE_EQ(times.busy[stage_number(BatchStage::fetch)], 2);
  EXPECT_DOUBLE_EQ(times.busy[stage_number(BatchStage::load)], 1);
  EXPECT_DOUBLE_EQ(times.busy[stage_number(BatchStage::train)], 2);
  EXPECT_DOUBLE_EQ(times.waited[stage_number(BatchStage::sample)], 3 + 1);
  EXPECT_DOUBLE_EQ(times.waited[stage_number(BatchStage::fetch)], 2);
  EXPECT_DOUBLE_EQ(times.waited[stage_number(BatchStage::load)], 1);
  EXPECT_DOUBLE_EQ(times.waited[stage_number(BatchStage::train)], 1) << "nobody was at work";
  EXPECT_DOUBLE_EQ(times.waiting(), 7);
  EXPECT_EQ(times.limit(), BatchStage::sample);
}

TEST(StageTimes, TrainingLimitsWhereTheTrainerHardlyWaits) {
  Timeline timeline = one_batch();
  timeline.spans.push_back(span(Lane::compute, 10, 15.6));
  EXPECT_EQ(stage_times(timeline, {1, 1}).limit(), BatchStage::sample) << "1 s of 10";
  timeline.spans.push_back(span(Lane::compute, 18, 19));
  EXPECT_EQ(stage_times(timeline, {1, 1}).limit(), BatchStage::train) << "0.4 s of 10";
}

TEST(StageTimes, OfAnotherEpochAreNone) { EXPECT_EQ(stage_times(one_batch(), {2, 5}).seconds, 0); }

}  // namespace
}  // namespace orrery
