// Edges without their reverse against a search in memory.
#include "core/partition/parts/one_way_edge.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <tuple>

#include "core/base/error.hpp"
#include "tests/partition/graphs.hpp"

namespace orrery {
namespace {

/// Sets TMPDIR to a folder of the test's own, which is not there before asked for.
class OneWayEdge : public ::testing::Test {
 protected:
  OneWayEdge() {
    const char* before = std::getenv("TMPDIR");
    if (before != nullptr) before_ = before;
    ::setenv("TMPDIR", folder_.c_str(), 1);
  }
  ~OneWayEdge() override {
    if (before_)
      ::setenv("TMPDIR", before_->c_str(), 1);
    else
      ::unsetenv("TMPDIR");
    std::filesystem::remove_all(folder_);
  }

  const std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) / "one-way-edge";
  std::optional<std::string> before_;
};

std::optional<Edge> by_search(const std::vector<Edge>& edges) {
  std::set<std::tuple<Vertex, Vertex>> all;
  for (const Edge& edge : edges) all.emplace(edge.destination, edge.source);
  for (const auto& [to, from] : all)
    if (!all.contains({from, to})) return Edge{from, to};
  return std::nullopt;
}

std::vector<Edge> with_reverse(std::vector<Edge> edges) {
  for (std::size_t i = edges.size(); i-- > 0;)
    edges.push_back({edges[i].destination, edges[i].source});
  return edges;
}

TEST_F(OneWayEdge, IsTheFirstByDestinationAndSource) {
  std::filesystem::create_directories(folder_);
  std::vector<NamedGraph> graphs = adversarial_graphs();
  graphs.push_back({"many", 500, random_edges(500, 6000, 3)});
  int found = 0;
  for (const NamedGraph& named : graphs) {
    std::vector<Edge> both = with_reverse(named.edges), but_one = both;
    const auto no_loop = [](const Edge& edge) { return edge.source != edge.destination; };
    if (const auto one = std::ranges::find_if(but_one, no_loop); one != but_one.end())
      but_one.erase(one);
    for (const auto& edges : {named.edges, both, but_one}) {
      SCOPED_TRACE(::testing::Message() << named.name << edges.size());
      ListedEdges stream(edges, named.vertices);
      const auto expected = by_search(edges), one = one_way_edge(stream);
      ASSERT_EQ(one.has_value(), expected.has_value());
      if (!one) continue;
      ++found;
      EXPECT_EQ(std::tuple(one->source, one->destination),
                std::tuple(expected->source, expected->destination));
    }
  }

  EXPECT_GT(found, 5);
  EXPECT_TRUE(std::filesystem::is_empty(folder_)) << "its files go with it";
}

TEST_F(OneWayEdge, IsNotOneThatStandsMoreOftenThanItsReverse) {
  std::filesystem::create_directories(folder_);
  ListedEdges stream({{0, 1}, {1, 0}, {0, 1}, {2, 2}}, 3);

  EXPECT_FALSE(one_way_edge(stream));
}

TEST_F(OneWayEdge, IsSoughtOnDiskOnlyWhereSomeEdgeStandsAlone) {
  ListedEdges balanced(with_reverse(random_edges(100, 300, 1)), 100);
  ListedEdges alone({{0, 1}}, 2);

  EXPECT_FALSE(one_way_edge(balanced));
  EXPECT_THROW(one_way_edge(alone), Error) << "the folder for temporary files is not there";
}

}  // namespace
}  // namespace orrery
