// METIS under several constraints, on splits that lie in one corner of the graph.
#include "core/partition/methods/metis.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "core/base/error.hpp"
#include "core/base/rng.hpp"
#include "core/partition/methods/cut.hpp"
#include "core/partition/partition_options.hpp"
#include "core/partition/vertex_weights.hpp"
#include "tests/partition/graphs.hpp"

namespace orrery {
namespace {

constexpr std::int64_t kSide = 48;

/// A grid with a few chords: vertex (x, y) is x·side + y.
Csr grid() {
  NamedGraph graph{"grid", kSide * kSide, {}};
  for (Vertex x = 0; x < kSide; ++x)
    for (Vertex y = 0; y < kSide; ++y) {
      const auto v = static_cast<Vertex>(x * kSide + y);
      if (x + 1 < kSide) graph.edges.push_back({v, static_cast<Vertex>(v + kSide)});
      if (y + 1 < kSide) graph.edges.push_back({v, v + 1});
    }
  for (const Edge& chord : random_edges(kSide * 8, 300, 5)) graph.edges.push_back(chord);
  return symmetric_csr(graph);
}

/// Training vertices in the first sixth of the grid, validation in the next, test behind them.
std::vector<Split> skewed_split() {
  std::vector<Split> split(kSide * kSide, Split::none);
  for (std::size_t v = 0; v < split.size() / 6; ++v) {
    split[v] = Split::train;
    split[v + split.size() / 6] = Split::validation;
    split[v + split.size() / 2] = Split::test;
  }
  return split;
}

/// Most of what `of` counts in a part / mean, counted vertex by vertex.
template <class Of>
double balance_of(const Partition& partition, const Of& of) {
  std::map<std::int32_t, double> loads;
  double sum = 0, most = 0;
  for (std::size_t v = 0; v < partition.owner.size(); ++v) {
    loads[partition.owner[v]] += of(v);
    sum += of(v);
  }
  for (const auto& [part, load] : loads) most = std::max(most, load);
  return most * partition.parts / sum;
}

struct Levels {
  int parts, servers;
};

class MetisConstraints : public ::testing::TestWithParam<Levels> {
 protected:
  Partition cut(const std::vector<Constraint>& constraints, bool volume = false) {
    PartitionOptions options;
    options.method = "metis";
    options.metis.constraints = constraints;
    options.metis.servers = GetParam().servers;
    options.metis.volume = volume;
    options.metis.balance = kTolerance;
    return partition_graph(graph_, GetParam().parts, options, split_);
  }
  double of_split(const Partition& p, Split role) const {
    return balance_of(p, [&](std::size_t v) { return split_[v] == role ? 1.0 : 0.0; });
  }
  static constexpr double kTolerance = 1.06;
  const Csr graph_ = grid();
  const std::vector<Split> split_ = skewed_split();
};

TEST_P(MetisConstraints, EachIsBalancedWithinTheTolerance) try {
  for (const bool volume : {false, true}) {
    const Partition p = cut({Constraint::vertices, Constraint::edges, Constraint::training,
                             Constraint::validation, Constraint::test},
                            volume);

    EXPECT_LE(balance_of(p, [](std::size_t) { return 1.0; }), kTolerance + 0.01);
    EXPECT_LE(balance_of(p,
                         [&](std::size_t v) {
                           return static_cast<double>(graph_.degree(static_cast<std::int64_t>(v)));
                         }),
              kTolerance + 0.01);
    for (const Split role : {Split::train, Split::validation, Split::test})
      EXPECT_LE(of_split(p, role), kTolerance + 0.01) << static_cast<int>(role);
  }
} catch (const NotBuilt& error) {
  GTEST_SKIP() << error.what();
}

/// The reason for the constraint: without it the parts that hold the corner have all of them.
TEST_P(MetisConstraints, WithoutThemTheTrainingVerticesAreSkewed) try {
  EXPECT_GT(of_split(cut({Constraint::work}), Split::train), 1.5);
} catch (const NotBuilt& error) {
  GTEST_SKIP() << error.what();
}

/// Types lie in runs of numbers, here in bands of the grid, which a cut would leave whole.
TEST_P(MetisConstraints, EachTypeIsBalancedWithinTheTolerance) try {
  const std::vector<std::int64_t> counts{kSide * 20, kSide * 8, kSide * 20};
  const auto of_type = [&](const Partition& p, std::int64_t first, std::int64_t count) {
    return balance_of(
        p, [&](std::size_t v) { return at(first) <= v && v < at(first + count) ? 1.0 : 0.0; });
  };
  PartitionOptions options;
  options.method = "metis";
  options.metis = {.servers = GetParam().servers,
                   .constraints = {Constraint::types, Constraint::edges},
                   .type_counts = counts,
                   .balance = kTolerance};
  const Partition p = partition_graph(graph_, GetParam().parts, options);

  std::int64_t first = 0;
  for (const std::int64_t count : counts) {
    EXPECT_LE(of_type(p, first, count), kTolerance + 0.01) << "from " << first;
    first += count;
  }
  EXPECT_GT(of_type(cut({Constraint::work}), 0, counts[0]), 1.5);
} catch (const NotBuilt& error) {
  GTEST_SKIP() << error.what();
}

INSTANTIATE_TEST_SUITE_P(Levels, MetisConstraints,
                         ::testing::Values(Levels{4, 1}, Levels{8, 1}, Levels{6, 2}, Levels{8, 4}),
                         [](const auto& level) {
                           return std::to_string(level.param.parts) + "On" +
                                  std::to_string(level.param.servers);
                         });

TEST(VertexWeights, CountDegreesWithoutLoopsAndRolesOfTheSplit) {
  // 0 - 1 - 2 and a loop at 1.
  const Csr graph = build_csr({3, {0, 1, 1, 2, 1}, {1, 0, 2, 1, 1}});
  const std::vector<Constraint> all{Constraint::work,     Constraint::vertices,   Constraint::edges,
                                    Constraint::training, Constraint::validation, Constraint::test};
  const VertexWeights weights =
      vertex_weights(graph, all, std::vector<Split>{Split::train, Split::validation, Split::test});

  EXPECT_EQ(weights.constraints, 6);
  EXPECT_EQ(weights.values, (std::vector<std::int32_t>{2, 1, 1, 1, 0, 0,     // vertex 0
                                                       3, 1, 2, 0, 1, 0,     // 1
                                                       2, 1, 1, 0, 0, 1}));  // 2
  EXPECT_EQ(balances(weights, std::vector<std::int32_t>{0, 0, 1}, 2),
            (std::vector<double>{10.0 / 7, 4.0 / 3, 6.0 / 4, 2, 2, 2}));
}

TEST(VertexWeights, TypesAreAConstraintEach) {
  const Csr graph = build_csr({4, {0, 1, 3}, {1, 0, 3}});
  const std::vector<Constraint> wanted{Constraint::types, Constraint::edges};
  const VertexWeights weights =
      vertex_weights(graph, wanted, {}, std::vector<std::int64_t>{1, 0, 3});

  EXPECT_EQ(weights.constraints, 4);
  EXPECT_EQ(weights.values, (std::vector<std::int32_t>{1, 0, 0, 1,     // vertex 0, of type 0
                                                       0, 0, 1, 1,     // 1 to 3: of type 2
                                                       0, 0, 1, 0,     //
                                                       0, 0, 1, 0}));  // its loop does not count
}

TEST(VertexWeights, WhatNoVertexHasCannotBeBalanced) {
  const Csr graph = build_csr({2, {0, 1}, {1, 0}});
  for (const auto& [constraint, why] :
       {std::pair{Constraint::training,
                  "\"training\" cannot be balanced: the data set has no such"},
        {Constraint::types,
         "\"types\" cannot be balanced: the vertices of the data set have no"}}) {
    try {
      vertex_weights(graph, std::vector<Constraint>{constraint}, {});
      ADD_FAILURE() << why;
    } catch (const ConfigError& error) {
      EXPECT_EQ(error.path, "partition.constraints");
      EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace orrery
