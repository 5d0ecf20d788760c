#include "core/terminal/terminal.hpp"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(Terminal, TextIsCutByCharactersNotBytes) {
  EXPECT_EQ(cut_to("µs per µs", 9), "µs per µs");
  EXPECT_EQ(cut_to("µs per µs", 8), "µs pe...");
  EXPECT_EQ(cut_to("abc", 2), "..");
}

TEST(Terminal, TextIsWrappedAtBlanksAndKeepsItsLines) {
  EXPECT_EQ(wrapped("one two three\nfour", 7), "one two\nthree\nfour");
  EXPECT_EQ(wrapped("  in front", 20), "  in front");
  EXPECT_EQ(wrapped("averylongword b", 5), "averylongword\nb");
  EXPECT_EQ(wrapped("± ± ±", 3), "± ±\n±");
  EXPECT_EQ(wrapped("as it is", 0), "as it is");
}

}  // namespace
}  // namespace orrery
