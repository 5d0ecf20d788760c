// Fingerprints tell data sets apart, on any number of threads.
#include "core/graph/read/load.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "core/base/parallel.hpp"

namespace orrery {
namespace {

/// A path over this many vertices, with labels and a split.
Dataset path(Vertex vertices) {
  EdgeList edges{vertices, {}, {}};
  for (Vertex v = 1; v < vertices; ++v) {
    edges.source.push_back(v - 1);
    edges.destination.push_back(v);
  }
  Dataset data;
  set_graph(data, edges);
  data.labels.values.assign(static_cast<std::size_t>(vertices), 1);
  data.split.assign(static_cast<std::size_t>(vertices), Split::train);
  return data;
}

TEST(Fingerprint, ChangesWithAnyEdgeLabelOrSplitAndWithFeatures) {
  const std::string whole = fingerprint_of(path(100));
  const auto changed = [](const std::function<void(Dataset&)>& change) {
    Dataset data = path(100);
    change(data);
    return fingerprint_of(data);
  };

  EXPECT_EQ(changed([](Dataset& d) { d.name = "another"; }), whole);
  EXPECT_EQ(whole.size(), 8U);
  EXPECT_NE(fingerprint_of(path(101)), whole);
  EXPECT_NE(changed([](Dataset& d) {
              auto graph = std::make_shared<Csr>(*d.graph);
              graph->columns[50] = 7;
              d.graph = graph;
            }),
            whole);
  const auto features = [&](float first, std::int64_t width) {
    return changed([&](Dataset& d) {
      std::vector<float> values(100 * static_cast<std::size_t>(width), 2);
      values[0] = first;
      d.features = dense_features(100, width, values, "test", false);
    });
  };
  EXPECT_EQ(features(1, 3), features(1, 3));
  EXPECT_NE(features(1, 3), whole);
  EXPECT_NE(features(2, 3), features(1, 3));
  EXPECT_NE(features(2, 4), features(2, 3));
  EXPECT_NE(changed([](Dataset& d) { d.labels.values[99] = 0; }), whole);
  EXPECT_NE(changed([](Dataset& d) { d.split[99] = Split::test; }), whole);
  EXPECT_NE(changed([](Dataset& d) { d.split.clear(); }), whole);
}

/// For arrays that are longer than a block.
TEST(Fingerprint, DoesNotDependOnTheNumberOfThreads) {
  const Dataset data = path(2'200'000);
  const ThreadPool one(1);
  const std::string alone = fingerprint_of(data);
  const ThreadPool three(3);

  EXPECT_EQ(fingerprint_of(data), alone);
}

}  // namespace
}  // namespace orrery
