// Chances to be in a batch, on a tree, where draws are independent: by hand and by drawing.
#include "core/sample/inclusion.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/index.hpp"
#include "core/sample/neighbour_sampler.hpp"

namespace orrery {
namespace {

/// Vertex 0 aggregates 1 .. 6, each of which aggregates four of its own.
Csr tree() {
  std::vector<Vertex> source, destination;
  for (Vertex child = 1; child <= 6; ++child) {
    source.push_back(child);
    destination.push_back(0);
    for (Vertex i = 0; i < 4; ++i) {
      source.push_back(7 + 4 * (child - 1) + i);
      destination.push_back(child);
    }
  }
  return build_csr(31, source, destination);
}

TEST(Inclusion, IsExactOnATree) {
  const Csr graph = tree();
  std::vector<double> seeds(31, 0);
  seeds[0] = 1;

  const auto chance = inclusion_chances(graph, std::vector<int>{2, 3}, seeds);

  EXPECT_DOUBLE_EQ(chance[0], 1);
  for (std::size_t child = 1; child <= 6; ++child)
    EXPECT_NEAR(chance[child], 1 - (1 - 2.0 / 6) * (1 - 3.0 / 6), 1e-12);
  for (std::size_t leaf = 7; leaf < 31; ++leaf) EXPECT_NEAR(chance[leaf], 2.0 / 6 * 3 / 4, 1e-12);
  EXPECT_NEAR(inclusion_chances(graph, std::vector<int>{-1, -1}, seeds)[30], 1, 1e-12);
  seeds[0] = 0.5;
  EXPECT_NEAR(inclusion_chances(graph, std::vector<int>{2}, seeds)[3], 0.5 * 2 / 6, 1e-12);
}

TEST(Inclusion, IsHowOftenVerticesAreDrawn) {
  const Csr graph = tree();
  std::vector<double> seeds(31, 0);
  seeds[0] = 1;
  const auto chance = inclusion_chances(graph, std::vector<int>{2, 3}, seeds);
  const NeighbourSampler sampler(graph, {{2, 3}, NeighbourRule::uniform});
  auto scratch = sampler.scratch(1);
  constexpr int kBatches = 20000;
  std::vector<int> met(31, 0);
  for (std::uint32_t step = 0; step < kBatches; ++step)
    for (const Vertex v : sampler.sample(std::vector<Vertex>{0}, {7, 0, step}, scratch).vertices)
      ++met[at(v)];

  for (std::size_t v = 1; v < 31; ++v) {
    const double error = std::sqrt(chance[v] * (1 - chance[v]) / kBatches);
    EXPECT_NEAR(static_cast<double>(met[v]) / kBatches, chance[v], 5 * error) << v;
  }
}

}  // namespace
}  // namespace orrery
