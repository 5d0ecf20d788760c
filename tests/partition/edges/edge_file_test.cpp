#include "core/partition/edges/edge_file.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>

#include "core/base/error.hpp"
#include "core/graph/files/npy.hpp"
#include "core/partition/methods/cut.hpp"
#include "core/partition/partition_options.hpp"
#include "tests/partition/graphs.hpp"
#include "tests/support/peak_memory.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;

class EdgeFile : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              ("orrery_edge_file_" +
               std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return (folder_ / name).string();
  }
  static std::vector<Edge> read(EdgeStream& stream) {
    std::vector<Edge> edges;
    stream.rewind();
    for (auto block = stream.next(); !block.empty(); block = stream.next())
      edges.insert(edges.end(), block.begin(), block.end());
    return edges;
  }
  static std::string refusal(const std::string& file) {
    try {
      const auto stream = open_edge_file(file);
      read(*stream);
    } catch (const DataError& error) {
      return std::string(error.what()).substr(file.size());
    }
    return "accepted";
  }
  static void expect_equal(const std::vector<Edge>& a, const std::vector<Edge>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i)
      ASSERT_TRUE(a[i].source == b[i].source && a[i].destination == b[i].destination) << i;
  }

  fs::path folder_;
};

/// More edges than a block holds, in no order, through each format and twice.
TEST_F(EdgeFile, EveryFormatGivesTheEdgesInTheOrderOfTheFile) {
  const std::vector<Edge> edges = random_edges(5000, kStreamBlock + 1000, 2);
  ListedEdges listed(edges, 0, 777);
  write_edge_file(listed, folder_ / "edges.bin");
  std::string text = "# two numbers per line\n";
  for (const auto& [u, v] : edges) text += std::to_string(u) + "\t" + std::to_string(v) + " 1\n";
  write("edges.txt", text);
  gzFile gz = gzopen((folder_ / "edges.txt.gz").c_str(), "wb1");
  gzwrite(gz, text.data(), static_cast<unsigned>(text.size()));
  gzclose(gz);
  auto npy = NpyWriter::create<std::int32_t>(folder_ / "edges.npy",
                                             {2, static_cast<std::int64_t>(edges.size())});
  for (const bool second : {false, true})
    for (const auto& [u, v] : edges) npy.append(std::span<const std::int32_t>(second ? &v : &u, 1));
  npy.close();

  for (const char* name : {"edges.bin", "edges.txt", "edges.txt.gz", "edges.npy"}) {
    SCOPED_TRACE(name);
    const auto stream = open_edge_file(folder_ / name);
    expect_equal(read(*stream), edges);
    expect_equal(read(*stream), edges);
  }
}

TEST_F(EdgeFile, CutFromAFileIsTheCutFromMemory) {
  const NamedGraph graph{"random", 400, random_edges(400, 3000, 8)};
  const Csr csr = symmetric_csr(graph);
  CsrEdges rows(csr);
  write_edge_file(rows, folder_ / "edges.edges");
  const auto file = open_edge_file(folder_ / "edges.edges");
  PartitionOptions options;
  options.seed = 3;
  for (const std::string method : {"hash", "dbh", "powergraph", "hdrf", "2ps-l", "spring"}) {
    options.method = method;

    EXPECT_EQ(cut_stream(*file, 6, options).partition.owner,
              cut_graph(csr, 6, options).partition.owner)
        << method;
  }
}

TEST_F(EdgeFile, BinaryProblemsAreToldWithTheirPlace) {
  const std::int32_t numbers[] = {1, 2, 3, -4, 5, 2147483647};
  const auto bytes = [&](std::size_t first, std::size_t count) {
    return std::string(reinterpret_cast<const char*>(numbers + first), 4 * count);
  };

  EXPECT_EQ(refusal(write("cut.bin", bytes(0, 2) + "abc")),
            ":byte 8: expected pairs of int32 (8 bytes each), found 3 extra bytes: the file is "
            "cut short or has another format");
  EXPECT_EQ(refusal(write("id.bin", bytes(0, 4))),
            ":edge 1: expected vertex numbers from 0 to 1050175 in a file of its size (every "
            "number up to the largest takes memory), found 3 and 4294967292");
  EXPECT_EQ(refusal(write("high.bin", bytes(0, 2) + bytes(4, 2))),
            ":edge 1: expected vertex numbers from 0 to 1050175 in a file of its size (every "
            "number up to the largest takes memory), found 5 and 2147483647");
  EXPECT_EQ(refusal((folder_ / "none.bin").string()),
            ": cannot be opened: No such file or directory");
  EXPECT_EQ(refusal(write("short.npy", std::string("\x93NUMPY\x01\x00", 8) + "rest")),
            ":byte 12: expected a header of 25980 bytes, found the end of the file");
  const std::string header = npy_header_bytes("<i4", {2, 3});
  EXPECT_EQ(refusal(write("cut.npy", header + bytes(0, 5))),
            ":byte 148: expected 24 bytes of data for [2, 3] of type <i4, found 20 (the file is "
            "cut short)");
  EXPECT_EQ(refusal(write("flat.npy", npy_header_bytes("<i4", {2}) + bytes(0, 2))),
            ":byte 10: expected shape [2, any], found [2]");
  EXPECT_EQ(refusal(write("empty.bin", "")), "accepted");
}

TEST_F(EdgeFile, TextProblemsAreToldWithTheirLine) {
  EXPECT_EQ(refusal(write("a.txt", "0 1\n\n2 x\n")),
            ":line 3: expected a vertex number, found 'x'");
  EXPECT_EQ(refusal(write("b.txt", "0 1\n3")),
            ":line 2: expected a vertex number, found the end of the line");
  EXPECT_EQ(refusal(write("c.txt", "0 1\n3 4294967296\n")),
            ":line 2: expected a vertex number below 2147483647, found '4294967296'");
  EXPECT_EQ(refusal(write("d.txt", "0 1\n3 4")), "accepted");
  std::string whole;
  {
    gzFile gz = gzopen((folder_ / "e.gz").c_str(), "wb");
    for (const auto& [u, v] : random_edges(1000, 20000, 1))
      gzprintf(gz, "%d %d\n", static_cast<int>(u), static_cast<int>(v));
    gzclose(gz);
    std::ifstream in(folder_ / "e.gz", std::ios::binary);
    whole.assign(std::istreambuf_iterator<char>(in), {});
  }
  EXPECT_NE(refusal(write("e.gz", whole.substr(0, whole.size() / 2)))
                .find("expected more gzip data, found the end of the file (it is cut short)"),
            std::string::npos);
  EXPECT_EQ(refusal(write("two.gz", whole + whole)), "accepted");
  EXPECT_EQ(refusal(write("behind.gz", whole + "0 1\n")),
            fmt::format(":byte {}: expected gzip data, found damage (incorrect header check)",
                        whole.size() + 2));
}

/// A stream that is made as it is read, so that only the partitioner's memory grows.
class Endless final : public EdgeStream {
 public:
  void rewind() override { next_ = 0; }
  std::span<const Edge> next() override {
    constexpr std::int64_t kEdges = 6'000'000;
    block_.clear();
    for (; block_.size() < kStreamBlock && next_ < kEdges; ++next_) {
      const auto bits = random_bits(1, Purpose::edges, static_cast<std::uint32_t>(next_));
      block_.push_back(
          {static_cast<Vertex>(bits[0] % kVertices), static_cast<Vertex>(bits[1] % kVertices)});
    }
    return block_;
  }
  static constexpr std::uint32_t kVertices = 1 << 20;

 private:
  std::int64_t next_ = 0;
  std::vector<Edge> block_;
};

TEST(StreamMemory, SpringStaysWithinFortyBytesPerVertex) {
  const testing::PeakMemory peak;
  if (!peak.unknown().empty()) GTEST_SKIP() << peak.unknown();
  Endless edges;
  PartitionOptions options;
  options.method = "spring";
  const StreamCut cut = cut_stream(edges, 16, options);
  const std::int64_t used = peak.bytes();

  EXPECT_EQ(cut.partition.owner.size(), Endless::kVertices);
  EXPECT_LE(used, 42 * std::int64_t{Endless::kVertices} + (8 << 20)) << used;  // 40 + 16/8
  EXPECT_GE(used, 8 * std::int64_t{Endless::kVertices}) << "the peak was not measured";
}

}  // namespace
}  // namespace orrery
