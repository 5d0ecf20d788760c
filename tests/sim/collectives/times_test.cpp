// Times of algorithms on uniform links against the textbook's.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "sim/collectives/planner.hpp"
#include "sim/price/profile.hpp"
#include "tests/sim/clusters.hpp"
#include "tests/sim/collectives/run_messages.hpp"

namespace orrery::sim {
namespace {

using K = CollectiveKind;
using test::all_of;
using test::most_at_once;
using test::places_of;
using test::run_messages;

constexpr double kAlpha = 3e-6, kBeta = 25e9, kBytes = 48e6, kChunk = 512 * 1024;

Expansion expand(const Cluster& c, const GroupPlaces& places, K kind, const std::string& algorithm,
                 double bytes = kBytes, int root = 0) {
  CollectivePlanner planner(c, test::library("nccl"), {algorithm, 0, 0, 0});
  return planner.expand({kind, static_cast<int>(places.device.size()), root, bytes, nullptr},
                        places);
}

double seconds(const Expansion& e) { return run_messages(e, kAlpha, kBeta).last; }

TEST(Times, OfARingAllReduceAreTwiceTheRoundsOfAShare) {
  for (const int p : {2, 3, 4, 5, 8, 9, 16}) {
    const Cluster c = test::switched(1, p);

    const Expansion e = expand(c, all_of(c), K::all_reduce, "ring");
    const auto times = run_messages(e, kAlpha, kBeta);

    EXPECT_NEAR(times.last, 2 * (p - 1) * (kAlpha + kBytes / (p * kBeta)), 1e-12) << p;
    EXPECT_EQ(e.messages.size(), static_cast<std::size_t>(2 * p * (p - 1)));
    for (int r = 0; r < p; ++r)  // so that a link is never shared
      EXPECT_EQ(most_at_once(e, times, [&](const Message& m) { return m.from == r; }), 1);
  }
}

TEST(Times, OfARingAllReduceOnADgx1AreThoseOfSixCables) {
  const Cluster c = test::dgx1();

  const Expansion e = expand(c, all_of(c), K::all_reduce, "ring");
  const auto times = run_messages(e, kAlpha, kBeta);

  EXPECT_NEAR(times.last, 14 * (kAlpha + kBytes / (6 * 8 * kBeta)), 1e-12);
  for (int a = 0; a < 8; ++a)
    for (int b = 0; b < 8; ++b)
      EXPECT_LE(most_at_once(e, times, [&](const Message& m) { return m.from == a && m.to == b; }),
                test::kDgx1[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)]);
}

TEST(Times, OfRingsForSlicesAreTheRoundsOfASlice) {
  const Cluster c = test::switched(1, 6);
  for (const K kind : {K::all_gather, K::reduce_scatter})
    EXPECT_NEAR(seconds(expand(c, all_of(c), kind, "ring")), 5 * (kAlpha + kBytes / kBeta), 1e-12);
}

TEST(Times, OfAChainGrowByAChunkForEachRank) {
  for (const int p : {2, 3, 8, 16}) {
    const Cluster c = test::switched(1, p);
    for (const K kind : {K::broadcast, K::reduce})
      EXPECT_NEAR(seconds(expand(c, all_of(c), kind, "chain", kBytes, p / 2)),
                  kAlpha + kBytes / kBeta + (p - 2) * (kAlpha + kChunk / kBeta), 1e-12)
          << p;
  }
}

TEST(Times, OfAChainOfLittleAreWholeMessages) {
  const Cluster c = test::switched(1, 5);

  const Expansion e = expand(c, all_of(c), K::broadcast, "chain", kChunk);

  EXPECT_EQ(e.algorithm, "chain");
  EXPECT_NEAR(seconds(e), 4 * (kAlpha + kChunk / kBeta), 1e-12);
}

TEST(Times, OfABroadcastOnADgx1AreThoseOfSixCables) {
  const Cluster c = test::dgx1();
  for (int root = 0; root < 8; ++root) {
    const Expansion e = expand(c, all_of(c), K::broadcast, "auto", kBytes, root);
    const auto times = run_messages(e, kAlpha, kBeta);

    EXPECT_EQ(e.algorithm, "ring, 6 channels, chunks of 512 KiB");
    EXPECT_NEAR(times.last, kAlpha + kBytes / (6 * kBeta) + 6 * (kAlpha + kChunk / kBeta), 1e-12);
    EXPECT_EQ(most_at_once(e, times, [&](const Message& m) { return m.from == root; }), 6);
    for (int a = 0; a < 8; ++a)
      for (int b = 0; b < 8; ++b)
        EXPECT_LE(
            most_at_once(e, times, [&](const Message& m) { return m.from == a && m.to == b; }),
            test::kDgx1[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)]);
  }
}

TEST(Times, OfPairsOfADgx1AreThoseOfTheirCables) {
  const Cluster c = test::dgx1();
  const auto pair = [&](int a, int b, K kind) {
    return seconds(expand(c, places_of(c, {a, b}), kind, "auto"));
  };

  EXPECT_NEAR(pair(0, 4, K::reduce), kAlpha + kBytes / (2 * kBeta), 1e-12);
  EXPECT_NEAR(pair(2, 6, K::reduce), kAlpha + kBytes / kBeta, 1e-12);
  EXPECT_NEAR(pair(1, 5, K::all_reduce), 2 * (kAlpha + kBytes / 2 / (2 * kBeta)), 1e-12);
  EXPECT_NEAR(pair(3, 7, K::all_reduce), 2 * (kAlpha + kBytes / 2 / kBeta), 1e-12);
}

TEST(Times, OfABinomialTreeAreItsDepth) {
  // The depth of place v is the number of its bits.
  const std::map<int, int> depth{{2, 1}, {3, 1}, {4, 2}, {7, 2}, {8, 3}, {9, 3}, {16, 4}};
  for (const auto& [p, rounds] : depth) {
    const Cluster c = test::switched(1, p);
    for (const K kind : {K::broadcast, K::reduce})
      EXPECT_NEAR(seconds(expand(c, all_of(c), kind, "binomial tree", kBytes, 1)),
                  rounds * (kAlpha + kBytes / kBeta), 1e-12)
          << p;
  }
}

TEST(Times, OfADoubleTreeAreTwiceItsDepthOfHalves) {
  for (const int depth : {1, 2, 3, 4}) {
    const Cluster c = test::switched(1, 1 << depth);

    const Expansion small = expand(c, all_of(c), K::all_reduce, "double tree", 1000);
    const Expansion large = expand(c, all_of(c), K::all_reduce, "double tree");

    EXPECT_NEAR(seconds(small), 2 * depth * (kAlpha + 500 / kBeta), 1e-12);
    EXPECT_NEAR(seconds(large),
                kAlpha + kBytes / 2 / kBeta + (2 * depth - 1) * (kAlpha + kChunk / kBeta), 1e-12);
    EXPECT_EQ(large.algorithm, "double tree, chunks of 512 KiB");
  }
}

TEST(Times, OfAnAllToAllInAWindowAreItsRounds) {
  const Cluster c = test::switched(1, 9);
  for (const int window : {1, 2, 3, 8}) {
    CollectivePlanner planner(c, test::library("nccl"), {"auto", window, 0, 0});

    const Expansion e = planner.expand({K::all_to_all, 9, 0, kBytes, nullptr}, all_of(c));
    const auto times = run_messages(e, kAlpha, kBeta);

    EXPECT_NEAR(times.last, std::ceil(8.0 / window) * (kAlpha + kBytes / kBeta), 1e-12);
    for (int r = 0; r < 9; ++r)
      EXPECT_EQ(most_at_once(e, times, [&](const Message& m) { return m.from == r; }), window);
  }
}

TEST(Times, OfAnAllToAllSkipWhatIsEmpty) {
  const Cluster c = test::switched(1, 9);
  auto parts = std::make_shared<std::vector<double>>(81);
  for (std::size_t i = 0; i < 81; ++i)
    (*parts)[i] = i % 3 == 0 ? 0 : 1e6 * static_cast<double>(i % 5);
  double total = 0;
  for (std::size_t i = 0; i < 81; ++i)
    if (i % 10 != 0) total += (*parts)[i];  // without the part that a rank keeps
  CollectivePlanner planner(c, test::library("nccl"), {"auto", 2, 0, 0});

  const Expansion e = planner.expand({K::all_to_all, 9, 0, 0, parts}, all_of(c));
  const auto times = run_messages(e, kAlpha, kBeta);

  double sent = 0;
  for (const Message& m : e.messages) sent += m.bytes;
  EXPECT_DOUBLE_EQ(sent, total);
  for (int r = 0; r < 9; ++r)
    EXPECT_EQ(most_at_once(e, times, [&](const Message& m) { return m.from == r; }), 2);
}

}  // namespace
}  // namespace orrery::sim
