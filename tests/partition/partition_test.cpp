#include "core/partition/partition.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <numeric>

#include "core/base/error.hpp"
#include "core/partition/methods/cut.hpp"

namespace orrery {
namespace {

/// Two cliques of eight joined by one edge: the obvious cut is that edge.
Csr two_cliques() {
  EdgeList edges;
  edges.vertices = 16;
  for (Vertex v = 0; v < 16; ++v)
    for (Vertex u = 0; u < 16; ++u)
      if (u != v && (u % 2 == v % 2 || u + v == 1)) {
        edges.source.push_back(u);
        edges.destination.push_back(v);
      }
  return build_csr(edges);
}

/// Path 0 - 1 - 2 - 3, cut in the middle: each part holds its two vertices and one of the other.
TEST(Partition, ReplicationCountsCompleteNeighbourhoods) {
  const Csr path = build_csr({4, {0, 1, 1, 2, 2, 3}, {1, 0, 2, 1, 3, 2}});

  EXPECT_EQ(replication_factor(path, {2, {0, 0, 1, 1}}), 6.0 / 4);
  EXPECT_EQ(replication_factor(path, {2, {0, 1, 0, 1}}), 8.0 / 4);
  EXPECT_EQ(replication_factor(path, {1, {0, 0, 0, 0}}), 1.0);
}

TEST(Partition, BlocksAreRunsOfNearlyEqualLength) {
  const Partition p = partition_graph(two_cliques(), 3, {"block", "", 0});

  EXPECT_EQ(p.owner, (std::vector<std::int32_t>{0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2}));
}

TEST(Partition, RandomIsBalancedCompleteAndFixedByTheSeed) {
  const Csr graph = two_cliques();
  const Partition p = partition_graph(graph, 5, {"random", "", 1});

  EXPECT_EQ(p.owner, partition_graph(graph, 5, {"random", "", 1}).owner);
  EXPECT_NE(p.owner, partition_graph(graph, 5, {"random", "", 2}).owner);
  std::size_t vertices = 0;
  for (const auto& part : p.members()) {
    EXPECT_GE(part.size(), 3U);
    EXPECT_LE(part.size(), 4U);
    EXPECT_TRUE(std::is_sorted(part.begin(), part.end()));
    vertices += part.size();
  }
  EXPECT_EQ(vertices, 16U);
}

TEST(Partition, TrainingBlocksAreRunsOfEqualTrainingVertices) {
  const Csr graph = build_csr({11, {}, {}});
  const Split t = Split::train, o = Split::test;

  const Partition p = partition_graph(graph, 3, {"training_block", "", 0},
                                      std::vector{o, t, o, t, t, t, o, o, t, t, o});

  EXPECT_EQ(p.owner, (std::vector<std::int32_t>{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2}));
  EXPECT_THROW(partition_graph(graph, 3, {"training_block", "", 0}, std::vector(11, o)),
               ConfigError);
}

TEST(Partition, MorePartsThanVerticesLeavesSomeEmpty) {
  const Partition p = partition_graph(build_csr({2, {0}, {1}}), 5, {"block", "", 0});

  std::vector<std::size_t> sizes;
  for (const auto& part : p.members()) sizes.push_back(part.size());
  EXPECT_EQ(std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}), 2U);
  EXPECT_EQ(*std::max_element(sizes.begin(), sizes.end()), 1U);
}

TEST(Partition, MetisFindsThePlantedCut) {
  const Csr graph = two_cliques();
  Partition p;
  try {
    p = partition_graph(graph, 2, {"metis", "", 3});
  } catch (const NotBuilt& error) {
    GTEST_SKIP() << error.what();
  }

  EXPECT_DOUBLE_EQ(edge_cut(graph, p), 2.0 / static_cast<double>(graph.nnz()));
  EXPECT_DOUBLE_EQ(balance(p), 1.0);
}

TEST(Partition, UnknownMethodNamesTheKnownOnes) {
  try {
    partition_graph(two_cliques(), 2, {"metsi", "", 0});
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.path, "partition.method");
    EXPECT_NE(std::string(error.what()).find("metis"), std::string::npos);
  }
}

class PartitionFile : public ::testing::Test {
 protected:
  std::string write(const std::string& text) const {
    std::ofstream(file) << text;
    return file;
  }
  void expect_error(const std::string& text, const std::string& words) {
    try {
      partition_graph(build_csr({3, {0, 1}, {1, 2}}), 2, {"file", write(text), 0});
      FAIL() << text;
    } catch (const DataError& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  }
  void TearDown() override { std::filesystem::remove(file); }
  std::string file = ::testing::TempDir() + "orrery_partition_test.txt";
};

TEST_F(PartitionFile, IsOneOwnerPerLine) {
  const Partition p =
      partition_graph(build_csr({3, {0, 1}, {1, 2}}), 2, {"file", write("1\n0\n1\n"), 0});

  EXPECT_EQ(p.owner, (std::vector<std::int32_t>{1, 0, 1}));
}

TEST_F(PartitionFile, ErrorsNameTheLine) {
  expect_error("0\n2\n1\n", "line 2: expected a part from 0 to 1, found \"2\"");
  expect_error("0\nx\n1\n", "line 2: expected a part from 0 to 1, found \"x\"");
  expect_error("0\n1\n", "line 2: expected 3 lines, one per vertex, found 2");
  expect_error("0\n1\n1", "line 3: expected a line end behind the last part, found the end of the");
}

}  // namespace
}  // namespace orrery
