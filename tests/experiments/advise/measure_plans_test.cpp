// Real runs of plans that replays do not find slower: which, in which order, and what comes of it.
#include "experiments/advise/measure_plans.hpp"

#include <gmock/gmock.h>

#include <map>

#include "core/base/error.hpp"

namespace orrery {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const EpochErrors kUsual{{"operations", 0.1}}, kOther{{"gemm", 0.1}};  // their ratio: ± 23 %

RatedPlan plan(const std::string& label, double seconds,
               const std::optional<EpochErrors>& errors = kUsual) {
  RatedPlan made;
  made.plan.label = label;
  made.epoch_seconds = seconds;
  made.errors = errors;
  return made;
}

std::vector<std::string> labels(const std::vector<RatedPlan>& plans) {
  std::vector<std::string> list;
  for (const RatedPlan& one : plans) list.push_back(one.plan.label);
  return list;
}

/// What plans take, by label and turn; it notes which were asked for. Plans without times fail.
struct Stub {
  std::map<std::string, std::vector<double>> times;
  std::vector<std::string> asked{};
  std::map<std::string, std::size_t> turns{};

  RunPlan run() {
    return [this](const Plan& plan, int) {
      asked.push_back(plan.label);
      const std::vector<double>& of = times[plan.label];
      const std::size_t turn = turns[plan.label]++;
      if (turn >= of.size()) throw Error("it ended with signal 9");
      return of[turn];
    };
  }
};

const auto nothing = [](int, int) {};

TEST(MeasurePlans, RunsWhatIsNotSlowerInTurnsAndPutsTheFastestMeasuredFirst) {
  std::vector<RatedPlan> plans{plan("first", 1), plan("unsure", 1.05, kOther),
                               plan("as fast", 1.02), plan("slow", 2)};
  Stub stub{
      {{"first", {1.0, 1.1, 1.2, 1.1, 1.1, 1.1, 1.1, 1.1, 1.1}},
       {"unsure", {0.9, 0.8, 7.0, 0.9, 0.9, 0.9, 7.0, 0.9, 0.9}},  // others were at work twice
       {"as fast", {1.3, 1.3, 1.3}}}};
  std::vector<std::pair<int, int>> told;

  const Measuring done =
      measure_plans(plans, stub.run(), [&](int run, int of) { told.emplace_back(run, of); });

  const std::vector<std::string> all{"first", "unsure", "as fast"};
  std::vector<std::string> turns;
  for (int turn = 0; turn < kTurns; ++turn)
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::string& label = turn % 2 == 0 ? all[i] : all[all.size() - 1 - i];
      if (turn < kFirstTurns || label != "as fast") turns.push_back(label);
    }
  EXPECT_EQ(stub.asked, turns);
  EXPECT_EQ(told.front(), std::pair(0, 27));
  EXPECT_EQ(told[9], std::pair(9, 21));
  EXPECT_EQ(told.back(), std::pair(20, 21));
  EXPECT_THAT(labels(plans), ElementsAre("unsure", "first", "as fast", "slow"));
  EXPECT_NEAR(*plans[0].measured_seconds, 0.9, 1e-12);
  EXPECT_NEAR(*plans[1].measured_seconds, 1.1, 1e-12);
  EXPECT_FALSE(plans[3].measured_seconds) << "slower by its replay";
  EXPECT_EQ(done.plans, 3U);
  EXPECT_EQ(done.in_all_turns, 2U);
  EXPECT_EQ(done.turns, 9);
  EXPECT_EQ(done.epochs, epochs_to_measure(1));
}

/// The machine is slower in the later turns, which the plan that is out does not meet.
TEST(MeasurePlans, PlansThatAreOutAreToldAtThePaceOfThoseThatRanOn) {
  std::vector<RatedPlan> plans{plan("out", 1), plan("a", 1.01), plan("b", 1.02)};
  const std::vector<double> then{2, 2, 2, 2, 2, 2};
  Stub stub{{{"out", {1.3, 1.3, 1.3}}, {"a", {1, 1, 1}}, {"b", {0.9, 1, 1.1}}}};
  for (const char* name : {"a", "b"})
    stub.times[name].insert(stub.times[name].end(), then.begin(), then.end());

  measure_plans(plans, stub.run(), nothing);

  EXPECT_THAT(labels(plans), ElementsAre("a", "b", "out"));
  EXPECT_NEAR(*plans[0].measured_seconds, 2, 1e-12);
  EXPECT_NEAR(*plans[2].measured_seconds, 2.6, 1e-12);
}

/// The machine takes longer in each turn than in the one before, and something delays the faster plan in the
/// turn that is the median.
TEST(MeasurePlans, AreComparedWithinTheirTurns) {
  std::vector<RatedPlan> plans{plan("slower", 1), plan("faster", 1.01)};
  Stub stub{};
  for (int turn = 1; turn <= kTurns; ++turn) {
    stub.times["slower"].push_back(1.02 * turn);
    stub.times["faster"].push_back(turn == (kTurns + 1) / 2 ? 1.05 * turn : turn);
  }

  measure_plans(plans, stub.run(), nothing);

  EXPECT_THAT(labels(plans), ElementsAre("faster", "slower"));
  EXPECT_NEAR(*plans[1].measured_seconds / *plans[0].measured_seconds, 1.02, 1e-12);
}

TEST(MeasurePlans, ComparesMeasuredPlansByWhatTheyTook) {
  RatedPlan best = plan("best", 2), near = plan("near", 1), far = plan("far", 1, kOther);
  best.measured_seconds = 1.0;
  near.measured_seconds = 1.04;

  EXPECT_EQ(compare_plans(near, best), Verdict::as_fast);
  EXPECT_NEAR(more_than(near, best), 0.04, 1e-12);
  near.measured_seconds = 1.06;
  EXPECT_EQ(compare_plans(near, best), Verdict::apart);
  EXPECT_EQ(compare_plans(far, best), Verdict::apart) << "by replays";
  EXPECT_NEAR(more_than(far, best), -0.5, 1e-12);
}

TEST(MeasurePlans, AreTheSixFastestAtMost) {
  std::vector<RatedPlan> plans{plan("0", 1)};
  const std::vector<double> seconds(kTurns, 1);
  Stub stub{{{"0", seconds}}};
  for (int i = 1; i < 9; ++i) {
    plans.push_back(plan(std::to_string(i), 1 + 0.001 * i, kOther));
    stub.times[std::to_string(i)] = seconds;
  }

  const Measuring done = measure_plans(plans, stub.run(), nothing);

  EXPECT_EQ(done.plans, kMostMeasured);
  EXPECT_FALSE(stub.turns.contains("6"));
}

TEST(MeasurePlans, LeavesOutAPlanThatFailsAndSaysWhy) {
  std::vector<RatedPlan> plans{plan("fails", 1), plan("runs", 1.05, kOther)};
  Stub stub{{{"fails", {0.5}}, {"runs", {1, 1, 1}}}};

  const Measuring done = measure_plans(plans, stub.run(), nothing);

  EXPECT_THAT(stub.asked, ElementsAre("fails", "runs", "runs", "fails", "runs")) << "none to race";
  EXPECT_THAT(labels(plans), ElementsAre("runs", "fails"));
  EXPECT_EQ(plans[1].not_measured, "it ended with signal 9");
  EXPECT_FALSE(plans[1].measured_seconds);
  EXPECT_EQ(done.plans, 1U);
}

TEST(MeasurePlans, WithoutOneThatRunsIsAnError) {
  std::vector<RatedPlan> plans{plan("a", 1), plan("b", 1.05, kOther)};
  Stub stub{};
  try {
    measure_plans(plans, stub.run(), nothing);
    FAIL() << "nothing was measured";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("none of 2 plans could be measured; a: it ended"));
  }
  const RunPlan needs_mpi = [](const Plan&, int) -> double { throw NotBuilt("no MPI"); };
  for (RatedPlan& each : plans) each.not_measured.clear();
  EXPECT_THROW(measure_plans(plans, needs_mpi, nothing), NotBuilt);
}

TEST(MeasurePlans, RunsNothingWhereReplaysTellTheFastest) {
  std::vector<RatedPlan> plans{plan("first", 1), plan("slow", 2), plan("slower", 3)};
  Stub stub{};

  EXPECT_EQ(measure_plans(plans, stub.run(), nothing).plans, 0U);

  EXPECT_TRUE(stub.asked.empty());
  EXPECT_THAT(labels(plans), ElementsAre("first", "slow", "slower"));
}

TEST(MeasurePlans, RunsAllWhereTheProfileSaysNothingOfItsErrors) {
  std::vector<RatedPlan> plans{plan("a", 1, std::nullopt), plan("b", 3, std::nullopt)};
  Stub stub{{{"a", {4, 4, 4}}, {"b", {2, 2, 2}}}};

  measure_plans(plans, stub.run(), nothing);

  EXPECT_THAT(labels(plans), ElementsAre("b", "a"));
}

TEST(MeasurePlans, RunsLastAboutASecond) {
  EXPECT_EQ(epochs_to_measure(0.001), 20);
  EXPECT_EQ(epochs_to_measure(0.1), 11);
  EXPECT_EQ(epochs_to_measure(60), 3);
}

}  // namespace
}  // namespace orrery
