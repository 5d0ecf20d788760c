// Draws among edges that know their relations.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <tuple>

#include "core/base/rng.hpp"
#include "core/sample/neighbour_sampler.hpp"
#include "core/sample/stacked_relations.hpp"
#include "tests/sample/chi_square.hpp"

namespace orrery {
namespace {

constexpr Vertex kPapers = 20, kAuthors = 15, kVertices = kPapers + kAuthors;

/// Papers that cite papers and are written and reviewed by authors, who have edges of no relation. Some
/// papers cite themselves, and some authors review what they write.
TypedGraph small_graph() {
  TypedGraph typed;
  typed.types = {{"paper", 0, kPapers}, {"author", kPapers, kAuthors}};
  Sequence draws(5, Purpose::edges, 1);
  const auto add = [&](const std::string& source, const std::string& name, int edges) {
    const VertexType& from = *typed.type(source);
    std::vector<Vertex> sources, destinations;
    for (int e = 0; e < edges; ++e) {
      sources.push_back(
          static_cast<Vertex>(from.first + std::int64_t(draws.below(std::uint64_t(from.count)))));
      destinations.push_back(static_cast<Vertex>(draws.below(kPapers)));
    }
    typed.relations.push_back(
        {source, name, "paper",
         std::make_shared<const Csr>(build_csr(kVertices, sources, destinations))});
  };
  add("author", "writes", 120);
  add("paper", "cites", 150);
  add("author", "reviews", 90);
  return typed;
}

TEST(StackedRelations, HaveARowForEachVertexAndRelationIntoItsType) {
  const TypedGraph typed = small_graph();

  const StackedRelations stacked = stack(typed);

  EXPECT_EQ(stacked.rows.rows, 3 * kPapers);
  EXPECT_EQ(stacked.rows.cols, kVertices);
  EXPECT_EQ(stacked.most_relations(), 3);
  for (Vertex v = 0; v < kPapers; ++v) {
    const auto [first, count, type] = stacked.rows_of(v);
    ASSERT_EQ(count, 3);
    ASSERT_EQ(type, 0);
    for (int r = 0; r < 3; ++r) {
      std::vector<Vertex> want;
      for (const Vertex u : typed.relations[at(r)].graph->row(v))
        if (u != v) want.push_back(u);
      const auto row = stacked.rows.row(first + r);
      EXPECT_EQ(std::vector<Vertex>(row.begin(), row.end()), want);
    }
  }
  for (Vertex v = kPapers; v < kVertices; ++v) EXPECT_EQ(stacked.rows_of(v).count, 0);
}

TEST(StackedRelations, HaveTheValuesOfTheirEntries) {
  const TypedGraph typed = small_graph();
  const auto value_of = [](std::size_t relation, Vertex v, Vertex u) {
    return static_cast<float>(10000 * relation) + static_cast<float>(100 * v + u);
  };
  std::vector<std::vector<float>> values;
  for (std::size_t r = 0; r < 3; ++r) {
    values.emplace_back();
    for (Vertex v = 0; v < kVertices; ++v)
      for (const Vertex u : typed.relations[r].graph->row(v))
        values.back().push_back(value_of(r, v, u));
  }
  const StackedRelations stacked = stack(typed);

  const auto got = stack_values(typed, stacked, {values[0], values[1], values[2]});

  ASSERT_EQ(std::ssize(got), stacked.rows.nnz());
  for (Vertex v = 0; v < kPapers; ++v)
    for (int r = 0; r < 3; ++r) {
      const std::int64_t row = stacked.row_of(v, r);
      for (EdgeIndex e = stacked.rows.offsets[at(row)]; e < stacked.rows.offsets[at(row) + 1]; ++e)
        EXPECT_EQ(got[at(e)], value_of(at(r), v, stacked.rows.columns[at(e)]));
    }
}

// All sets of edges of a row are equally likely, whether it is a vertex's or a relation's. Counts of n
// edges of which k are drawn have the variance p·(1 − p) with p = k/n and are bound by their sum.
TEST(StackedRelations, AreDrawnFromWithEqualChances) {
  const StackedRelations stacked = stack(small_graph());
  constexpr int kDraws = 4000;
  for (const bool by_relation : {false, true}) {
    NeighbourSampling sampling{.fanouts = {2}};
    if (by_relation) sampling.by_relation.assign(3, sampling.fanouts);
    const NeighbourSampler sampler(stacked, sampling);
    auto scratch = sampler.scratch(kPapers);
    std::vector<Vertex> seeds(kPapers);
    std::iota(seeds.begin(), seeds.end(), Vertex{0});
    std::vector<int> times(at(stacked.rows.nnz()), 0);
    for (std::uint32_t draw = 0; draw < kDraws; ++draw) {
      const MessageFlow flow = sampler.sample(seeds, {7, draw, 0}, scratch, true);
      for (const EdgeIndex e : flow.edges[0]) ++times[at(e)];
    }
    double sum = 0, freedom = 0;
    const std::int64_t together = by_relation ? 1 : 3;
    for (std::int64_t row = 0; row < stacked.rows.rows; row += together) {
      const EdgeIndex begin = stacked.rows.offsets[at(row)],
                      end = stacked.rows.offsets[at(row + together)];
      const double n = double(end - begin), p = std::min(1.0, 2 / n);
      for (EdgeIndex e = begin; e < end; ++e) {
        if (p == 1)
          EXPECT_EQ(times[at(e)], kDraws);
        else
          sum += (times[at(e)] - kDraws * p) * (times[at(e)] - kDraws * p) /
                 (kDraws * p * (1 - p)) * (n - 1) / n;
      }
      if (p < 1) freedom += n - 1;
    }
    EXPECT_GT(freedom, 100);
    EXPECT_GT(testing::p_value(sum, freedom), 1e-4) << by_relation;
  }
}

/// The global edges of a flow's layer, by row of the vertex and number of its relation there.
std::vector<std::tuple<Vertex, std::int64_t, Vertex>> edges_of(const MessageFlow& flow, int layer,
                                                               const StackedRelations& stacked) {
  std::vector<std::tuple<Vertex, std::int64_t, Vertex>> edges;
  std::int64_t row = 0;
  for (std::int64_t i = 0; i < flow.rows[at(layer)]; ++i) {
    const Vertex v = flow.vertices[at(i)];
    for (std::int64_t k = 0; k < stacked.rows_of(v).count; ++k)
      for (const Vertex c : flow.blocks[at(layer - 1)].row(row++))
        edges.emplace_back(v, k, flow.vertices[at(c)]);
  }
  EXPECT_EQ(row, flow.blocks[at(layer - 1)].rows);
  std::sort(edges.begin(), edges.end());
  return edges;
}

TEST(StackedRelations, FlowsHaveTheSameEdgesInTheOrderOfTypes) {
  const StackedRelations stacked = stack(small_graph());
  const NeighbourSampler sampler(stacked, {.fanouts = {2, 1, 3}, .by_relation = {3, {2, 1, 3}}});
  auto scratch = sampler.scratch(kVertices);
  for (std::uint32_t draw = 0; draw < 50; ++draw) {
    const std::vector<Vertex> seeds{Vertex(draw % 18), 30, 18, 25, 23, 19};
    const MessageFlow flow = sampler.sample(seeds, {1, draw, 0}, scratch, true);
    MessageFlow ordered = flow;

    order_by_type(ordered, stacked);

    EXPECT_EQ(ordered.rows, flow.rows);
    for (int layer = 1; layer <= 3; ++layer) {
      EXPECT_EQ(edges_of(ordered, layer, stacked), edges_of(flow, layer, stacked));
      EXPECT_EQ(ordered.blocks[at(layer - 1)].cols, flow.rows[at(layer - 1)]);
      const std::vector<EdgeIndex>& positions = ordered.edges[at(layer - 1)];
      const Csr& block = ordered.blocks[at(layer - 1)];
      ASSERT_EQ(std::ssize(positions), block.nnz());
      for (std::size_t e = 0; e < positions.size(); ++e)
        EXPECT_EQ(stacked.rows.columns[at(positions[e])], ordered.vertices[at(block.columns[e])]);
    }
    std::int64_t begin = 0;
    for (auto end = ordered.rows.rbegin(); end != ordered.rows.rend(); begin = *end++) {
      EXPECT_TRUE(std::is_sorted(
          ordered.vertices.begin() + begin, ordered.vertices.begin() + *end,
          [&](Vertex a, Vertex b) { return stacked.type_of(a) < stacked.type_of(b); }));
      EXPECT_TRUE(std::is_permutation(ordered.vertices.begin() + begin,
                                      ordered.vertices.begin() + *end,
                                      flow.vertices.begin() + begin, flow.vertices.begin() + *end));
    }
  }
}

/// 30 vertices of one type, and so many relations between them, of up to 60 edges into each.
TypedGraph graph_of(int relations) {
  constexpr Vertex kCount = 30, kMost = 60;
  TypedGraph typed;
  typed.types = {{"v", 0, kMost + kCount}};
  Sequence draws(3, Purpose::edges, std::uint32_t(relations));
  for (int r = 0; r < relations; ++r) {
    std::vector<Vertex> sources, destinations;
    for (Vertex v = 0; v < kCount; ++v)
      for (auto u = Vertex(draws.below(kMost)); u < kMost; ++u) {
        sources.push_back(kCount + u);
        destinations.push_back(v);
      }
    typed.relations.push_back(
        {"v", "r" + std::to_string(r), "v",
         std::make_shared<const Csr>(build_csr(kMost + kCount, sources, destinations))});
  }
  return typed;
}

/// With relations a vertex takes what it takes without them; the picks are only told apart.
TEST(StackedRelations, DividePicksAsBruteForceDoesWhateverTheirNumbersAre) {
  for (const int relations : {1, 2, 4, 5, 8, 9, 12}) {
    const StackedRelations stacked = stack(graph_of(relations));
    Csr together = stacked.rows;  // the rows of a vertex as one
    together.rows = together.cols;
    for (std::int64_t v = 0; v <= together.rows; ++v)
      together.offsets[at(v)] = stacked.rows.offsets[at(v * relations)];
    together.offsets.resize(at(together.rows) + 1);
    std::vector<Vertex> seeds(30);
    std::iota(seeds.begin(), seeds.end(), Vertex{0});
    for (const NeighbourRule rule :
         {NeighbourRule::uniform, NeighbourRule::replacement, NeighbourRule::labor})
      for (const int fanout : {1, 5, 17, 255, 256, 300, kAllNeighbours}) {
        const NeighbourSampler sampler(stacked, {.fanouts = {fanout}, .rule = rule}),
            of_all(together, {.fanouts = {fanout}, .rule = rule});
        auto scratch = sampler.scratch(30), scratch_of_all = of_all.scratch(30);

        const MessageFlow flow = sampler.sample(seeds, {4, 1, 2}, scratch, true);

        const MessageFlow expected = of_all.sample(seeds, {4, 1, 2}, scratch_of_all, true);
        ASSERT_EQ(flow.blocks[0].rows, 30 * relations);
        for (std::int64_t row = 0; row < flow.blocks[0].rows; ++row) {
          const auto picked = [](const MessageFlow& of, std::int64_t first, std::int64_t end) {
            std::vector<EdgeIndex> picks(of.edges[0].begin() + first, of.edges[0].begin() + end);
            std::ranges::sort(picks);
            return picks;
          };
          const auto& all = expected.blocks[0].offsets;
          const std::int64_t v = row / relations;
          auto want = picked(expected, all[at(v)], all[at(v) + 1]);
          std::erase_if(want, [&](EdgeIndex e) {
            return e < stacked.rows.offsets[at(row)] || e >= stacked.rows.offsets[at(row) + 1];
          });
          ASSERT_EQ(
              picked(flow, flow.blocks[0].offsets[at(row)], flow.blocks[0].offsets[at(row) + 1]),
              want)
              << relations << " relations, fanout " << fanout << ", row " << row;
        }
      }
  }
}

TEST(StackedRelations, AllNeighboursAreAllEdges) {
  const StackedRelations stacked = stack(small_graph());
  const NeighbourSampler sampler(stacked, {.fanouts = {kAllNeighbours}});
  auto scratch = sampler.scratch(kVertices);
  std::vector<Vertex> seeds(kVertices);
  std::iota(seeds.begin(), seeds.end(), Vertex{0});

  const MessageFlow flow = sampler.sample(seeds, {}, scratch);

  EXPECT_EQ(flow.blocks[0], stacked.rows);
}

}  // namespace
}  // namespace orrery
