// The real data sets in the folders of ORRERY_DATA, against counts made from their files by another
// program.
#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>

#include "core/base/parallel.hpp"
#include "core/graph/read/load.hpp"
#include "core/graph/read/lookup.hpp"
#include "core/graph/statistics.hpp"

namespace orrery {
namespace {

struct Expected {
  const char* name;
  std::int64_t vertices, edges;
  bool undirected;
  std::int64_t self_loops, features, classes;
  std::array<std::int64_t, 3> split;  ///< train, validation, test; zeros when none is published
  std::int64_t components, largest, isolated;
};

std::ostream& operator<<(std::ostream& out, const Expected& e) { return out << e.name; }

class RealDataTest : public ::testing::TestWithParam<Expected> {};

TEST_P(RealDataTest, CountsAreThePublishedOnes) {
  const Expected& e = GetParam();
  if (std::getenv("ORRERY_DATA") == nullptr)
    GTEST_SKIP() << "set ORRERY_DATA to the folders that hold real data sets";
  if (!find_dataset(e.name)) GTEST_SKIP() << "no " << e.name << " in the folders of ORRERY_DATA";
  const ThreadPool pool(2);

  const Dataset dataset = read_dataset(e.name);

  const DatasetStatistics s = dataset_statistics(dataset);
  EXPECT_EQ(s.vertices, e.vertices);
  EXPECT_EQ(s.edges, e.edges);
  EXPECT_EQ(s.symmetric, e.undirected);
  EXPECT_EQ(s.self_loops, e.self_loops);
  EXPECT_EQ(dataset.features ? dataset.features->width() : 0, e.features);
  EXPECT_EQ(dataset.labels.classes, e.classes);
  for (std::size_t part = 0; part < 3; ++part) EXPECT_EQ(s.split_counts[part], e.split[part]);
  EXPECT_EQ(s.components, e.components);
  EXPECT_EQ(s.largest_component, e.largest);
  EXPECT_EQ(s.isolated, e.isolated);
  EXPECT_FALSE(dataset.generated);
}

INSTANTIATE_TEST_SUITE_P(
    Sets, RealDataTest,
    ::testing::Values(
        Expected{"cora", 2708, 10556, true, 0, 1433, 7, {140, 500, 1000}, 78, 2485, 0},
        Expected{"citeseer", 3327, 9228, true, 124, 3703, 6, {120, 500, 1000}, 438, 2120, 48},
        Expected{"pubmed", 19717, 88651, true, 3, 500, 3, {60, 500, 1000}, 1, 19717, 0},
        Expected{"chameleon", 2277, 62792, true, 50, 2325, 5, {1092, 729, 456}, 1, 2277, 0},
        Expected{"coauthor-cs", 18333, 163788, true, 0, 6805, 15, {}, 1, 18333, 0},
        Expected{"amazon-photo", 7650, 238162, true, 0, 745, 8, {}, 136, 7487, 115},
        Expected{"amazon-computers", 13752, 491722, true, 0, 767, 10, {}, 314, 13381, 281},
        Expected{"musae-facebook", 22470, 341646, true, 0, 4714, 4, {}, 1, 22470, 0},
        Expected{"ppi", 14755, 450540, true, 6322, 0, 0, {9716, 1825, 3214}, 68, 3312, 54},
        Expected{"flickr", 89250, 899756, true, 0, 0, 7, {44625, 22312, 22313}, 1, 89250, 0},
        Expected{
            "ogbn-arxiv", 169343, 1166243, false, 0, 0, 40, {90941, 29799, 48603}, 1, 169343, 0},
        Expected{"cnr-2000", 325557, 3216152, false, 87442, 0, 0, {}, 1, 325557, 0}),
    [](const auto& test) {
      std::string name = test.param.name;
      std::erase(name, '-');
      return name;
    });

TEST(RealDataOptionsTest, DirectedSetsHaveThePublishedEdges) {
  if (std::getenv("ORRERY_DATA") == nullptr)
    GTEST_SKIP() << "set ORRERY_DATA to the folders that hold real data sets";
  if (!find_dataset("ogbn-arxiv")) GTEST_SKIP() << "no ogbn-arxiv in the folders of ORRERY_DATA";
  DatasetOptions options;
  options.path = "ogbn-arxiv";
  options.symmetric = true;

  EXPECT_EQ(load_dataset(options).edges(), 2315598);
}

// Cora's features are 0/1, so they are normalised by default: every row sums to 1.
TEST(RealDataOptionsTest, CoraRowsSumToOne) {
  if (std::getenv("ORRERY_DATA") == nullptr || !find_dataset("cora"))
    GTEST_SKIP() << "set ORRERY_DATA to a folder that holds cora";
  DatasetOptions options;
  options.path = "cora";

  const Dataset dataset = load_dataset(options);

  for (const Vertex v : {0, 1000, 2707}) {
    std::vector<float> row(1433);
    const std::vector<Vertex> rows{v};
    dataset.features->read(rows, 0, 1433, row.data(), 1433);
    EXPECT_NEAR(std::accumulate(row.begin(), row.end(), 0.0), 1, 1e-5);
  }
}

}  // namespace
}  // namespace orrery
