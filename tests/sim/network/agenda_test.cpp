#include "sim/network/agenda.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>

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

}  // namespace
}  // namespace orrery::sim
