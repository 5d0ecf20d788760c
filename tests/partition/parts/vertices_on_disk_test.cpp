// LDG and Fennel from edges on disk against the same graph in memory.
#include "core/partition/parts/vertices_on_disk.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "core/base/error.hpp"
#include "core/partition/methods/cut.hpp"
#include "core/partition/partition_options.hpp"
#include "tests/partition/graphs.hpp"
#include "tests/support/peak_memory.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;

class VerticesOnDiskTest : public ::testing::Test {
 protected:
  VerticesOnDiskTest() { fs::create_directories(folder_); }
  ~VerticesOnDiskTest() override { fs::remove_all(folder_); }

  StreamCut cut(EdgeStream& edges, std::int64_t vertices, int parts, const std::string& method) {
    PartitionOptions options;
    options.method = method;
    VerticesOnDisk stream(edges, vertices, folder_ / "scratch");
    return cut_vertices(stream, parts, options);
  }

  const fs::path folder_ =
      fs::temp_directory_path() / ("orrery-vertices-on-disk-" + std::to_string(::getpid()));
};

/// The same edges as they are listed, from the last to the first, and mixed with their reverses.
std::vector<std::vector<Edge>> orders_of(const std::vector<Edge>& edges) {
  std::vector<Edge> backwards(edges.rbegin(), edges.rend()), mixed = edges;
  for (const auto& [u, v] : edges) mixed.push_back({v, u});
  std::sort(mixed.begin(), mixed.end(), [](const Edge& a, const Edge& b) {
    const auto key = [](const Edge& e) { return (e.source * 31 + e.destination * 17) % 97; };
    return key(a) < key(b);
  });
  return {edges, backwards, mixed};
}

TEST_F(VerticesOnDiskTest, AreCutAsInMemoryWhateverTheOrderOfTheEdges) {
  for (const NamedGraph& graph : adversarial_graphs())
    for (const auto& [method, balance] :
         {std::pair<std::string, double>{"ldg", 1.05}, {"fennel", 1.1}})
      for (const int parts : {1, 3, 17}) {
        PartitionOptions options;
        options.method = method;
        const Partition in_memory = partition_graph(symmetric_csr(graph), parts, options);
        const double most = std::ceil(balance * static_cast<double>(graph.vertices) / parts);
        for (const std::vector<Edge>& order : orders_of(graph.edges)) {
          SCOPED_TRACE(graph.name + ", " + method + ", " + std::to_string(parts));
          ListedEdges edges(order, graph.vertices);

          const Partition streamed = cut(edges, graph.vertices, parts, method).partition;

          ASSERT_EQ(streamed.owner, in_memory.owner);
          for (const auto& members : streamed.members())
            EXPECT_LE(static_cast<double>(members.size()), most);
        }
      }
}

/// All pairs of this many vertices; none is kept in memory.
class Clique final : public EdgeStream {
 public:
  explicit Clique(Vertex vertices) : vertices_(vertices) {}
  std::int64_t known_vertices() const override { return vertices_; }
  void rewind() override { row_ = 1; }
  std::span<const Edge> next() override {
    block_.clear();
    if (row_ >= vertices_) return {};
    for (Vertex u = 0; u < row_; ++u) block_.push_back({u, row_});
    ++row_;
    return block_;
  }

 private:
  Vertex vertices_, row_ = 1;
  std::vector<Edge> block_;
};

/// Entries of a clique take 4 bytes each in memory, and their pairs 8 while they are sorted.
TEST_F(VerticesOnDiskTest, TakeNoMemoryThatGrowsWithTheEdges) {
  constexpr Vertex kVertices = 4500;
  constexpr std::int64_t kEntries = std::int64_t{kVertices} * (kVertices - 1);
  Clique edges(kVertices);
  const testing::PeakMemory peak;
  if (!peak.unknown().empty()) GTEST_SKIP() << peak.unknown();

  const StreamCut all = cut(edges, kVertices, 4, "ldg");

  EXPECT_LT(peak.bytes(), kEntries * 5 / 2) << "less than the entries in memory";
  EXPECT_GE(peak.bytes(), 1 << 20) << "the peak was not measured";
  EXPECT_EQ(all.partition.owner.size(), std::size_t{kVertices});
}

TEST_F(VerticesOnDiskTest, AreForMethodsThatTakeThem) {
  Clique edges(5);

  EXPECT_THROW(cut(edges, 5, 2, "hdrf"), ConfigError);
  EXPECT_THROW(cut(edges, 5, 2, "metis"), ConfigError);
}

}  // namespace
}  // namespace orrery
