// What layers aggregate: drawn once for each vertex, the same for all targets, and cut into groups
// that fetch each row once.
#include "core/inference/layer_graphs.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/sample/sample_check.hpp"
#include "tests/support/problems.hpp"

namespace orrery {
namespace {

using testing::random_dataset;

ModelConfig sage() {
  ModelConfig model;
  model.type = ModelType::sage;
  return model;
}

LayerGraphs graphs_of(const Dataset& data, int parts, int fanout, int layers = 2,
                      std::uint64_t seed = 1) {
  return {all_rows(*data.graph, data.symmetric),
          sage(),
          {data.vertices(), parts, 1},
          {layers, fanout, seed}};
}

/// The rows of all parts put together again: entry (v, u) of A.
using Entries = std::map<std::pair<Vertex, Vertex>, float>;
Entries entries_of(const LayerGraphs& graphs, int layer, std::int64_t rows_per_group) {
  Entries all;
  const TileLayout& layout = graphs.layout();
  for (int p = 0; p < layout.row_parts; ++p) {
    const PartRows cut = graphs.cut(layer, p, rows_per_group);
    const std::int64_t first = layout.rows(p).first;
    const auto add = [&](const SparseMatrix& block, const std::vector<Vertex>* rows,
                         const auto& vertex_of) {
      for (std::int64_t r = 0; r < block.rows(); ++r) {
        const auto v = static_cast<Vertex>(first + (rows == nullptr ? r : (*rows)[at(r)]));
        for (std::size_t e = 0; e < block.csr().row(r).size(); ++e)
          EXPECT_TRUE(
              all.insert({{v, vertex_of(block.csr().row(r)[e])}, block.row_values(r)[e]}).second);
      }
    };
    add(cut.local, nullptr, [&](Vertex c) { return static_cast<Vertex>(first + c); });
    for (const RemoteGroup& group : cut.groups) {
      const Share theirs = layout.rows((p + group.shift) % layout.row_parts);
      EXPECT_EQ(group.rows ? group.rows->size() : layout.rows(p).count, group.block.rows());
      add(group.block, group.rows ? group.rows->numbers().get() : nullptr, [&](Vertex c) {
        return static_cast<Vertex>(theirs.first + (*cut.numbers.numbers())[at(group.first + c)]);
      });
    }
  }
  return all;
}

TEST(LayerGraphs, HaveTheRowsOfAHoweverTheyAreCut) {
  const auto data = random_dataset(50, 300, 3, 2, false);
  const SparseMatrix a = normalised_adjacency(*data, sage());
  Entries expected;
  for (std::int64_t v = 0; v < a.rows(); ++v)
    for (std::size_t e = 0; e < a.csr().row(v).size(); ++e)
      expected[{static_cast<Vertex>(v), a.csr().row(v)[e]}] = a.row_values(v)[e];

  for (const int parts : {1, 3, 50})
    for (const std::int64_t rows : {1, 4, 1000})
      EXPECT_EQ(entries_of(graphs_of(*data, parts, kAllNeighbours), 2, rows), expected);
}

/// A star: its middle has more neighbours than two bytes can say, and each of these has one.
TEST(LayerGraphs, WeighByTheDegreesOfColumnsHoweverLongTheyAre) {
  for (const Vertex leaves : {300, 70000}) {
    auto star = std::make_shared<Csr>();
    star->rows = star->cols = leaves + 1;
    star->offsets.assign({0, leaves});
    for (Vertex v = 1; v <= leaves; ++v) star->columns.push_back(v);
    for (Vertex v = 1; v <= leaves; ++v) {
      star->columns.push_back(0);
      star->offsets.push_back(leaves + v);
    }
    Dataset data;
    data.graph = star;
    data.symmetric = true;
    ModelConfig gcn;
    gcn.type = ModelType::gcn;
    const LayerGraphs graphs(all_rows(*star, true), gcn, {leaves + 1, 1, 1},
                             {1, kAllNeighbours, 1});

    const SparseMatrix got = graphs.cut(1, 0, 1000).local, want = normalised_adjacency(data, gcn);

    ASSERT_EQ(got.csr().columns, want.csr().columns);
    for (const std::int64_t v : {std::int64_t{0}, std::int64_t{1}, std::int64_t{leaves}})
      for (std::size_t e = 0; e < want.csr().row(v).size(); ++e)
        ASSERT_EQ(got.row_values(v)[e], want.row_values(v)[e]) << v << ", " << e;
  }
}

TEST(LayerGraphs, DrawForEachLayerAnewAndAlikeOnAnyNumberOfParts) {
  const auto data = random_dataset(50, 600, 3, 2, false);
  const LayerGraphs one = graphs_of(*data, 1, 4), four = graphs_of(*data, 4, 4);

  const Entries first = entries_of(one, 1, 1), second = entries_of(one, 2, 1);

  EXPECT_FALSE(one.alike());
  EXPECT_NE(first, second);
  EXPECT_EQ(entries_of(four, 1, 3), first);
  EXPECT_EQ(entries_of(four, 2, 3), second);
}

/// Rows of at most `fanout` neighbours are whole in every layer, others have exactly `fanout`.
TEST(LayerGraphs, TakeAtMostFanoutNeighboursAndAllOfShortRows) {
  const auto data = random_dataset(50, 300, 3, 2, false);
  const Csr graph = without_self_loops(*data->graph);
  const LayerGraphs graphs = graphs_of(*data, 3, 5);

  for (const int layer : {1, 2}) {
    std::map<Vertex, std::int64_t> counts;
    std::int64_t all = 0;
    for (const auto& [edge, value] : entries_of(graphs, layer, 2)) {
      ++counts[edge.first];
      ++all;
    }
    EXPECT_EQ(graphs.neighbours(layer), all);
    bool some_left_out = false;
    for (Vertex v = 0; v < 50; ++v) {
      EXPECT_EQ(counts[v], std::min<std::int64_t>(5, graph.degree(v)));
      some_left_out = some_left_out || graph.degree(v) > 5;
    }
    EXPECT_TRUE(some_left_out);
  }
}

/// Values of a mean stay 1 over the number of those that are averaged.
TEST(LayerGraphs, ScaleDrawnNeighboursSoThatSumsAreRightInTheMean) {
  const auto data = random_dataset(40, 800, 3, 2, false);
  for (const auto& [edge, value] : entries_of(graphs_of(*data, 2, 4), 1, 3))
    EXPECT_FLOAT_EQ(value, 0.25F);
}

TEST(LayerGraphs, DrawEverySetOfNeighboursEquallyOften) {
  const auto data = random_dataset(20, 200, 3, 2, false);
  const Csr graph = without_self_loops(*data->graph);
  std::vector<std::int64_t> draw, row, neighbour;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const LayerGraphs graphs = graphs_of(*data, 1, 3, 2, seed);
    for (const int layer : {1, 2})
      for (const auto& [edge, value] : entries_of(graphs, layer, 1)) {
        draw.push_back(static_cast<std::int64_t>(2 * seed) + layer - 1);
        row.push_back(edge.first);
        neighbour.push_back(edge.second);
      }
  }

  const SampleCheck found = check_samples(graph, {draw, row, neighbour}, {3, false});

  EXPECT_TRUE(found.was_tested);
  EXPECT_FALSE(found.is_wrong());
  EXPECT_FALSE(found.is_biased()) << found.each.p() << " " << found.pairs.p();
}

TEST(LayerGraphs, CountWhatPartsNeedOfEachOther) {
  const auto data = random_dataset(50, 300, 3, 2, false);
  const LayerGraphs graphs = graphs_of(*data, 4, 3);

  for (const int layer : {1, 2}) {
    std::map<std::pair<int, int>, std::set<Vertex>> needed;
    for (const auto& [edge, value] : entries_of(graphs, layer, 7)) {
      const int by = graphs.layout().part_of_vertex(edge.first),
                of = graphs.layout().part_of_vertex(edge.second);
      if (by != of) needed[{by, of}].insert(edge.second);
    }
    for (int by = 0; by < 4; ++by)
      for (int of = 0; of < 4; ++of)
        EXPECT_EQ(graphs.needed(layer, by, of), static_cast<std::int64_t>(needed[{by, of}].size()));
  }
}

/// Everybody asks in a round what another one serves in it, and nothing beyond a group's size.
TEST(LayerGraphs, AgreeOnTheRoundsOfAnExchange) {
  const auto data = random_dataset(60, 400, 3, 2, false);
  const LayerGraphs graphs = graphs_of(*data, 4, kAllNeighbours);

  for (const std::int64_t most : {1, 5, 1000}) {
    std::vector<std::vector<FetchRound>> rounds;
    for (int p = 0; p < 4; ++p) rounds.push_back(graphs.rounds(1, p, most));
    for (std::size_t p = 0; p < 4; ++p) {
      std::int64_t asked = 0, needed = 0;
      ASSERT_EQ(rounds[p].size(), rounds[0].size());
      for (std::size_t t = 0; t < rounds[p].size(); ++t) {
        const FetchRound& round = rounds[p][t];
        const auto owner = (p + at(round.shift)) % 4;
        EXPECT_EQ(rounds[owner][t].shift, round.shift);
        EXPECT_EQ(rounds[owner][t].served, round.asked);
        EXPECT_LE(round.asked, most);
        asked += round.asked;
      }
      for (int of = 0; of < 4; ++of) needed += graphs.needed(1, static_cast<int>(p), of);
      EXPECT_EQ(asked, needed);
    }
  }
}

/// Figures 8 and 11: of machine 0, whose rows are 0 to 3, the columns 5, 6 and 7 are remote; in groups of
/// two rows they are 5 and 6, and 7.
TEST(LayerGraphs, MakeTheGroupsOfDealsFigure11) {
  EdgeList list;
  list.vertices = 8;
  for (const auto& [to, from] : {std::pair{0, 1},
                                 {0, 2},
                                 {1, 5},
                                 {1, 0},
                                 {2, 3},
                                 {2, 7},
                                 {3, 6},
                                 {3, 5},
                                 {4, 1},
                                 {5, 4},
                                 {6, 2},
                                 {7, 6}}) {
    list.source.push_back(from);
    list.destination.push_back(to);
  }
  const LayerGraphs graphs(all_rows(build_csr(list), false), sage(), {8, 2, 2}, {1});

  const PartRows cut = graphs.cut(1, 0, 2);

  EXPECT_EQ(*cut.numbers.numbers(),
            (std::vector<Vertex>{1, 2, 3}));  // 5, 6, 7 as their owner counts them
  ASSERT_EQ(cut.groups.size(), 2U);
  EXPECT_EQ(cut.groups[0].count, 2);
  EXPECT_EQ(cut.groups[1].count, 1);
  EXPECT_EQ(cut.local.nnz(), 4);
  EXPECT_EQ(cut.groups[0].block.nnz(), 3);
  EXPECT_EQ(cut.groups[1].block.nnz(), 1);
}

TEST(LayerGraphs, KeepTheDrawsOfOnePartWhereAskedTo) {
  const auto data = random_dataset(50, 600, 3, 2, false);
  const TileLayout layout{50, 3, 1};
  const HeldRows rows = all_rows(*data->graph, false);
  const LayerGraphs all(rows, sage(), layout, {2, 4, 1}),
      second(rows, sage(), layout, {2, 4, 1, 1});

  const PartRows expected = all.cut(2, 1, 5), cut = second.cut(2, 1, 5);

  EXPECT_EQ(cut.local.csr(), expected.local.csr());
  EXPECT_EQ(*cut.numbers.numbers(), *expected.numbers.numbers());
  EXPECT_EQ(second.rounds(2, 0, 5), all.rounds(2, 0, 5));
}

}  // namespace
}  // namespace orrery
