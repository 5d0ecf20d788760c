// Losses that are equal but for their last digits.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace orrery {

inline void expect_near(const std::vector<double>& got, const std::vector<double>& want,
                        double relative = 1e-4) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], want[i], relative * std::abs(want[i])) << "epoch " << i;
}

}  // namespace orrery
