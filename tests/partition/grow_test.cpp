#include "core/partition/grow.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/partition/graphs.hpp"

namespace orrery {
namespace {

Csr graph_of(const NamedGraph& named) {
  EdgeList list;
  list.vertices = named.vertices;
  for (const Edge& edge : named.edges) {
    list.source.push_back(edge.source);
    list.destination.push_back(edge.destination);
  }
  return build_csr(list);
}

TEST(Grow, KeepsTheCutAndFillsPartsEvenly) {
  for (const NamedGraph& named : adversarial_graphs()) {
    const Csr graph = graph_of(named);
    for (const int parts : {1, 3, 8}) {
      std::vector<Vertex> vertices;  // every third; all of them in one part
      for (Vertex v = 0; v < graph.rows; v += 3) vertices.push_back(v);
      Partition cut{parts, std::vector<std::int32_t>(vertices.size(), parts - 1)};

      const Partition grown = grow(cut, vertices, graph);

      ASSERT_EQ(std::ssize(grown.owner), graph.rows) << named.name;
      const std::int64_t room = (graph.rows + parts - 1) / parts;
      const auto members = grown.members();
      for (int part = 0; part < parts; ++part) {
        const auto size = std::ssize(members[static_cast<std::size_t>(part)]);
        EXPECT_LE(size, part == parts - 1 ? std::max(room, std::ssize(vertices)) : room);
      }
      for (const Vertex v : vertices)
        EXPECT_EQ(grown.owner[static_cast<std::size_t>(v)], parts - 1) << named.name;
    }
  }
}

// A path 0 - 1 - ... - 11 of which 0, 1 and 10, 11 are cut.
TEST(Grow, JoinsTheNeighbours) {
  EdgeList path{12, {}, {}};
  for (Vertex v = 1; v < 12; ++v) {
    path.source.push_back(v - 1);
    path.destination.push_back(v);
  }
  const std::vector<Vertex> vertices{0, 1, 10, 11};

  const Partition grown = grow({2, {0, 0, 1, 1}}, vertices, symmetrise(build_csr(path)));

  EXPECT_EQ(grown.owner, (std::vector<std::int32_t>{0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1}));
}

}  // namespace
}  // namespace orrery
