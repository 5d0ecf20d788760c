#include "sim/network/max_min.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "core/base/rng.hpp"
#include "tests/sim/network/fair_rates.hpp"

namespace orrery::sim {
namespace {

/// Random numbers of a test, in the order in which they are asked for.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : seed_(seed) {}
  std::uint64_t below(std::uint64_t bound) {
    return random_bits(seed_, Purpose::permutation, 0, count_++)[0] % bound;
  }

 private:
  std::uint64_t seed_;
  std::uint32_t count_ = 0;
};

InterconnectPlan random_plan(Draws& draws, std::uint64_t capacities, std::uint64_t connections,
                             std::uint64_t hops) {
  InterconnectPlan plan;
  // Few distinct rates, so that ties are common.
  for (std::uint64_t c = 0; c < capacities; ++c)
    plan.bytes_per_second.push_back(1e9 * static_cast<double>(1 + draws.below(4)));
  for (std::uint64_t i = 0; i < connections; ++i) {
    std::set<int> route;
    const std::uint64_t count = 1 + draws.below(hops);
    while (route.size() < count) route.insert(static_cast<int>(draws.below(capacities)));
    plan.connections.push_back({0, 0, {route.begin(), route.end()}});
  }
  return plan;
}

/// Flows come and go, several at a time, and after each change every rate is held against filling
/// all of them from nothing. Returns the largest relative difference.
double worst_difference(std::uint64_t seed, std::uint64_t capacities, std::uint64_t hops,
                        std::size_t most) {
  Draws draws(seed);
  const InterconnectPlan plan = random_plan(draws, capacities, 3 * capacities, hops);
  MaxMin sharing(plan.bytes_per_second);
  std::vector<int> numbers, connections, changed;
  double worst = 0;
  for (int step = 0; step < 60; ++step) {
    for (std::uint64_t i = 0, count = 1 + draws.below(4); i < count; ++i) {
      if (!numbers.empty() && (numbers.size() == most || draws.below(3) == 0)) {
        const std::size_t gone = draws.below(numbers.size());
        sharing.remove(numbers[gone]);
        numbers.erase(numbers.begin() + static_cast<std::ptrdiff_t>(gone));
        connections.erase(connections.begin() + static_cast<std::ptrdiff_t>(gone));
      } else {
        const std::size_t c = draws.below(plan.connections.size());
        numbers.push_back(sharing.add(plan.connections[c].capacities));
        connections.push_back(static_cast<int>(c));
      }
    }
    sharing.settle(changed);
    const auto expected = fair_rates(plan, connections);
    for (std::size_t i = 0; i < numbers.size(); ++i)
      worst = std::max(worst, std::abs(sharing.rate(numbers[i]) - expected[i]) / expected[i]);
  }
  return worst;
}

TEST(MaxMin, EqualsFillingFromNothingAfterEveryChange) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    EXPECT_LT(worst_difference(seed, 4, 3, 12), 1e-9) << "few capacities, seed " << seed;
    EXPECT_LT(worst_difference(seed, 40, 4, 60), 1e-9) << "many capacities, seed " << seed;
  }
}

TEST(MaxMin, ChangesNothingFarFromTheChange) {
  // Two flows on a capacity each; a third joins the second.
  MaxMin sharing({1e9, 2e9});
  const std::vector<int> first{0}, second{1};
  const int alone = sharing.add(first), shared = sharing.add(second);
  std::vector<int> changed;
  sharing.settle(changed);
  changed.clear();

  const int third = sharing.add(second);
  sharing.settle(changed);

  EXPECT_EQ(std::set<int>(changed.begin(), changed.end()), (std::set<int>{shared, third}));
  EXPECT_EQ(sharing.rate(alone), 1e9);
  EXPECT_EQ(sharing.rate(shared), 1e9);
}

TEST(MaxMin, AFlowWithItsRouteToItselfChangesNothingElse) {
  MaxMin sharing({1e9, 2e9, 3e9});
  const std::vector<int> first{0}, others{1, 2};
  std::vector<int> changed;

  const int one = sharing.add(first), two = sharing.add(others);

  EXPECT_TRUE(sharing.settled());
  EXPECT_EQ(sharing.rate(one), 1e9);
  EXPECT_EQ(sharing.rate(two), 2e9);
  const int three = sharing.add(others);
  EXPECT_FALSE(sharing.settled());
  sharing.settle(changed);
  EXPECT_EQ(sharing.rate(two), 1e9);
  EXPECT_EQ(sharing.rate(three), 1e9);
  sharing.remove(one);
  EXPECT_TRUE(sharing.settled());
  sharing.remove(two);
  sharing.settle(changed);
  EXPECT_EQ(sharing.rate(three), 2e9);
}

TEST(MaxMin, AFlowThatLeavesGivesItsShareToThoseWhoCanUseIt) {
  // a: 0; b: 0 and 1; c: 1. Capacities 10 and 4: b and c have 2 each, a has 8. Without c, b has 4, a 6.
  MaxMin sharing({10, 4});
  const std::vector<int> zero{0}, both{0, 1}, one{1};
  const int a = sharing.add(zero), b = sharing.add(both), c = sharing.add(one);
  std::vector<int> changed;
  sharing.settle(changed);
  EXPECT_EQ(sharing.rate(a), 8);
  EXPECT_EQ(sharing.rate(b), 2);
  EXPECT_EQ(sharing.rate(c), 2);

  sharing.remove(c);
  sharing.settle(changed);
  EXPECT_EQ(sharing.rate(a), 6);
  EXPECT_EQ(sharing.rate(b), 4);
}

/// Two hundred flows of a link each pass one that is full with 150 of them. They come and go in no
/// order, so that it is far from full, then just full, then not again.
TEST(MaxMin, AWideCapacityBindsOnceItIsFull) {
  constexpr int kFlows = 200;
  InterconnectPlan plan;
  plan.bytes_per_second.assign(kFlows, 1e9);
  plan.bytes_per_second.push_back(150e9);
  for (int i = 0; i < kFlows; ++i) plan.connections.push_back({0, 0, {i, kFlows}});
  MaxMin sharing(plan.bytes_per_second);
  Draws draws(3);
  std::vector<int> number(kFlows, -1), changed;
  int under_way = 0, most = 0;
  for (int step = 0; step < 4000; ++step) {
    const std::size_t i = draws.below(kFlows);
    const bool comes = draws.below(10) < (step / 500 % 2 == 0 ? 9U : 1U);
    if (comes && number[i] < 0) {
      number[i] = sharing.add(plan.connections[i].capacities);
      ++under_way;
    } else if (!comes && number[i] >= 0) {
      sharing.remove(std::exchange(number[i], -1));
      --under_way;
    }
    if (step % 3 == 1) continue;  // several changes at once
    sharing.settle(changed);
    most = std::max(most, under_way);
    for (const int flow : number)
      if (flow >= 0) {
        ASSERT_NEAR(sharing.rate(flow), std::min(1e9, 150e9 / under_way), 1e-2);
      }
  }
  EXPECT_GT(most, 160);
}

}  // namespace
}  // namespace orrery::sim
