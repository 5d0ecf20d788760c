#include "sim/collectives.hpp"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(Collectives, HaveNames) { EXPECT_EQ(name_of(CollectiveKind::all_to_all), "all_to_all"); }

}  // namespace
}  // namespace orrery
