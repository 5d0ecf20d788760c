#include "core/partition/number_of_parts.hpp"

#include <gtest/gtest.h>

#include "core/base/error.hpp"

namespace orrery {
namespace {

std::int64_t parts(std::int64_t devices, std::int64_t device, std::int64_t data,
                   std::int64_t working = 0) {
  return number_of_parts({devices, device, data, working}).parts;
}

TEST(NumberOfParts, DataThatFitsHasAPartForEachDevice) {
  EXPECT_EQ(parts(4, 24, 4 * 8), 4);  // 24 - 16 leave 8 on each
  EXPECT_EQ(parts(4, 24, 1), 4);
  EXPECT_EQ(parts(4, 24, 0), 4);
  EXPECT_EQ(parts(1, 24, 23, 1), 1);
}

TEST(NumberOfParts, LargerDataHasTheFewestEqualRoundsThatFit) {
  EXPECT_EQ(parts(4, 24, 4 * 8 + 1), 8);
  EXPECT_EQ(parts(1, 24, 100), 13);  // 100 / 13 <= 8 < 100 / 12
  for (std::int64_t devices = 1; devices < 5; ++devices)
    for (std::int64_t data = 1; data < 200; ++data) {
      std::int64_t smallest = devices;
      while (smallest * 8 < data) smallest += devices;
      EXPECT_EQ(parts(devices, 24, data), smallest);
    }
}

TEST(NumberOfParts, AWorkingSetAsLargeAsTheDeviceIsAnError) {
  EXPECT_THROW(parts(2, 24, 5, 24), ConfigError);
  EXPECT_EQ(parts(2, 24, 5, 23), 6);
}

TEST(NumberOfParts, TheReasonNamesWhatItIsDrawnFrom) {
  EXPECT_EQ(number_of_parts({2, 3LL << 30, 1LL << 30, 0}).reason,
            "1.00 GiB of data, 2 devices with 3.00 GiB each, of which the working set takes 2.00 "
            "GiB (CATGNN 3.2)");
}

}  // namespace
}  // namespace orrery
