// The parts of a vertex cut and what they exchange, against brute force over the fragments.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/base/index.hpp"
#include "core/model/adjacency.hpp"
#include "core/runtime/summary.hpp"
#include "core/strategy/make_strategy.hpp"
#include "core/strategy/train/record.hpp"
#include "core/strategy/vertex_cut_parts.hpp"
#include "tests/support/problems.hpp"

namespace orrery {
namespace {

using testing::execute;
using ::testing::HasSubstr;
using testing::losses;
using testing::random_dataset;

using Entries = std::map<std::pair<Vertex, Vertex>, float>;

Problem on_fragments(const std::shared_ptr<const Dataset>& data, int ranks,
                     const std::string& method) {
  StrategyConfig config;
  config.type = "vertex_cut";
  config.cross_edges = CrossEdges::as_cut;
  Problem problem = testing::make_problem(data, ranks, config);
  problem.partition = cut_into_fragments(*data->graph, ranks, {method, "", testing::kSeed});
  return problem;
}

/// The global vertices of a part's rows: own ones, or mirrors by owner.
std::vector<Vertex> mirrors_of(const std::set<Vertex>& held, const Partition& partition, int part) {
  std::vector<Vertex> mirrors;
  for (int owner = 0; owner < partition.parts; ++owner)
    for (const Vertex v : held)
      if (owner != part && partition.owner[at(v)] == owner) mirrors.push_back(v);
  return mirrors;
}

void add_entries(const SparseMatrix& block, const std::vector<Vertex>& rows,
                 const std::vector<Vertex>& columns, Entries& entries) {
  ASSERT_EQ(block.rows(), std::ssize(rows));
  ASSERT_EQ(block.cols(), std::ssize(columns));
  for (std::int64_t r = 0; r < block.rows(); ++r) {
    const auto row = block.csr().row(r);
    for (std::size_t e = 0; e < row.size(); ++e) {
      const bool first =
          entries.emplace(std::pair(rows[at(r)], columns[at(row[e])]), block.row_values(r)[e])
              .second;
      EXPECT_TRUE(first) << "an entry is in two places";
    }
  }
}

Entries entries_of(const SparseMatrix& a) {
  Entries entries;
  std::vector<Vertex> all;
  for (std::int64_t v = 0; v < a.rows(); ++v) all.push_back(static_cast<Vertex>(v));
  add_entries(a, all, all, entries);
  return entries;
}

/// The ranks that have each vertex, from the parts themselves.
std::vector<std::set<Vertex>> held_by(const VertexCutParts& parts, const Partition& partition,
                                      const SparseMatrix& a) {
  std::vector<std::set<Vertex>> held(at(partition.parts));
  for (std::int64_t v = 0; v < a.rows(); ++v)
    held[at(partition.owner[at(v)])].insert(static_cast<Vertex>(v));
  for (int part = 0; part < partition.parts; ++part) {
    EXPECT_EQ(std::ssize(*parts.own(part)), std::ssize(held[at(part)]));
    for (const auto& [source, destination] : (*partition.fragments)[at(part)])
      held[at(part)].insert({source, destination});
  }
  return held;
}

struct Cut {
  std::string method;
  int ranks;
  bool symmetric;
};

class VertexCuts : public ::testing::TestWithParam<Cut> {};

/// Both directions of an edge are in one fragment here, so fragments say who has a vertex.
TEST_P(VertexCuts, HaveEveryEntryOfTheMatrixOnce) {
  const auto& [method, ranks, symmetric] = GetParam();
  const Problem problem = on_fragments(random_dataset(61, 260, 6, 3, symmetric), ranks, method);
  const SparseMatrix a = normalised_adjacency(*problem.data, problem.model);
  const VertexCutParts parts(a, problem.partition);
  const auto held = held_by(parts, problem.partition, a);
  Entries entries;
  std::int64_t copies = 0;
  for (int p = 0; p < ranks; ++p) {
    const VertexCutPart part = parts.part(p);
    const std::vector<Vertex>& own = *parts.own(p);
    const std::vector<Vertex> mirrors = mirrors_of(held[at(p)], problem.partition, p);
    copies += std::ssize(held[at(p)]);
    ASSERT_NO_FATAL_FAILURE(add_entries(part.blocks.own, own, own, entries));
    ASSERT_NO_FATAL_FAILURE(add_entries(part.blocks.own_from_mirrors, own, mirrors, entries));
    ASSERT_NO_FATAL_FAILURE(add_entries(part.blocks.mirrors_from_own, mirrors, own, entries));
    ASSERT_NO_FATAL_FAILURE(add_entries(part.blocks.mirrors, mirrors, mirrors, entries));
    for (int other = 0; other < ranks; ++other)
      EXPECT_EQ((*part.mirrors)[at(other)], (*parts.part(other).mirrored)[at(p)]);
    EXPECT_EQ(part.sent(),
              std::accumulate(part.mirrored->begin(), part.mirrored->end(), std::int64_t{0}));
  }

  EXPECT_EQ(entries, entries_of(a));
  EXPECT_DOUBLE_EQ(parts.replication_factor(), static_cast<double>(copies) / 61);
}

/// A row out to every mirror, and a sum back from it, once a product; nothing else but gradients.
TEST_P(VertexCuts, ReceiveARowForEachMirrorAndEachMirrorOfTheirOwn) {
  const auto& [method, ranks, symmetric] = GetParam();
  Problem problem = on_fragments(random_dataset(61, 260, 24, 3, symmetric), ranks, method);
  problem.model.type = ModelType::gcn;
  problem.model.layers = 2;
  problem.model.hidden = 16;
  problem.strategy.first_layer = FirstLayer::recompute;
  problem.train.epochs = 1;
  std::vector<std::set<Vertex>> held(at(ranks));
  for (int p = 0; p < ranks; ++p) {
    for (const auto& [source, destination] : (*problem.partition.fragments)[at(p)])
      held[at(p)].insert({source, destination});
  }
  // W first in both layers: widths 16 and 3, forward and backward.
  constexpr double kWidths = 2 * (16 + 3), kParameters = 24 * 16 + 16 + 16 * 3 + 3;

  const auto programs = record_training(*make_strategy(problem), problem, 1, {});

  double received = 0, copies = 0;
  for (int p = 0; p < ranks; ++p) {
    double rows = 0;
    for (int other = 0; other < ranks; ++other)
      for (const Vertex v : held[at(other)]) {
        const int owner = problem.partition.owner[at(v)];
        if (owner == other) continue;
        rows += (other == p ? 1 : 0) + (owner == p ? 1 : 0);
      }
    copies += rows;
    const auto sum = summarise(programs[at(p)], Placement::uniform(1, ranks)).epoch.sum();
    received += sum.internal;
    EXPECT_NEAR(sum.internal, 4 * kWidths * rows + 2 * 4 * kParameters * (ranks - 1) / ranks, 1e-3)
        << "rank " << p;
  }
  const double rf = 1 + copies / 2 / 61;  // every vertex has an edge, and so is in a fragment
  EXPECT_NEAR(received, 4 * kWidths * 2 * (rf - 1) * 61 + 8 * kParameters * (ranks - 1), 1e-2);
}

TEST_P(VertexCuts, LearnWithEdgeWeightsWhatOneRankLearns) {
  const auto& [method, ranks, symmetric] = GetParam();
  const auto data = random_dataset(61, 260, 6, 3, symmetric);
  Problem alone = testing::make_problem(data, 1, "full_graph");
  testing::add_edge_weights(alone);
  const auto want = losses(execute(alone));
  for (const bool overlap : {true, false}) {
    Problem problem = on_fragments(data, ranks, method);
    problem.edge_weights = alone.edge_weights;
    problem.strategy.overlap = overlap;
    const auto got = losses(execute(problem));
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-4 * want[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(All, VertexCuts,
                         ::testing::Values(Cut{"dbh", 2, true}, Cut{"dbh", 3, true},
                                           Cut{"dbh", 5, false}, Cut{"dbh", 1, true}),
                         [](const auto& cut) {
                           return cut.param.method + std::to_string(cut.param.ranks) +
                                  (cut.param.symmetric ? "Symmetric" : "Directed");
                         });

/// hdrf may give the two directions of an edge to two parts.
TEST(VertexCut, OfAnEdgeInTwoFragmentsKeepsBothDirectionsTogether) {
  const Problem problem = on_fragments(random_dataset(61, 260, 6, 3, true), 4, "hdrf");
  std::map<std::pair<Vertex, Vertex>, int> fragments;
  for (const auto& edges : *problem.partition.fragments)
    for (const auto& [source, destination] : edges) ++fragments[{source, destination}];
  ASSERT_TRUE(std::ranges::any_of(fragments, [](const auto& f) { return f.second > 1; }));
  const SparseMatrix a = normalised_adjacency(*problem.data, problem.model);
  const VertexCutParts parts(a, problem.partition);
  std::int64_t entries = 0;

  for (int p = 0; p < 4; ++p) {
    const CutBlocks blocks = parts.part(p).blocks;
    EXPECT_EQ(transpose(blocks.own).csr(), blocks.own.csr());
    EXPECT_EQ(transpose(blocks.mirrors).csr(), blocks.mirrors.csr());
    EXPECT_EQ(transpose(blocks.own_from_mirrors).csr(), blocks.mirrors_from_own.csr());
    EXPECT_EQ(*transpose(blocks.own_from_mirrors).values, *blocks.mirrors_from_own.values);
    entries += blocks.own.nnz() + 2 * blocks.own_from_mirrors.nnz() + blocks.mirrors.nnz();
  }
  EXPECT_EQ(entries, a.nnz());
}

TEST(VertexCut, RefusesACutOfVerticesAndATape) {
  Problem problem = on_fragments(random_dataset(20, 60, 4, 3, true), 2, "dbh");
  problem.partition.fragments = nullptr;
  EXPECT_THAT(testing::refusal(problem), HasSubstr("needs the edges of each part"));

  StrategyConfig taped = problem.strategy;
  taped.memory = Memory::autograd;
  try {
    require_possible(taped, problem.model);
    FAIL() << "accepted";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("use \"lean\""));
  }
}

}  // namespace
}  // namespace orrery
