// Combinations by pairs: every two values meet, in few tuples, and always the same ones.
#include "tests/support/pairs.hpp"

#include <gtest/gtest.h>

#include <string>

namespace orrery::testing {
namespace {

using Indices = std::vector<std::vector<std::size_t>>;

bool stand_in_one_row(const Indices& rows, std::size_t a, std::size_t i, std::size_t b,
                      std::size_t j) {
  return std::any_of(rows.begin(), rows.end(),
                     [&](const auto& row) { return row[a] == i && row[b] == j; });
}

TEST(Pairs, EveryTwoValuesOfTwoListsMeet) {
  const std::vector<std::vector<std::size_t>> problems{
      {2, 2}, {12, 5, 3, 2, 4}, {1, 7, 1, 3}, {3, 3, 3, 3}, {2, 6, 5, 2, 2, 2, 2}};
  for (const auto& sizes : problems) {
    const Indices rows = rows_of_pairs(sizes);

    for (std::size_t a = 0; a < sizes.size(); ++a)
      for (std::size_t b = a + 1; b < sizes.size(); ++b)
        for (std::size_t i = 0; i < sizes[a]; ++i)
          for (std::size_t j = 0; j < sizes[b]; ++j)
            ASSERT_TRUE(stand_in_one_row(rows, a, i, b, j)) << a << i << b << j;
  }
}

TEST(Pairs, AreHardlyMoreThanTheTwoLongestListsHave) {
  EXPECT_EQ(rows_of_pairs({7, 4}).size(), 28U);
  EXPECT_LE(rows_of_pairs({12, 5, 3, 2, 4}).size(), 63U);    // of 1440
  EXPECT_LE(rows_of_pairs({2, 6, 5, 2, 2, 2}).size(), 33U);  // of 480
}

TEST(Pairs, AreTheSameEveryTime) {
  EXPECT_EQ(rows_of_pairs({5, 4, 3, 2}), rows_of_pairs({5, 4, 3, 2}));
}

TEST(Pairs, OfAnEmptyListAreNone) { EXPECT_TRUE(rows_of_pairs({3, 0, 2}).empty()); }

TEST(Pairs, AreOfTheTypesOfTheirLists) {
  const std::vector<std::tuple<std::string, bool>> tuples =
      pairs_of(std::vector<std::string>{"a", "b"}, std::array{false, true});

  EXPECT_EQ((std::set<std::tuple<std::string, bool>>(tuples.begin(), tuples.end())),
            (std::set<std::tuple<std::string, bool>>{
                {"a", false}, {"a", true}, {"b", false}, {"b", true}}));
}

}  // namespace
}  // namespace orrery::testing
