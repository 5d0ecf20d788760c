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

TEST(Table, AlignsSentencesLeft) {
  Table table({"run", "error", "why"}, 1, true);
  table.add({"1d", "+1 %", "computation"});
  table.add({"2d", "-12 %", "waiting for other ranks"});

  EXPECT_EQ(table.text(),
            "run  error  why\n"
            "-----------------------------------\n"
            "1d    +1 %  computation\n"
            "2d   -12 %  waiting for other ranks\n");
}

TEST(Table, CountsCharactersNotBytes) {
  Table table({"a", "b"});
  table.add({"µs", "×"});

  EXPECT_EQ(table.text(), "a   b\n-----\nµs  ×\n");
}

TEST(Table, PutsColumnsBelowForWhichThereIsNoRoom) {
  Table table({"strategy", "epoch", "moved", "peak"});
  table.add({"full_graph", "7.1 ms", "1 MiB", "2 GiB"});

  EXPECT_EQ(table.text(28),
            "strategy     epoch  moved\n"
            "-------------------------\n"
            "full_graph  7.1 ms  1 MiB\n"
            "\n"
            "strategy     peak\n"
            "-----------------\n"
            "full_graph  2 GiB\n");
  EXPECT_EQ(table.text(32), table.text()) << "it is 32 wide";
}

TEST(Table, BreaksAColumnThatIsTooWideAlone) {
  Table table({"a", "why"});
  table.add({"x", "because of this and of that"});

  EXPECT_EQ(table.text(22),
            "a  why\n"
            "----------------------\n"
            "x  because of this and\n"
            "   of that\n");
}

TEST(Table, RepeatsAllNamesOfARow) {
  Table table({"run", "on", "seconds", "error"}, 2);
  table.add({"1d", "dgx", "1.5 ms", "-3 %"});

  EXPECT_EQ(table.text(18),
            "run   on  seconds\n"
            "-----------------\n"
            "1d   dgx   1.5 ms\n"
            "\n"
            "run   on  error\n"
            "---------------\n"
            "1d   dgx   -3 %\n");
}

}  // namespace
}  // namespace orrery
