#include "core/model/adjacency.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/error.hpp"

namespace orrery {
namespace {

Dataset dataset(const EdgeList& edges, bool symmetric) {
  Dataset data;
  data.graph = std::make_shared<const Csr>(build_csr(edges));
  data.symmetric = symmetric;
  return data;
}
ModelConfig gcn() { return {}; }
ModelConfig sage() {
  ModelConfig model;
  model.type = ModelType::sage;
  return model;
}

/// Path 0 - 1 - 2 with a stored self-loop at 1. With one self-loop each the row lengths are 2, 3,
/// 2, so row 1 = {1/sqrt(6), 1/3, 1/sqrt(6)}.
TEST(Adjacency, GcnOnASymmetricGraphIsSymmetricWithOneSelfLoop) {
  const SparseMatrix a =
      normalised_adjacency(dataset({3, {0, 1, 1, 1, 2}, {1, 0, 1, 2, 1}}, true), gcn());

  EXPECT_EQ(a.csr().offsets, (std::vector<EdgeIndex>{0, 2, 5, 7}));
  EXPECT_EQ(a.csr().columns, (std::vector<Vertex>{0, 1, 0, 1, 2, 1, 2}));
  EXPECT_TRUE(a.symmetric);
  const float edge = static_cast<float>(1 / std::sqrt(6.0));
  const std::vector<float> want{0.5F, edge, edge, 1.0F / 3, edge, edge, 0.5F};
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_FLOAT_EQ((*a.values)[i], want[i]);
}

/// 0 -> 1 and 2 -> 1: vertex 1 averages itself and its two in-neighbours; 0 and 2 keep themselves.
TEST(Adjacency, GcnOnADirectedGraphAveragesOverInEdges) {
  const SparseMatrix a = normalised_adjacency(dataset({3, {0, 2}, {1, 1}}, false), gcn());

  EXPECT_EQ(a.csr().columns, (std::vector<Vertex>{0, 0, 1, 2, 2}));
  const std::vector<float> want{1, 1.0F / 3, 1.0F / 3, 1.0F / 3, 1};
  EXPECT_EQ(*a.values, want);
  EXPECT_FALSE(a.symmetric);
}

TEST(Adjacency, SageAveragesOverNeighboursWithoutItself) {
  const SparseMatrix a = normalised_adjacency(dataset({3, {0, 1, 2}, {1, 1, 1}}, false), sage());

  EXPECT_EQ(a.csr().offsets, (std::vector<EdgeIndex>{0, 0, 2, 2}));
  EXPECT_EQ(*a.values, (std::vector<float>{0.5F, 0.5F}));
}

/// Path 0 - 1 - 2 with a stored self-loop at 1, which weighs 3; those that are added weigh 1. Entries
/// are w / sqrt(d d), with d = 1 + 2, 2 + 3 + 4 and 4 + 1.
TEST(Adjacency, AStoredSelfLoopKeepsItsWeightAndAnAddedOneWeighsOne) {
  const Dataset data = dataset({3, {0, 1, 1, 1, 2}, {1, 0, 1, 2, 1}}, true);
  const SparseMatrix a = weighted_adjacency(data, {2, 2, 3, 4, 4}, gcn());

  EXPECT_EQ(a.csr().columns, (std::vector<Vertex>{0, 1, 0, 1, 2, 1, 2}));
  EXPECT_TRUE(a.symmetric);
  const auto entry = [](double w, double d, double e) {
    return static_cast<float>(w / std::sqrt(d * e));
  };
  const std::vector<float> want{entry(1, 3, 3), entry(2, 3, 9), entry(2, 9, 3), entry(3, 9, 9),
                                entry(4, 9, 5), entry(4, 5, 9), entry(1, 5, 5)};
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_FLOAT_EQ((*a.values)[i], want[i]);
}

TEST(Adjacency, SymmetricNormalisationOfADirectedGraphIsRefused) {
  ModelConfig model = gcn();
  model.normalisation = Normalisation::symmetric;
  EXPECT_THROW(normalised_adjacency(dataset({2, {0}, {1}}, false), model), ConfigError);
}

TEST(Adjacency, TransposeCarriesTheValues) {
  const SparseMatrix a =
      normalised_adjacency(dataset({4, {0, 2, 3, 3, 1}, {1, 1, 0, 2, 3}}, false), gcn());

  const SparseMatrix t = transpose(a);

  for (std::int64_t v = 0; v < 4; ++v)
    for (std::size_t e = 0; e < a.csr().row(v).size(); ++e) {
      const Vertex u = a.csr().row(v)[e];
      const auto back = t.csr().row(u);
      const auto at = std::find(back.begin(), back.end(), v);
      ASSERT_NE(at, back.end());
      EXPECT_EQ(
          (*t.values)[static_cast<std::size_t>(t.csr().offsets[static_cast<std::size_t>(u)] +
                                               (at - back.begin()))],
          (*a.values)[static_cast<std::size_t>(a.csr().offsets[static_cast<std::size_t>(v)]) + e]);
    }
  EXPECT_EQ(*transpose(t).values, *a.values);
}

}  // namespace
}  // namespace orrery
