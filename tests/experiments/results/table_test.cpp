#include "experiments/results/table.hpp"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(Table, AlignsTheFirstColumnLeftAndTheOthersRight) {
  Table table({"strategy", "epoch"});
  table.add({"full_graph", "7.1 ms"});
  table.add({"1d", "12.3 ms"});

  EXPECT_EQ(table.text(),
            "strategy      epoch\n"
            "-------------------\n"
            "full_graph   7.1 ms\n"
            "1d          12.3 ms\n");
}

TEST(Table, CountsCharactersNotBytes) {
  Table table({"a", "b"});
  table.add({"µs", "×"});

  EXPECT_EQ(table.text(), "a   b\n-----\nµs  ×\n");
}

}  // namespace
}  // namespace orrery
