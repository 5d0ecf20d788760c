#include "experiments/results/progress.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace orrery {
namespace {

/// What a run of `epochs` epochs prints on standard error, which is no terminal while captured.
std::string printed(int epochs, bool enabled) {
  ::testing::internal::CaptureStderr();
  {
    ProgressBar bar("cora", 0, epochs, enabled);
    for (int epoch = 1; epoch <= epochs; ++epoch) bar.update(epoch, 1.5, 0.8125);
  }
  return ::testing::internal::GetCapturedStderr();
}

TEST(Progress, IsALineEveryTenthOffTheTerminal) {
  const std::string text = printed(200, true);

  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 10);
  EXPECT_NE(text.find("cora  epoch 20/200  loss 1.5000  validation 81.2 %"), std::string::npos)
      << text;
  EXPECT_EQ(text.find('\r'), std::string::npos);
}

TEST(Progress, EndsWithTheLastEpoch) {
  const std::string text = printed(7, true);

  EXPECT_NE(text.find("epoch 7/7"), std::string::npos) << text;
}

/// Epochs that an earlier start has trained took no time of this one.
TEST(Progress, OfAResumedTrainingForetellsByItsOwnEpochs) {
  ::testing::internal::CaptureStderr();
  {
    ProgressBar bar("cora", 8, 10, true);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    bar.update(9, 1.5, {});
  }
  // One epoch is left, as long as this one: at least 100 ms. Of nine epochs each took 11.
  const std::string text = ::testing::internal::GetCapturedStderr();
  const auto left = text.find(" left");
  ASSERT_NE(left, std::string::npos) << text;
  EXPECT_THAT(text, ::testing::Not(::testing::ContainsRegex("  [0-9][0-9]?\\.[0-9] ms left")))
      << text;
}

TEST(Progress, IsSilentOnRequest) { EXPECT_EQ(printed(20, false), ""); }

}  // namespace
}  // namespace orrery
