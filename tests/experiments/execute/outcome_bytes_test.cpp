// The outcome that a rank sends to the first one arrives as it was, or not at all.
#include "experiments/execute/outcome_bytes.hpp"

#include <gtest/gtest.h>

#include "core/base/error.hpp"
#include "tests/support/made_up_run.hpp"

namespace orrery {
namespace {

RankOutcome made_up_outcome() {
  return {{test::made_up_cost(1), test::made_up_cost(20)},
          test::made_up_timeline(3),
          test::made_up_summary(),
          {1, 2, {PhaseStep{{Stage::load, 1, 1}}}, {5}, {{"features", 6}}},
          {0, 1000, 2000},
          0.25,
          3000,
          4000};
}

TEST(OutcomeBytes, BringBackEveryMemberButTheProgram) {
  const RankOutcome sent = made_up_outcome();

  const RankOutcome back = outcome_from_bytes(to_bytes(sent));

  EXPECT_EQ(back.epochs, sent.epochs);
  EXPECT_EQ(back.timeline, sent.timeline);
  EXPECT_EQ(back.summary, sent.summary);
  EXPECT_EQ(back.received_from, sent.received_from);
  EXPECT_EQ(back.seconds_to_first_epoch, sent.seconds_to_first_epoch);
  EXPECT_EQ(back.final_bytes, sent.final_bytes);
  EXPECT_EQ(back.peak_bytes, sent.peak_bytes);
  EXPECT_TRUE(back.program.steps.empty());
}

TEST(OutcomeBytes, AreRefusedWhereTheyEndTooEarly) {
  const std::string bytes = to_bytes(made_up_outcome());

  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_THROW(outcome_from_bytes(bytes.substr(0, size)), Error) << size;
}

}  // namespace
}  // namespace orrery
