#include "core/partition/methods/refine.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/parallel.hpp"
#include "core/partition/methods/cut.hpp"
#include "core/partition/partition_options.hpp"
#include "tests/partition/graphs.hpp"
#include "tests/partition/part_sizes.hpp"

namespace orrery {
namespace {

std::int64_t most_of(const Partition& partition) {
  const auto sizes = sizes_of(partition);
  return *std::max_element(sizes.begin(), sizes.end());
}

/// The bound as the header says it: β·n/k, and room for n vertices in k parts.
std::int64_t bound(std::int64_t vertices, int parts, double balance) {
  const auto n = static_cast<double>(vertices);
  return std::max(static_cast<std::int64_t>(std::floor(balance * n / parts)),
                  static_cast<std::int64_t>(std::ceil(n / parts)));
}

/// Starting from hashed owners and from SPRING's, on all graphs: a cut whose parts are within the
/// bound stays so, and its replication factor does not rise; a cut beyond it gets no further.
TEST(Refine, NeverHoldsMoreAndKeepsTheBound) {
  for (const NamedGraph& graph : adversarial_graphs())
    for (const std::string method : {"hash", "spring"})
      for (const int parts : {1, 2, 3, 8, 17, 100}) {
        SCOPED_TRACE(graph.name + ", " + method + ", " + std::to_string(parts));
        ListedEdges edges(graph.edges, graph.vertices);
        PartitionOptions options;
        options.method = method;
        const Partition before = cut_stream(edges, parts, options).partition;
        Partition after = before;
        const RefineResult result = refine_cut(edges, after, {6, 1.1});
        const Csr csr = symmetric_csr(graph);
        const auto n = static_cast<double>(graph.vertices);
        const std::int64_t most = bound(graph.vertices, parts, 1.1);

        ASSERT_EQ(after.parts, parts);
        ASSERT_EQ(after.owner.size(), before.owner.size());
        for (const auto owner : after.owner) ASSERT_TRUE(0 <= owner && owner < parts);
        EXPECT_LE(most_of(after), std::max(most, most_of(before)));
        if (most_of(before) <= most) {
          EXPECT_LE(replication_factor(csr, after), replication_factor(csr, before));
        }
        EXPECT_DOUBLE_EQ(static_cast<double>(result.before) / n, replication_factor(csr, before));
        EXPECT_DOUBLE_EQ(static_cast<double>(result.after) / n, replication_factor(csr, after));
      }
}

/// Two cliques with one vertex of each in the other's part, and no room but by turns.
TEST(Refine, BringsStrayVerticesHome) {
  NamedGraph graph{"two cliques", 16, {{0, 8}}};
  for (Vertex v = 0; v < 8; ++v)
    for (Vertex u = 0; u < v; ++u) {
      graph.edges.push_back({u, v});
      graph.edges.push_back({u + 8, v + 8});
    }
  ListedEdges edges(graph.edges, graph.vertices);
  Partition cut{2, {0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 0}};
  const RefineResult result = refine_cut(edges, cut, {4, 1.2});

  EXPECT_EQ(cut.owner, (std::vector<std::int32_t>{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(result.rounds, 2);
  EXPECT_EQ(result.before, 32);
  EXPECT_EQ(result.after, 18);
}

/// Everything in one part: half has to leave, whatever it costs.
TEST(Refine, EmptiesAPartThatIsTooFull) {
  NamedGraph path{"path", 40, {}};
  for (Vertex v = 1; v < 40; ++v) path.edges.push_back({v, v - 1});
  ListedEdges edges(path.edges, path.vertices);
  Partition cut{2, std::vector<std::int32_t>(40, 0)};
  for (std::size_t v = 30; v < 40; ++v) cut.owner[v] = 1;
  refine_cut(edges, cut, {100, 1.05});

  EXPECT_LE(most_of(cut), 21);
}

TEST(Refine, OfSpringIsTheSameForAnyNumberOfThreads) {
  const NamedGraph graph{"random", 300, random_edges(300, 2000, 9)};
  PartitionOptions options;
  options.method = "spring";
  options.spring.refine = 5;
  const Csr csr = symmetric_csr(graph);
  const Partition serial = cut_graph(csr, 5, options).partition;
  const ThreadPool pool(3);

  EXPECT_EQ(cut_graph(csr, 5, options).partition.owner, serial.owner);
  options.spring.refine = 0;
  EXPECT_LT(replication_factor(csr, serial),
            replication_factor(csr, cut_graph(csr, 5, options).partition));
}

}  // namespace
}  // namespace orrery
