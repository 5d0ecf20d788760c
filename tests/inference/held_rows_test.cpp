// Ranks that each read a range of the edges end up with the rows that one process reads.
#include "core/inference/held_rows.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <mutex>

#include "backends/comm_threads/comm_threads.hpp"
#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/rng.hpp"
#include "core/graph/files/npy.hpp"
#include "core/inference/layer_graphs.hpp"
#include "tests/support/peak_memory.hpp"

namespace orrery {
namespace {

constexpr std::int64_t kHeldVertices = 53;

/// Edges in memory, with duplicates and self-loops.
class EdgesInMemory final : public EdgeSource {
 public:
  explicit EdgesInMemory(std::int64_t edges) {
    Sequence draws(7, Purpose::edges, 0);
    const auto vertex = [&] { return static_cast<Vertex>(draws.below(kHeldVertices)); };
    for (std::int64_t i = 0; i < edges; ++i) edges_.push_back({vertex(), vertex()});
  }
  std::int64_t size() const override { return static_cast<std::int64_t>(edges_.size()); }
  void read(std::int64_t first, std::int64_t count, std::vector<Edge>& into) override {
    into.assign(edges_.begin() + first, edges_.begin() + first + count);
  }
  Csr graph(bool mirrored) const {
    EdgeList list;
    list.vertices = kHeldVertices;
    for (const Edge& e : edges_) {
      list.source.push_back(e.source);
      list.destination.push_back(e.destination);
    }
    const Csr csr = build_csr(list);
    return mirrored ? symmetrise(csr) : csr;
  }

 private:
  std::vector<Edge> edges_;
};

/// The rows that each rank builds, by rank.
std::vector<HeldRows> built(const EdgesInMemory& edges, bool mirrored, const TileLayout& layout,
                            std::int64_t chunk) {
  std::vector<HeldRows> all(at(layout.ranks()));
  ThreadWorld(layout.ranks()).run([&](int rank, Communicator& communicator) {
    EdgesInMemory mine = edges;
    all[at(rank)] = build_rows(mine, mirrored, layout, rank, communicator, chunk);
  });
  return all;
}

TEST(HeldRows, AreExactOnAnyNumberOfRanks) {
  for (const std::int64_t size : {0, 1, 700})
    for (const bool mirrored : {false, true}) {
      const EdgesInMemory edges(size);
      const HeldRows whole = all_rows(edges.graph(mirrored), mirrored || size == 0);
      for (const auto& [parts, shares] :
           {std::pair{1, 1}, std::pair{4, 1}, std::pair{1, 3}, std::pair{3, 2}, std::pair{5, 2}})
        for (const std::int64_t chunk : {7, 100000}) {
          const TileLayout layout{kHeldVertices, parts, shares};
          const auto all = built(edges, mirrored, layout, chunk);
          for (int rank = 0; rank < layout.ranks(); ++rank) {
            const HeldRows& rows = all[at(rank)];
            EXPECT_EQ(rows.rows, layout.rows(layout.part_of(rank)));
            EXPECT_EQ(rows.symmetric, is_symmetric(*whole.csr));
            for (std::int64_t v = rows.rows.first; v < rows.rows.end(); ++v)
              EXPECT_TRUE(std::ranges::equal(rows.row(v), whole.row(v))) << v;
            for (std::int64_t v = 0; v < kHeldVertices; ++v)
              EXPECT_EQ(rows.degree(v), whole.degree(v));
          }
        }
    }
}

/// Edges that nobody keeps, hardly any of them twice.
class ManyEdges final : public EdgeSource {
 public:
  explicit ManyEdges(std::int64_t edges) : edges_(edges) {}
  std::int64_t size() const override { return edges_; }
  void read(std::int64_t first, std::int64_t count, std::vector<Edge>& into) override {
    into.clear();
    for (std::int64_t i = first; i < first + count; ++i)
      into.push_back(
          {static_cast<Vertex>((i * 7919 + i / kMany) % kMany), static_cast<Vertex>(i % kMany)});
  }
  static constexpr std::int64_t kMany = 100003;

 private:
  std::int64_t edges_;
};

/// If the ranks of a part exchange their edges, each holds those of all, and of what travels a piece.
TEST(HeldRows, OfAPartOfTwoRanksTakeAtMost14BytesAnEdgeWhileTheyAreBuilt) {
  constexpr std::int64_t kEdges = 1 << 23;
  const testing::PeakMemory memory;
  if (const std::string why = memory.unknown(); !why.empty()) GTEST_SKIP() << why;

  ThreadWorld(2).run([&](int rank, Communicator& communicator) {
    ManyEdges edges(kEdges);
    build_rows(edges, false, {ManyEdges::kMany, 1, 2}, rank, communicator, 1 << 12);
  });

  EXPECT_LT(memory.bytes(), 14 * 2 * kEdges);
}

/// Ranks of several processes draw and count, and cut, what one process does for all.
TEST(HeldRows, OfOnePartAreEnoughForItsLayers) {
  const EdgesInMemory edges(700);
  const TileLayout layout{kHeldVertices, 3, 2};
  ModelConfig model;
  const LayerGraphs whole(all_rows(edges.graph(true), true), model, layout, {2, 5, 1});
  const auto shares = built(edges, true, layout, 50);

  // First what each part counts, then the same with the sum.
  std::vector<std::int64_t> sum;
  const auto counted = [&](int rank, const auto& add_up) {
    return LayerGraphs(shares[at(rank)], model, layout, {2, 5, 1, layout.part_of(rank), add_up});
  };
  for (const int rank : {0, 2, 4})
    counted(rank, [&](std::vector<std::int64_t>& counts) {
      sum.resize(counts.size());
      for (std::size_t i = 0; i < counts.size(); ++i) sum[i] += counts[i];
    });
  for (int rank = 0; rank < 6; ++rank) {
    const LayerGraphs mine =
        counted(rank, [&](std::vector<std::int64_t>& counts) { counts = sum; });
    const int part = layout.part_of(rank);
    EXPECT_FALSE(mine.alike());
    for (const int layer : {1, 2}) {
      EXPECT_EQ(mine.neighbours(layer), whole.neighbours(layer));
      EXPECT_EQ(mine.rounds(layer, part, 4), whole.rounds(layer, part, 4));
      const PartRows a = mine.cut(layer, part, 4), b = whole.cut(layer, part, 4);
      EXPECT_EQ(a.local.csr(), b.local.csr());
      EXPECT_EQ(*a.local.values, *b.local.values);
      ASSERT_EQ(a.groups.size(), b.groups.size());
      for (std::size_t g = 0; g < a.groups.size(); ++g) {
        EXPECT_EQ(a.groups[g].block.csr(), b.groups[g].block.csr());
        EXPECT_EQ(*a.groups[g].block.values, *b.groups[g].block.values);
      }
    }
  }
}

TEST(NpyEdges, ReadsRangesAndTellsWhatIsNoVertex) {
  const std::filesystem::path file =
      std::filesystem::path(::testing::TempDir()) / ("edges" + std::to_string(::getpid()) + ".npy");
  NpyWriter writer = NpyWriter::create<std::int32_t>(file, {2, 4});
  const std::vector<std::int32_t> values{0, 1, 2, 9, 4, 3, 2, 1};
  writer.append(std::span<const std::int32_t>(values));
  writer.close();

  NpyEdges edges(file, 9);
  std::vector<Edge> piece;
  edges.read(1, 2, piece);
  EXPECT_EQ(edges.size(), 4);
  ASSERT_EQ(piece.size(), 2U);
  EXPECT_EQ(piece[0].source, 1);
  EXPECT_EQ(piece[0].destination, 3);
  EXPECT_EQ(piece[1].source, 2);
  EXPECT_EQ(piece[1].destination, 2);
  try {
    edges.read(0, 4, piece);
    ADD_FAILURE() << "9 is no vertex";
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("edge 3: expected vertices from 0 to 8, found 9"),
              std::string::npos)
        << error.what();
  }
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace orrery
