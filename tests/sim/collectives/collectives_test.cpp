// The choice of algorithms, their names, and the number of their messages.
#include "sim/collectives/planner.hpp"

#include <gtest/gtest.h>

#include <map>

#include "core/base/error.hpp"
#include "sim/collectives/choose.hpp"
#include "tests/sim/clusters.hpp"

namespace orrery::sim {
namespace {

using K = CollectiveKind;
using test::all_of;
using test::places_of;

constexpr double kMiB = 1 << 20;

std::string chosen(const Cluster& c, const std::string& library, K kind, double bytes,
                   const CollectiveOptions& options = {}) {
  CollectivePlanner planner(c, test::library(library), options);
  const auto places = all_of(c);
  return planner.expand({kind, static_cast<int>(places.device.size()), 0, bytes, nullptr}, places)
      .algorithm;
}

double bytes_of(const Expansion& e) {
  double sum = 0;
  for (const Message& m : e.messages) sum += m.bytes;
  return sum;
}

TEST(Collectives, HaveNames) { EXPECT_EQ(name_of(CollectiveKind::all_to_all), "all_to_all"); }

TEST(Collectives, OfOneRankOrNoBytesAreNoMessages) {
  const Cluster c = test::switched(2, 2);
  for (const char* library : {"nccl", "mpi", "threads"}) {
    CollectivePlanner planner(c, test::library(library), {});
    for (const K kind : {K::broadcast, K::reduce, K::all_reduce, K::reduce_scatter, K::all_gather,
                         K::all_to_all}) {
      EXPECT_TRUE(planner.expand({kind, 1, 0, kMiB, nullptr}, places_of(c, {2})).messages.empty());
      EXPECT_TRUE(planner.expand({kind, 4, 0, 0, nullptr}, all_of(c)).messages.empty());
      EXPECT_FALSE(planner.expand({kind, 4, 0, 8, nullptr}, all_of(c)).messages.empty());
    }
  }
}

TEST(Collectives, OfThreadsAndMpiAreThoseOfOurCommunicators) {
  const Cluster c = test::switched(1, 4);

  EXPECT_EQ(chosen(c, "threads", K::broadcast, 64 * kMiB), "flat");
  EXPECT_EQ(chosen(c, "threads", K::all_reduce, 64 * kMiB), "flat");
  EXPECT_EQ(chosen(c, "threads", K::all_gather, 64 * kMiB), "pairwise, all at once");
  EXPECT_EQ(chosen(c, "mpi", K::broadcast, kMiB / 2), "binomial tree");
  EXPECT_EQ(chosen(c, "mpi", K::broadcast, kMiB / 2 + 1), "chain, chunks of 512 KiB");
  EXPECT_EQ(chosen(c, "mpi", K::reduce, kMiB), "flat");
  EXPECT_EQ(chosen(c, "mpi", K::all_reduce, kMiB), "slices");
  EXPECT_EQ(chosen(c, "mpi", K::all_reduce, 64 * kMiB), "slices, chunks of 256 KiB");
  EXPECT_EQ(chosen(c, "mpi", K::reduce_scatter, kMiB), "pairwise, all at once");
}

TEST(Collectives, OfNcclAreRings) {
  const Cluster one = test::switched(1, 8), four = test::switched(4, 4, 2);

  EXPECT_EQ(chosen(one, "nccl", K::broadcast, 64 * kMiB), "ring, chunks of 512 KiB");
  EXPECT_EQ(chosen(one, "nccl", K::all_reduce, 1024), "ring");
  EXPECT_EQ(chosen(one, "nccl", K::all_reduce, 64 * kMiB), "ring");
  EXPECT_EQ(chosen(four, "nccl", K::reduce, 64 * kMiB), "ring, 2 channels, chunks of 512 KiB");
  EXPECT_EQ(chosen(four, "nccl", K::all_gather, kMiB), "ring, 2 channels");
  EXPECT_EQ(chosen(four, "nccl", K::all_to_all, kMiB), "pairwise, all at once");
}

TEST(Collectives, OfARingGoRoundInOneDirection) {
  const Cluster c = test::switched(1, 8);
  CollectivePlanner planner(c, test::library("nccl"), {});
  const auto successors = [&](K kind) {
    std::map<int, int> next;
    for (const Message& m : planner.expand({kind, 8, 3, 8, nullptr}, all_of(c)).messages)
      next[m.from] = m.to;
    return next;
  };

  const auto broadcast = successors(K::broadcast), reduce = successors(K::reduce);

  EXPECT_EQ(broadcast.size(), 7u);
  EXPECT_EQ(reduce.size(), 7u);
  for (const auto& [from, to] : reduce)
    if (broadcast.contains(from)) {
      EXPECT_EQ(to, broadcast.at(from)) << from;
    }
}

TEST(Collectives, OfManyServersAreTreesWhenSmall) {
  const Cluster c = test::switched(8, 8, 8);

  EXPECT_EQ(chosen(c, "nccl", K::all_reduce, 1024), "double tree, 8 trees");
  EXPECT_EQ(chosen(c, "nccl", K::all_reduce, 1024 * kMiB), "ring, 8 channels");
}

TEST(Collectives, TakeTheTimesOfNcclsModel) {
  // 64 ranks on 8 servers over NVLink, LL: hops of .6 us inside; 2.7 (ring), 5 (tree) across.
  const Cluster c = test::switched(8, 8, 8);
  const Layout layout = LayoutFinder(c).find(all_of(c));

  const AllReduceTimes small = nccl_all_reduce_seconds(layout, 0);
  const AllReduceTimes large = nccl_all_reduce_seconds(layout, 1e12);

  EXPECT_NEAR(small.ring, (6.6 + 112 * .6 + 14 * 2.7) * 1e-6, 1e-12);
  EXPECT_NEAR(small.double_tree, (6.8 + 2 * (7 * .6 + 3 * 5)) * 1e-6, 1e-12);
  EXPECT_NEAR(small.hierarchical, small.double_tree + 2 * 6.8e-6, 1e-12);  // three collectives
  // Simple, 8 adapters of 10 GB/s.
  EXPECT_NEAR(large.ring, (8.4 + 112 * 3.4 + 14 * 14) * 1e-6 + 2 * 63 / 64. * 1e12 / 80e9, 1e-9);
  EXPECT_NEAR(large.double_tree, (8.4 + 2 * (7 * 4 + 3 * 14)) * 1e-6 + 2e12 / (.92 * 80e9), 1e-9);
}

TEST(Collectives, CanBeForcedWhereTheyHaveTheAlgorithm) {
  const Cluster c = test::switched(1, 4);

  EXPECT_EQ(chosen(c, "nccl", K::broadcast, kMiB, {"binomial tree", 0, 0, 0}), "binomial tree");
  EXPECT_EQ(chosen(c, "nccl", K::all_gather, kMiB, {"binomial tree", 0, 0, 0}), "ring");
  EXPECT_EQ(chosen(c, "mpi", K::all_reduce, kMiB, {"ring", 0, 0, 0}), "ring");
  EXPECT_EQ(chosen(c, "nccl", K::broadcast, kMiB, {"chain", 0, 65536, 0}),
            "chain, chunks of 64 KiB");
  EXPECT_EQ(chosen(c, "nccl", K::all_to_all, kMiB, {"auto", 2, 0, 0}), "pairwise, 2 at a time");
}

TEST(Collectives, RefuseWhatTheyDoNotHave) {
  const Cluster c = test::switched(2, 2);
  const auto message = [&](const std::string& library, const CollectiveOptions& options) {
    try {
      CollectivePlanner(c, test::library(library), options);
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string();
  };

  EXPECT_EQ(message("nccl", {"rings", 0, 0, 0}),
            "simulation.algorithm: no collective has 'rings'; use auto, direct, flat, binomial "
            "tree, chain, ring, ring by servers, double tree, hierarchical, slices, pairwise");
  EXPECT_NE(message("gloo", {}), "");
  EXPECT_NE(message("nccl", {"auto", -1, 0, 0}), "");
  EXPECT_NE(message("nccl", {"auto", 0, -1, 0}), "");
  EXPECT_NE(message("nccl", {"auto", 0, 0, -1}), "");
  CollectivePlanner planner(c, test::library("nccl"), {"hierarchical", 0, 0, 0});
  EXPECT_THROW(planner.expand({K::all_reduce, 3, 0, 1, nullptr}, places_of(c, {0, 1, 2})),
               ConfigError);
}

TEST(Collectives, SendAsManyBytesAsTheirFormulas) {
  const Cluster one = test::switched(1, 7), dgx = test::dgx1(), many = test::switched(3, 4, 2);
  for (const Cluster* c : {&one, &dgx, &many}) {
    const auto places = all_of(*c);
    const int p = static_cast<int>(places.device.size());
    const double n = 64 * kMiB;
    const auto sent = [&](K kind, const char* algorithm) {
      CollectivePlanner planner(*c, test::library("nccl"), {algorithm, 0, 0, 0});
      return bytes_of(planner.expand({kind, p, 0, n, nullptr}, places));
    };

    for (const char* name :
         {"flat", "binomial tree", "chain", "ring", "ring by servers", "hierarchical"})
      for (const K kind : {K::broadcast, K::reduce})
        EXPECT_NEAR(sent(kind, name), (p - 1) * n, 1) << name;
    for (const char* name : {"ring", "double tree", "flat", "slices"})
      EXPECT_NEAR(sent(K::all_reduce, name), 2 * (p - 1) * n, 1) << name;
    for (const K kind : {K::reduce_scatter, K::all_gather})
      for (const char* name : {"ring", "pairwise", "hierarchical"})
        EXPECT_NEAR(sent(kind, name), p * (p - 1) * n, 1) << name;
  }
}

TEST(Collectives, OfManyRanksAreFewMessages) {
  const Cluster c = test::switched(128, 8, 8);
  const auto places = all_of(c);
  CollectivePlanner planner(c, test::library("nccl"), {});
  const auto count = [&](K kind, double bytes) {
    return planner.expand({kind, 1024, 77, bytes, nullptr}, places).messages.size();
  };

  EXPECT_EQ(count(K::broadcast, 64 * kMiB), 1023u);
  EXPECT_EQ(count(K::broadcast, 1024), 1023u);
  EXPECT_EQ(count(K::reduce, 64 * kMiB), 1023u);
  EXPECT_EQ(count(K::all_reduce, 1024), 4 * 1023u);  // double tree
  // 8 · 7 messages in each of 128 servers twice, and 8 double trees of 4 · 127.
  EXPECT_EQ(count(K::all_reduce, 1024 * kMiB), 2 * 128 * 56 + 8 * 4 * 127u);
  EXPECT_EQ(count(K::all_gather, kMiB), 128 * 56 + 7 * 1024u);
  EXPECT_EQ(count(K::reduce_scatter, kMiB), 128 * 56 + 7 * 1024u);
}

TEST(Collectives, OfManyRanksUseAsManyAdaptersAsTheirMessagesAllow) {
  const Cluster some = test::switched(16, 8, 8), many = test::switched(128, 8, 8);

  EXPECT_EQ(chosen(some, "nccl", K::broadcast, 64 * kMiB),
            "ring by servers, chain over 16 servers, 8 channels, chunks of 512 KiB");
  EXPECT_EQ(chosen(many, "nccl", K::broadcast, 64 * kMiB),
            "ring by servers, chain over 128 servers, chunks of 512 KiB");
  EXPECT_EQ(chosen(many, "nccl", K::broadcast, 1024 * kMiB, {"auto", 0, 0, 8}),
            "ring by servers, chain over 128 servers, 8 channels, chunks of 512 KiB");
  // NCCL has nothing else for short ones, and for those whose latency a tree would shorten.
  for (const double bytes : {1024.0, 32.0 * kMiB}) {
    const auto by = [&](const char* algorithm) {
      return chosen(many, "nccl", K::broadcast, bytes, {algorithm, 0, 0, 8});
    };
    EXPECT_TRUE(by("auto").starts_with("ring by servers, chain over 128 servers")) << by("auto");
    EXPECT_TRUE(by("hierarchical").starts_with("hierarchical, binomial tree"))
        << by("hierarchical");
  }
}

}  // namespace
}  // namespace orrery::sim
