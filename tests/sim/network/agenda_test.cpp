#include "sim/network/agenda.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/rng.hpp"

namespace orrery::sim {
namespace {

/// Numbers come, move and go at random, with few distinct times; the first one is held against the
/// least of all at every step.
TEST(Agenda, HasTheEarliestFirstWhateverMovesAndGoes) {
  Agenda agenda;
  std::map<int, std::pair<double, std::uint64_t>> all;
  for (std::uint32_t step = 0; step < 20000; ++step) {
    const auto bits = random_bits(1, Purpose::permutation, 0, step);
    const int number = static_cast<int>(bits[0] % 300);
    if (bits[1] % 3 == 0 && all.contains(number)) {
      agenda.remove(number);
      all.erase(number);
    } else {
      const double time = static_cast<double>(bits[2] % 50);
      agenda.set(number, time, step);
      all[number] = {time, step};
    }
    ASSERT_EQ(agenda.empty(), all.empty());
    if (all.empty()) continue;
    const auto least = std::min_element(
        all.begin(), all.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    ASSERT_EQ(agenda.time(), least->second.first);
    if (bits[3] % 4 != 0) continue;
    ASSERT_EQ(agenda.take_first(), least->first);
    all.erase(least);
  }
}

/// As a replay does: what rings enters others, a nanosecond to an hour later, or never; some are
/// moved, and some of those back.
TEST(Agenda, HasTheEarliestFirstOnEveryScale) {
  Agenda agenda;
  using Key = std::tuple<double, std::uint64_t, int>;
  std::set<Key> all;
  std::vector<Key> of(3000, Key{-1, 0, 0});
  std::uint64_t order = 0;
  const auto set = [&](int number, double time, std::uint64_t its_order) {
    Key& own = of[static_cast<std::size_t>(number)];
    all.erase(own);
    own = {time, its_order, number};
    all.insert(own);
    agenda.set(number, time, its_order);
  };
  const auto delay = [](std::uint32_t bits) { return std::pow(10, bits % 1300 / 100.0 - 9); };
  for (int n = 0; n < 3000; ++n) set(n, 0, ++order);
  for (std::uint32_t step = 0; step < 60000 && !all.empty(); ++step) {
    const auto bits = random_bits(2, Purpose::permutation, 0, step);
    const auto [now, its_order, number] = *all.begin();
    ASSERT_EQ(agenda.time(), now);
    ASSERT_EQ(agenda.take_first(), number);
    all.erase(all.begin());
    of[static_cast<std::size_t>(number)] = {-1, 0, 0};
    const double never = std::numeric_limits<double>::infinity();
    if (step < 50000) set(number, bits[0] % 64 == 0 ? never : now + delay(bits[1]), ++order);
    const auto other = static_cast<int>(bits[2] % 3000);
    if (const auto [time, kept, same] = of[static_cast<std::size_t>(other)]; time >= now) {
      set(other, now + delay(bits[3]), kept);
      if (bits[0] % 3 == 0) set(other, time, kept);
    }
  }
  EXPECT_TRUE(all.empty());
  EXPECT_TRUE(agenda.empty());
}

/// Ten thousand at one time, each of which enters another there.
TEST(Agenda, KeepsTheOrderOfEqualTimes) {
  Agenda agenda;
  for (int n = 0; n < 10000; ++n) agenda.set(n, 7, static_cast<std::uint64_t>(n));
  for (int n = 0; n < 10000; ++n) {
    ASSERT_EQ(agenda.take_first(), n);
    agenda.set(10000 + n, 7, 10000 + static_cast<std::uint64_t>(n));
  }
  for (int n = 0; n < 10000; ++n) ASSERT_EQ(agenda.take_first(), 10000 + n);
  EXPECT_TRUE(agenda.empty());
}

}  // namespace
}  // namespace orrery::sim
