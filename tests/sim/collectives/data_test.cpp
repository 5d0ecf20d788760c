// Every algorithm brings every rank what its collective promises.
#include <gtest/gtest.h>

#include "core/base/error.hpp"
#include "sim/collectives/algorithms.hpp"
#include "sim/collectives/planner.hpp"
#include "tests/sim/clusters.hpp"
#include "tests/sim/collectives/follow_data.hpp"

namespace orrery::sim {
namespace {

using test::all_of;
using test::places_of;
using K = CollectiveKind;

struct Group {
  Cluster cluster;
  GroupPlaces places;
};

std::vector<Group> groups() {
  std::vector<Group> list;
  const auto add = [&](const Cluster& c, const GroupPlaces& places) {
    list.push_back({c, places});
  };
  for (const int p : {2, 3, 4, 5, 6, 7, 8, 9, 16}) {
    add(test::switched(1, p), all_of(test::switched(1, p)));  // one server
    add(test::switched(p, 1), all_of(test::switched(p, 1)));  // a server each
  }
  for (const auto& [servers, gpus, nics] : std::vector<std::array<int, 3>>{
           {2, 2, 1}, {2, 4, 2}, {3, 2, 2}, {4, 4, 4}, {5, 3, 1}, {2, 8, 8}})
    add(test::switched(servers, gpus, nics), all_of(test::switched(servers, gpus, nics)));
  const Cluster dgx = test::dgx1(), two = test::dgx1(2);
  add(dgx, all_of(dgx));
  add(dgx, places_of(dgx, {0, 1, 2, 3}));
  add(dgx, places_of(dgx, {2, 6}));
  add(dgx, places_of(dgx, {0, 5}));
  add(dgx, places_of(dgx, {5, 1, 0}));
  add(two, all_of(two));
  add(two, places_of(two, {0, 8, 1, 9, 2, 10, 3, 11}));  // servers in turn
  add(two, places_of(two, {0, 1, 2, 9, 10}));            // unequal servers
  add(two, places_of(two, {3, 3, 3, 11}));               // ranks that share a device
  return list;
}

/// Small, so that everything arrives before it is passed on; large; with parts of all sizes.
std::vector<CollectiveShape> shapes(K kind, int p) {
  const bool sliced = kind == K::reduce_scatter || kind == K::all_gather;
  const int entries = kind == K::all_to_all ? p * p : p;
  std::vector<CollectiveShape> list;
  for (const int root : {0, p - 1, p / 2}) {
    for (const double bytes : {1000.0, 64e6}) list.push_back({kind, p, root, bytes, nullptr});
    if ((kind != K::broadcast && kind != K::reduce) || p > 9) break;
  }
  if (!sliced && kind != K::all_to_all) return list;
  auto parts = std::make_shared<std::vector<double>>();
  for (int i = 0; i < entries; ++i) parts->push_back(1000.0 * (i * 7 % 5));
  list.push_back({kind, p, 0, 0, parts});
  return list;
}

void expect_right_data(CollectivePlanner& planner, const Group& group, K kind,
                       const std::string& library) {
  for (const CollectiveShape& shape : shapes(kind, static_cast<int>(group.places.device.size()))) {
    const Expansion e = planner.expand(shape, group.places);
    EXPECT_EQ(test::wrong_data(e, shape), "")
        << library << " " << e.algorithm << ", " << name_of(kind) << " over " << shape.ranks
        << " of " << group.cluster.name << ", " << shape.bytes << " B from " << shape.root;
  }
}

TEST(Data, ArrivesByEveryAlgorithmOfEveryCollective) {
  for (const Group& group : groups()) {
    for (const Algorithm& algorithm : algorithms()) {
      if (algorithm.kind == K::send_recv) continue;
      CollectivePlanner planner(group.cluster, test::library("nccl"),
                                {std::string(algorithm.name), 0, 0, 0});
      try {
        expect_right_data(planner, group, algorithm.kind, "any");
      } catch (const ConfigError& error) {
        EXPECT_EQ(algorithm.name, "hierarchical") << error.what();
      }
    }
  }
}

TEST(Data, ArrivesByWhatEachLibraryChooses) {
  for (const Group& group : groups())
    for (const char* library : {"nccl", "mpi", "threads"}) {
      CollectivePlanner planner(group.cluster, test::library(library), {"auto", 2, 0, 0});
      for (const K kind : {K::broadcast, K::reduce, K::all_reduce, K::reduce_scatter, K::all_gather,
                           K::all_to_all})
        expect_right_data(planner, group, kind, library);
    }
}

TEST(Data, ArrivesByTheHierarchicalFormsOfManyRanks) {
  for (const auto& [servers, gpus, nics] :
       std::vector<std::array<int, 3>>{{9, 8, 8}, {11, 6, 1}, {70, 1, 1}}) {
    const Cluster c = test::switched(servers, gpus, nics);
    CollectivePlanner planner(c, test::library("nccl"), {});
    for (const K kind : {K::broadcast, K::reduce, K::all_reduce, K::reduce_scatter, K::all_gather})
      expect_right_data(planner, {c, all_of(c)}, kind, "nccl");
  }
}

TEST(Data, IsFoundMissingWhenADependencyIs) {
  const Cluster c = test::switched(1, 4);
  CollectivePlanner planner(c, test::library("nccl"), {"ring", 0, 0, 0});
  const CollectiveShape shape{K::all_reduce, 4, 0, 1000, nullptr};
  const Expansion whole = planner.expand(shape, all_of(c));

  for (std::size_t m = 4; m < whole.messages.size(); ++m) {
    Expansion cut = whole;
    cut.messages[m].waits = 0;

    EXPECT_NE(test::wrong_data(cut, shape), "") << m;
  }
}

}  // namespace
}  // namespace orrery::sim
