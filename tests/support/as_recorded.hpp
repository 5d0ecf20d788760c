// A training does the same as its recording.
#pragma once

#include <gtest/gtest.h>

#include "core/runtime/check/check.hpp"
#include "core/strategy/train/record.hpp"
#include "tests/support/problems.hpp"

namespace orrery::testing {

/// Every rank's recording is safe, and the run has the same steps, the same peak (as the allocator
/// counts it), and leaves nothing.
inline void expect_as_recorded(const Strategy& strategy, const Problem& problem) {
  const Outcome real = execute_on_threads(TrainingBody(strategy, problem), watched(), {});
  const auto recorded = record_training(strategy, problem, problem.train.epochs, {});

  EXPECT_NO_THROW(check(recorded));
  ASSERT_EQ(real.ranks.size(), recorded.size());
  for (std::size_t r = 0; r < recorded.size(); ++r) {
    EXPECT_EQ(to_string(real.ranks[r].program), to_string(recorded[r])) << "rank " << r;
    EXPECT_EQ(real.ranks[r].peak_bytes, recorded[r].peak_bytes[0]) << "rank " << r;
    EXPECT_EQ(real.ranks[r].final_bytes, 0) << "rank " << r;
  }
}
inline void expect_as_recorded(const Problem& problem) {
  expect_as_recorded(*make_strategy(problem), problem);
}

}  // namespace orrery::testing
