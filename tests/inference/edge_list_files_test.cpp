// Files of edges read in ranges: every edge once, whatever the format and the number of ranks; a
// line that is no edge is reported with its place.
#include "core/inference/input/edge_list_files.hpp"

#include <gmock/gmock.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "backends/comm_threads/comm_threads.hpp"
#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/parallel.hpp"
#include "core/base/rng.hpp"
#include "core/graph/files/npy_header.hpp"
#include "core/graph/read/load.hpp"
#include "core/inference/held_rows.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class EdgeLists : public ::testing::Test {
 protected:
  static constexpr std::int64_t kVertices = 61;

  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / ("edge_lists" + std::to_string(::getpid()));
    fs::create_directories(folder_);
    Sequence draws(3, Purpose::edges, 0);
    const auto vertex = [&] { return static_cast<Vertex>(draws.below(kVertices)); };
    // With self-loops and duplicates; all numbers occur.
    for (Vertex v = 0; v < kVertices; ++v) edges_.push_back({v, vertex()});
    for (int i = 0; i < 700; ++i) edges_.push_back({vertex(), vertex()});
    edges_.push_back(edges_.front());
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string in(const std::string& name) const { return (folder_ / name).string(); }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(in(name), std::ios::binary) << bytes;
    return in(name);
  }
  template <class Number>
  static std::string numbers(const std::vector<Number>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Number)};
  }
  /// Source beside destination, or all sources first.
  template <class Number>
  std::string records(bool in_rows = true) const {
    std::vector<Number> values;
    for (const Edge& e : edges_) {
      values.push_back(static_cast<Number>(e.source));
      if (in_rows) values.push_back(static_cast<Number>(e.destination));
    }
    for (const Edge& e : edges_)
      if (!in_rows) values.push_back(static_cast<Number>(e.destination));
    return numbers(values);
  }
  std::string npy(const char* type, bool in_rows, const std::string& values) const {
    const std::int64_t n = std::ssize(edges_);
    return npy_header_bytes(
               type, in_rows ? std::vector<std::int64_t>{n, 2} : std::vector<std::int64_t>{2, n}) +
           values;
  }
  std::string text() const {
    std::string lines = "# a comment\n\n";
    for (const Edge& e : edges_)
      lines += std::to_string(e.source) + "\t" + std::to_string(e.destination) + " 7\n";
    lines.pop_back();  // the last line has no end
    return lines;
  }
  std::string packed(const std::string& name) const {
    gzFile file = gzopen(in(name).c_str(), "wb");
    const std::string lines = text();
    gzwrite(file, lines.data(), static_cast<unsigned>(lines.size()));
    gzclose(file);
    return in(name);
  }
  /// The same edges in every format.
  std::vector<EdgeListOptions> every_format() const {
    return {{{write("a.bin", records<std::uint32_t>())}, "uint32"},
            {{write("b.bin", records<std::uint64_t>())}, "uint64"},
            {{write("a.npy", npy("<i4", true, records<std::int32_t>()))}},
            {{write("b.npy", npy("<u4", false, records<std::uint32_t>(false)))}},
            {{write("c.npy", npy("<i8", false, records<std::int64_t>(false)))}, "npy"},
            {{write("d.npy", npy("<u8", true, records<std::uint64_t>()))}},
            {{write("a.txt", text())}},
            {{packed("a.txt.gz")}, "text"}};
  }
  /// Sorted pairs.
  static std::vector<std::pair<Vertex, Vertex>> pairs(const std::vector<Edge>& edges) {
    std::vector<std::pair<Vertex, Vertex>> all;
    for (const Edge& e : edges) all.emplace_back(e.source, e.destination);
    std::sort(all.begin(), all.end());
    return all;
  }
  static std::vector<Edge> read(const EdgeListFiles& files, int ranks, std::int64_t most) {
    std::vector<Edge> all, piece;
    for (int rank = 0; rank < ranks; ++rank) {
      const auto share = files.share(rank, ranks);
      for (share->next(most, piece); !piece.empty(); share->next(most, piece)) {
        EXPECT_LE(std::ssize(piece), most);
        all.insert(all.end(), piece.begin(), piece.end());
      }
    }
    return all;
  }
  /// The error of reading by three ranks.
  static std::string problem(const EdgeListOptions& options) {
    try {
      const EdgeListFiles files(options);
      std::vector<std::int64_t> edges(options.files.size(), 0);
      for (int rank = 0; rank < 3; ++rank) {
        const auto share = files.share(rank, 3);
        std::vector<Edge> piece;
        do share->next(50, piece);
        while (!piece.empty());
        for (std::size_t i = 0; i < edges.size(); ++i) edges[i] += share->edges_by_file()[i];
      }
      files.require_edges(edges);
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing";
  }

  fs::path folder_;
  std::vector<Edge> edges_;
};

TEST_F(EdgeLists, AreReadOnceEachByAnyNumberOfRanks) {
  const auto expected = pairs(edges_);
  for (const EdgeListOptions& options : every_format())
    for (const int ranks : {1, 2, 7, 900})
      for (const std::int64_t most : {3, 100000})
        ASSERT_EQ(pairs(read(EdgeListFiles(options), ranks, most)), expected)
            << options.files.front() << ", " << ranks << " ranks";
}

/// More records than a thread reads at once.
TEST_F(EdgeLists, OfManyRecordsComeInTheOrderOfTheFile) {
  const std::vector<Edge> few = edges_;
  while (edges_.size() < 150'000) edges_.insert(edges_.end(), few.begin(), few.end());
  const ThreadPool pool(3);
  for (const EdgeListOptions& options : every_format()) {
    const auto all = read(EdgeListFiles(options), 1, 140'001);
    ASSERT_EQ(all.size(), edges_.size()) << options.files.front();
    for (std::size_t i = 0; i < all.size(); ++i)
      ASSERT_EQ(std::pair(all[i].source, all[i].destination),
                std::pair(edges_[i].source, edges_[i].destination))
          << options.files.front() << ", edge " << i;
  }
}

TEST_F(EdgeLists, AreNamedByTheFirstOfManyThatIsNoEdge) {
  const std::vector<Edge> few = edges_;
  while (edges_.size() < 150'000) edges_.insert(edges_.end(), few.begin(), few.end());
  edges_[70'001].destination = edges_[140'000].source = 1000;
  const ThreadPool pool(3);
  for (EdgeListOptions options : every_format()) {
    if (options.files.front().find(".txt") != std::string::npos) continue;
    options.vertices = 1000;
    const EdgeListFiles files(options);
    std::vector<Edge> piece;
    try {
      files.share(0, 1)->next(1 << 20, piece);
      ADD_FAILURE() << options.files.front();
    } catch (const DataError& error) {
      EXPECT_THAT(error.what(), HasSubstr("edge 70001: expected vertices from 0 to 999"));
    }
  }
}

TEST_F(EdgeLists, OfSeveralFilesAreReadTogether) {
  EdgeListOptions all{{}, "auto"};
  std::vector<Edge> expected;
  for (const EdgeListOptions& options : every_format()) {
    if (options.format.starts_with("uint")) continue;
    all.files.push_back(options.files.front());
    expected.insert(expected.end(), edges_.begin(), edges_.end());
  }
  EXPECT_EQ(pairs(read(EdgeListFiles(all), 3, 64)), pairs(expected));
}

/// A second way: what one process reads from a list of edges as a data set.
TEST_F(EdgeLists, BecomeTheRowsThatTheOrdinaryReaderReads) {
  const Dataset whole = read_dataset(write("whole.txt", text()), "snap");
  ASSERT_EQ(whole.vertices(), kVertices);
  for (const EdgeListOptions& options : every_format())
    for (const bool mirrored : {false, true}) {
      const HeldRows expected =
          all_rows(mirrored ? symmetrise(*whole.graph) : *whole.graph, mirrored);
      const EdgeListFiles files(options);
      const auto alone = build_rows(*files.share(0, 1), mirrored, {kVertices, 1, 1}, 0, nullptr);
      EXPECT_EQ(*alone.csr, *expected.csr) << options.files.front();
      const TileLayout layout{kVertices, 3, 2};
      std::vector<HeldRows> rows(6);
      ThreadWorld(6).run([&](int rank, Communicator& communicator) {
        RowsCost cost;
        rows[at(rank)] =
            build_rows(*files.share(rank, 6), mirrored, layout, rank, &communicator, 40, &cost);
        EXPECT_GT(cost.peak_bytes, rows[at(rank)].csr->nnz() * 4);
      });
      for (int rank = 0; rank < 6; ++rank) {
        const HeldRows& mine = rows[at(rank)];
        EXPECT_EQ(mine.symmetric, mirrored);
        for (std::int64_t v = mine.rows.first; v < mine.rows.end(); ++v)
          ASSERT_TRUE(std::ranges::equal(mine.row(v), expected.row(v))) << v;
      }
    }
}

/// The peak that is told is what the arrays take: at most 16 bytes for an edge of the part, beside the
/// pieces.
TEST_F(EdgeLists, TakeAtMost16BytesAnEdgeOfTheirPart) {
  constexpr std::int64_t kMany = 300000, kPiece = 1000;
  std::vector<std::uint32_t> values;
  for (std::uint32_t i = 0; i < kMany; ++i)
    values.insert(values.end(), {i * 7919U % 5003U, i % 5003U});
  const EdgeListFiles files({{write("many.bin", numbers(values))}, "uint32"});
  ThreadWorld(3).run([&](int rank, Communicator& communicator) {
    RowsCost cost;
    const TileLayout layout{5003, 3, 1};
    build_rows(*files.share(rank, 3), false, layout, rank, &communicator, kPiece, &cost);
    EXPECT_LE(cost.peak_bytes, 16 * (kMany / 3 + 100) + 50 * kPiece + 3 * 8 * 5003);
    EXPECT_GE(cost.peak_bytes, 8 * (kMany / 3 - 100));
  });
}

TEST_F(EdgeLists, OfWideNumbersAreNeverCut) {
  const std::uint64_t wide = (std::uint64_t{1} << 32U) + 1;
  const std::vector<std::uint64_t> ids{0, 1, 2, wide};
  EXPECT_THAT(problem({{write("wide.bin", numbers(ids))}, "uint64"}),
              HasSubstr("edge 1: expected vertices from 0 to"));
  EXPECT_THAT(problem({{write("wide.bin", numbers(ids))}, "uint64"}), HasSubstr("4294967297"));
  const std::string array =
      npy_header_bytes("<u8", {2, 3}) + numbers(std::vector<std::uint64_t>{0, 1, 2, 2, wide, 0});
  EXPECT_THAT(problem({{write("wide.npy", array)}}), HasSubstr("found 1 and 4294967297"));
  EXPECT_THAT(problem({{write("wide.txt", "0 1\n2 4294967297\n")}}),
              HasSubstr("line 2: expected vertices from 0 to"));
  const std::string negative =
      npy_header_bytes("<i8", {1, 2}) + numbers(std::vector<std::int64_t>{4, -1});
  EXPECT_THAT(problem({{write("negative.npy", negative)}}), HasSubstr("found 4 and -1"));
}

TEST_F(EdgeLists, ThatAreNoneAreErrors) {
  using S = std::string;
  EXPECT_THAT(problem({{in("absent")}}), HasSubstr("cannot be opened"));
  EXPECT_THAT(problem({{folder_.string()}}), HasSubstr("is a folder"));
  EXPECT_THAT(problem({{write("empty.bin", "")}, "uint32"}),
              HasSubstr("expected edges, found none"));
  EXPECT_THAT(problem({{write("empty.txt", "")}}), HasSubstr("expected edges, found none"));
  EXPECT_THAT(problem({{write("remarks.txt", "# 0 1\n\n")}}),
              HasSubstr("expected edges, found none"));
  EXPECT_THAT(problem({{write("empty.npy", npy_header_bytes("<i4", {0, 2}))}}),
              HasSubstr("expected edges, found none"));
  EXPECT_THAT(problem({{write("short.bin", S(20, 'x'))}, "uint64"}),
              HasSubstr("byte 16: expected pairs of uint64 (16 bytes each), found 4 extra bytes"));
  EXPECT_THAT(problem({{write("some.bin", S(16, '\0'))}}),
              HasSubstr("nothing in it tells the width"));
  EXPECT_THAT(problem({{write("a.npy", npy_header_bytes("<i4", {1, 2}) + S(8, '\0'))}, "uint32"}),
              HasSubstr("set the format to npy"));
  EXPECT_THAT(problem({{write("f.npy", npy_header_bytes("<f4", {1, 2}) + S(8, '\0'))}}),
              HasSubstr("found '<f4'"));
  EXPECT_THAT(problem({{write("wide.npy", npy_header_bytes("<i4", {3, 3}) + S(36, '\0'))}}),
              HasSubstr("expected an array of shape [E, 2] or [2, E]"));
  EXPECT_THAT(problem({{write("square.npy", npy_header_bytes("<i4", {2, 2}) + S(16, '\0'))}}),
              HasSubstr("can be read in two ways"));
  EXPECT_THAT(problem({{write("words.txt", "0 1\n# more\n1 2\n2 x\n")}}),
              HasSubstr("line 4: expected a vertex number"));
  EXPECT_THAT(
      problem({{write("few.txt", "0 1\n1 9\n")}, "text", 9}),
      HasSubstr("line 2: expected vertices from 0 to 8 (dataset.edge_list.vertices), found 9"));
}

}  // namespace
}  // namespace orrery
