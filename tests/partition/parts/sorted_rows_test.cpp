// Rows that were sorted on disk against the graph in memory.
#include "core/partition/parts/sorted_rows.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "core/base/error.hpp"
#include "core/base/parallel.hpp"
#include "core/partition/parts/rows_on_disk.hpp"
#include "tests/partition/graphs.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;

class SortedRowsTest : public ::testing::Test {
 protected:
  SortedRowsTest() { fs::create_directories(folder_); }
  ~SortedRowsTest() override { fs::remove_all(folder_); }
  static Partition thirds(std::int64_t vertices) {
    Partition partition{3, {}};
    for (std::int64_t v = 0; v < vertices; ++v)
      partition.owner.push_back(static_cast<std::int32_t>(v * 7 % 3));
    return partition;
  }
  static void expect_rows(GraphRows& rows, const Csr& graph) {
    ASSERT_EQ(rows.vertices(), graph.rows);
    ASSERT_EQ(rows.edges(), graph.nnz());
    ASSERT_EQ(rows.symmetric(), is_symmetric(graph));
    RowsInMemory expected(graph, rows.symmetric());
    for (std::int64_t i = 0; i < graph.rows; ++i) {
      const auto v = static_cast<Vertex>(i * 13 % graph.rows);  // and there and back
      const auto in = rows.in(v);
      ASSERT_TRUE(std::ranges::equal(in, expected.in(v))) << v;
      const auto out = rows.out(v);
      ASSERT_TRUE(std::ranges::equal(out, expected.out(v))) << v;
      ASSERT_EQ(rows.in_degree(v), expected.in_degree(v)) << v;
    }
  }
  const fs::path folder_ =
      fs::temp_directory_path() / ("orrery-sorted-rows-" + std::to_string(::getpid()));
};

TEST_F(SortedRowsTest, AreThoseOfTheGraph) {
  std::vector<NamedGraph> graphs = adversarial_graphs();
  graphs.push_back({"many", 5000, random_edges(5000, 60000, 3)});
  for (const NamedGraph& named : graphs) {
    SCOPED_TRACE(named.name);
    ListedEdges edges(named.edges, named.vertices);
    EdgeList list{named.vertices, {}, {}};
    for (const auto& [u, v] : named.edges) {
      list.source.push_back(u);
      list.destination.push_back(v);
    }
    const OwnerOrder order(thirds(named.vertices));
    {
      RowsOnDisk directed(edges, false, order, folder_);
      expect_rows(directed, build_csr(list));
      EXPECT_EQ(directed.merged(), list.size() - build_csr(list).nnz());
    }
    RowsOnDisk mirrored(edges, true, order, folder_);
    expect_rows(mirrored, symmetric_csr(named));
  }
}

/// One edge five million times, which is more than is sorted at once, among others.
TEST_F(SortedRowsTest, RowsLongerThanTheBufferAreMerged) {
  class Repeated final : public EdgeStream {
   public:
    Repeated() : block_(kStreamBlock, Edge{1, 0}) { block_.back() = {2, 3}; }
    void rewind() override { next_ = 0; }
    std::span<const Edge> next() override {
      return next_++ < 80 ? std::span<const Edge>(block_) : std::span<const Edge>();
    }

   private:
    int next_ = 0;
    std::vector<Edge> block_;
  } edges;
  const OwnerOrder order(thirds(5));
  RowsOnDisk rows(edges, false, order, folder_);

  EdgeList list{5, {1, 2}, {0, 3}};
  expect_rows(rows, build_csr(list));
  EXPECT_EQ(rows.merged(), 80 * std::int64_t{kStreamBlock} - 2);
}

TEST_F(SortedRowsTest, AVertexThatIsNotThereIsAnError) {
  ListedEdges edges({{0, 1}, {7, 2}});
  const OwnerOrder order(thirds(5));

  EXPECT_THROW(RowsOnDisk(edges, true, order, folder_), DataError);
}

}  // namespace
}  // namespace orrery
