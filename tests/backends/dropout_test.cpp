// What dropout's masks promise, for the reference and the cpu backend alike.
#include "backends/cpu/cpu.hpp"
#include "backends/reference/reference.hpp"
#include "tests/backends/world.hpp"

namespace orrery::testing {
namespace {

/// Layer 2 of epoch 1 under seed 4; mask() adds the rows.
Dropout dropout_of(double p) { return {p, 4, 1, 2, {}, 0}; }

class DropoutMask : public ::testing::TestWithParam<bool> {
 protected:
  std::unique_ptr<Kernels> kernels_ = GetParam() ? make_cpu_kernels() : make_reference_kernels();

  /// The mask of rows `row_ids`, columns [col0, col0 + cols): dropout of a matrix of ones.
  std::vector<float> mask(const std::vector<std::int32_t>& row_ids, std::int64_t cols,
                          Dropout dropout) {
    World world;
    const auto rows = static_cast<std::int64_t>(row_ids.size());
    const Tensor x = world.poisoned(rows, cols), y = world.poisoned(rows, cols);
    std::fill_n(world.data<float>(x), x.shape.size(), 1.0F);
    dropout.row_ids = world.integers(row_ids);
    world.run(*kernels_, Activate{x, {}, y, Activation::none, dropout});
    return world.values(y);
  }
};

TEST_P(DropoutMask, DropsTheAskedShareAndKeepsTheMean) {
  std::vector<std::int32_t> rows(1000);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::int32_t>(i);
  for (const double p : {0.1, 0.5, 0.8}) {
    const auto values = mask(rows, 100, dropout_of(p));

    double dropped = 0, sum = 0;
    for (const float v : values) {
      dropped += v == 0;
      sum += static_cast<double>(v);
    }
    // A share of 10^5 independent draws deviates by sqrt(p(1 − p) / 10^5).
    const double deviation = std::sqrt(p * (1 - p) / 1e5);
    EXPECT_NEAR(dropped / 1e5, p, 4 * deviation);
    EXPECT_NEAR(sum / 1e5, 1, 4 * deviation / (1 - p));
  }
}

TEST_P(DropoutMask, BelongsToTheGlobalRowNotToItsPlace) {
  const Dropout dropout = dropout_of(0.5);

  const auto here = mask({10, 77, 12}, 40, dropout), there = mask({5, 6, 10, 8, 77}, 40, dropout);

  for (std::size_t c = 0; c < 40; ++c) {
    EXPECT_EQ(here[c], there[2 * 40 + c]);
    EXPECT_EQ(here[40 + c], there[4 * 40 + c]);
  }
}

TEST_P(DropoutMask, OfAColumnWindowIsThatWindowOfTheWholeMask) {
  Dropout dropout = dropout_of(0.5);
  const auto whole = mask({3, 9}, 40, dropout);
  dropout.col0 = 16;

  const auto window = mask({3, 9}, 24, dropout);

  for (std::size_t r = 0; r < 2; ++r)
    for (std::size_t c = 0; c < 24; ++c) EXPECT_EQ(window[r * 24 + c], whole[r * 40 + 16 + c]);
}

TEST_P(DropoutMask, ChangesWithSeedEpochAndLayer) {
  const Dropout dropout = dropout_of(0.5);
  Dropout seed = dropout, high_seed = dropout, epoch = dropout, layer = dropout;
  seed.seed = 5;
  high_seed.seed = 4 + (std::uint64_t{1} << 32U);
  epoch.epoch = 2;
  layer.layer = 3;

  const auto first = mask({1, 2}, 64, dropout);

  for (const Dropout& other : {seed, high_seed, epoch, layer})
    EXPECT_NE(first, mask({1, 2}, 64, other));
}

INSTANTIATE_TEST_SUITE_P(Backends, DropoutMask, ::testing::Values(false, true),
                         [](const auto& test) { return test.param ? "cpu" : "reference"; });

}  // namespace
}  // namespace orrery::testing
