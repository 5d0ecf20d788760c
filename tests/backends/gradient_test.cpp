// Backward ops against central differences of their forward ops, in the reference backend.
#include <set>

#include "backends/reference/reference.hpp"
#include "tests/backends/world.hpp"

namespace orrery::testing {
namespace {

constexpr float kStep = 1e-2F;

/// (objective(x + h) − objective(x − h)) / 2h for every element of `x`.
std::vector<float> central_differences(const World& world, const Tensor& x,
                                       const std::function<double()>& objective) {
  std::vector<float> slopes;
  for (std::int64_t i = 0; i < x.shape.size(); ++i) {
    float& element = world.data<float>(x)[i];
    const float before = element;
    element = before + kStep;
    const double above = objective();
    element = before - kStep;
    const double below = objective();
    element = before;
    slopes.push_back(static_cast<float>((above - below) / (2 * static_cast<double>(kStep))));
  }
  return slopes;
}

void expect_near(const std::vector<float>& got, const std::vector<float>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 2e-3) << i;
}

class Gradient : public ::testing::Test {
 protected:
  void run(const Op& op) { world_.run(*kernels_, op); }
  /// Σ weights ∘ y: its gradient at y is `weights`.
  double weighted(const Tensor& weights, const Tensor& y) {
    double sum = 0;
    for (std::int64_t i = 0; i < y.shape.size(); ++i)
      sum += static_cast<double>(world_.data<float>(weights)[i]) * world_.data<float>(y)[i];
    return sum;
  }
  World world_;
  std::unique_ptr<Kernels> kernels_ = make_reference_kernels();
};

TEST_F(Gradient, OfReluWithDropoutIsReadFromTheStoredOutput) {
  // Values k/8 + 1/16 are farther from the kink of relu than the step of the differences.
  std::vector<float> spread;
  for (int i = 0; i < 36; ++i) spread.push_back(static_cast<float>(i * 7 % 36 - 18) / 8 + 0.0625F);
  const Tensor x = world_.given(4, 9, spread), y = world_.poisoned(4, 9);
  const Tensor dy = world_.floats(4, 9), dx = world_.poisoned(4, 9);
  const Dropout dropout{0.5, 11, 2, 1, world_.integers({3, 1, 4, 15}), 8};
  const Activate forward{x, {}, y, Activation::relu, dropout};

  const auto slopes = central_differences(world_, x, [&] {
    run(forward);
    return weighted(dy, y);
  });
  run(forward);
  run(ActivateBackward{dy, y, dx, Activation::relu, dropout});

  expect_near(world_.values(dx), slopes);
}

TEST_F(Gradient, OfEluWithDropoutIsReadFromTheStoredOutputAndTheMask) {
  const Tensor x = world_.floats(4, 9), y = world_.poisoned(4, 9);
  const Tensor dy = world_.floats(4, 9), dx = world_.poisoned(4, 9);
  const Dropout dropout{0.5, 11, 2, 1, world_.integers({3, 1, 4, 15}), 8};
  const Activate forward{x, {}, y, Activation::elu, dropout};

  const auto slopes = central_differences(world_, x, [&] {
    run(forward);
    return weighted(dy, y);
  });
  run(forward);
  run(ActivateBackward{dy, y, dx, Activation::elu, dropout});

  expect_near(world_.values(dx), slopes);
}

// elu(0) is 0, kept or not; its slope there is 1.
TEST_F(Gradient, OfEluAtZeroPassesWhatIsKept) {
  const std::vector<float> ones(36, 1);
  const Tensor x = world_.given(4, 9, std::vector<float>(36, 0)), one = world_.given(4, 9, ones);
  const Tensor y = world_.poisoned(4, 9), mask = world_.poisoned(4, 9);
  const Tensor dx = world_.poisoned(4, 9);
  const Dropout dropout{0.5, 11, 2, 1, world_.integers({3, 1, 4, 15}), 8};

  run(Activate{one, {}, mask, Activation::none, dropout});
  run(Activate{x, {}, y, Activation::elu, dropout});
  run(ActivateBackward{one, y, dx, Activation::elu, dropout});

  EXPECT_EQ(world_.values(dx), world_.values(mask));
  EXPECT_EQ(std::set<float>({0, 2}), [&] {
    const auto values = world_.values(dx);
    return std::set<float>(values.begin(), values.end());
  }());
}

TEST_F(Gradient, OfDropoutAloneDrawsTheSameMaskAgain) {
  const Tensor x = world_.floats(4, 9), y = world_.poisoned(4, 9);
  const Tensor dy = world_.floats(4, 9), dx = world_.poisoned(4, 9);
  const Dropout dropout{0.3, 11, 2, 1, world_.integers({3, 1, 4, 15}), 0};
  const Activate forward{x, {}, y, Activation::none, dropout};

  const auto slopes = central_differences(world_, x, [&] {
    run(forward);
    return weighted(dy, y);
  });
  run(ActivateBackward{dy, {}, dx, Activation::none, dropout});

  expect_near(world_.values(dx), slopes);
}

TEST_F(Gradient, OfLayerNormHoldsForInputGainAndShift) {
  const Tensor x = world_.floats(3, 5), gain = world_.floats(1, 5), shift = world_.floats(1, 5);
  const Tensor normalised = world_.poisoned(3, 5), rstd = world_.poisoned(3, 1);
  const Tensor y = world_.poisoned(3, 5), dy = world_.floats(3, 5);
  const Tensor dx = world_.poisoned(3, 5), dgain = world_.poisoned(1, 5);
  const Tensor dshift = world_.poisoned(1, 5);
  const auto objective = [&] {
    run(LayerNorm{x, gain, shift, normalised, rstd, y});
    return weighted(dy, y);
  };

  const auto by_x = central_differences(world_, x, objective);
  const auto by_gain = central_differences(world_, gain, objective);
  const auto by_shift = central_differences(world_, shift, objective);
  objective();
  run(LayerNormBackward{dy, normalised, rstd, gain, dx, dgain, dshift});

  expect_near(world_.values(dx), by_x);
  expect_near(world_.values(dgain), by_gain);
  expect_near(world_.values(dshift), by_shift);
}

TEST_F(Gradient, OfBatchNormHoldsForRowsThatAreCountedAndThoseThatAreNot) {
  // The last two rows stand for vertices of other ranks: normalised alike, counted elsewhere.
  const std::int64_t rows = 10, counted = 8, f = 3;
  const Tensor x = world_.floats(rows, f), gain = world_.floats(1, f), shift = world_.floats(1, f);
  const Tensor moments = world_.poisoned(1, 2 * f + 1, 0, DType::f64);
  const Tensor averages = world_.given(2, f, {0, 0, 0, 1, 1, 1}), y = world_.poisoned(rows, f);
  const Tensor normalised = world_.poisoned(rows, f), dy = world_.floats(rows, f);
  const Tensor sums = world_.poisoned(1, 2 * f), dx = world_.poisoned(rows, f);
  const auto objective = [&] {
    const Tensor own = x.rows_at(0, counted);
    run(ColumnMoments{own, own, moments.cols_at(0, f), moments.cols_at(f, f)});
    run(Fill{moments.cols_at(2 * f, 1), static_cast<double>(counted)});
    run(BatchNorm{x, moments, averages, gain, shift, normalised, y});
    return weighted(dy, y);
  };

  const auto by_x = central_differences(world_, x, objective);
  const auto by_gain = central_differences(world_, gain, objective);
  const auto by_shift = central_differences(world_, shift, objective);
  objective();
  run(ColumnMoments{dy, normalised, sums.cols_at(0, f), sums.cols_at(f, f)});
  run(BatchNormBackward{dy, normalised, moments, sums, gain, dx, counted});

  expect_near(world_.values(dx), by_x);
  expect_near(world_.values(sums.cols_at(0, f)), by_shift);
  expect_near(world_.values(sums.cols_at(f, f)), by_gain);
}

/// Rows of three, none, one and two entries.
Csr four_rows() { return {4, 5, {0, 3, 3, 4, 6}, {0, 2, 4, 1, 2, 3}}; }

TEST_F(Gradient, OfASparseProductInItsValuesIsTheSampledDenseProduct) {
  const Sparse a = world_.sparse(four_rows());
  const Tensor values = world_.floats(6, 2), x = world_.floats(5, 6), y = world_.poisoned(4, 6);
  const Tensor dy = world_.floats(4, 6), dvalues = world_.poisoned(6, 2);

  const auto slopes = central_differences(world_, values, [&] {
    run(SpMM{a, values, x, y, 0});
    return weighted(dy, y);
  });
  run(Sddmm{a, dy, x, dvalues});

  expect_near(world_.values(dvalues), slopes);
}

TEST_F(Gradient, OfASoftmaxOverEntriesHoldsForTheirScores) {
  const Sparse a = world_.sparse(four_rows());
  const Tensor scores = world_.floats(6, 3), weights = world_.poisoned(6, 3);
  const Tensor dweights = world_.floats(6, 3), gradient = world_.poisoned(6, 3);
  const float scale = 1.7F;
  const auto objective = [&] {
    run(Copy{scores, weights});
    run(EdgeSoftmax{a, weights, {}, scale});
    return weighted(dweights, weights);
  };

  const auto slopes = central_differences(world_, scores, objective);
  objective();
  run(Copy{dweights, gradient});
  run(EdgeSoftmaxBackward{a, weights, gradient, {}, {}, scale});

  expect_near(world_.values(gradient), slopes);
}

TEST_F(Gradient, OfASoftmaxOverEntriesHoldsForWhatStandsAtTheirEndsAndForThemselves) {
  const Csr pattern = four_rows();
  const Sparse a = world_.sparse(pattern);
  // Sums of ends are eighths with an odd sixteenth: farther from the kink than the step.
  const Tensor left = world_.given(4, 2, {0.5F, -0.25F, 0.75F, 0, -0.5F, 0.25F, 1, -0.75F});
  const Tensor right = world_.given(5, 2,
                                    {0.0625F, 0.1875F, -0.3125F, 0.5625F, -0.8125F, 0.4375F,
                                     0.9375F, -0.0625F, -0.6875F, 0.3125F});
  const Tensor weights = world_.poisoned(6, 2), dweights = world_.floats(6, 2);
  const Tensor gradient = world_.poisoned(6, 2), dleft = world_.poisoned(4, 2);
  const Tensor own =
      world_.given(6, 2, {0.25F, -0.5F, 1, 0.75F, -0.25F, 0, 0.5F, -1, 0.25F, 0.5F, -0.75F, 1});
  const EndScores ends{left, right, 0.3F, own};
  const auto objective = [&] {
    run(EdgeSoftmax{a, weights, ends});
    return weighted(dweights, weights);
  };

  const auto by_left = central_differences(world_, left, objective);
  const auto by_right = central_differences(world_, right, objective);
  const auto by_own = central_differences(world_, own, objective);
  objective();
  run(Copy{dweights, gradient});
  run(EdgeSoftmaxBackward{a, weights, gradient, ends, dleft});

  expect_near(world_.values(dleft), by_left);
  expect_near(world_.values(gradient), by_own);
  std::vector<float> dright(10, 0);
  const auto at_edges = world_.values(gradient);
  for (std::size_t e = 0; e < 6; ++e)
    for (std::size_t k = 0; k < 2; ++k)
      dright[static_cast<std::size_t>(pattern.columns[e]) * 2 + k] += at_edges[e * 2 + k];
  expect_near(dright, by_right);
}

TEST_F(Gradient, OfBothLossesHoldsOnEveryRow) {
  const Tensor logits = world_.floats(4, 3), grad = world_.poisoned(4, 3);
  const Tensor loss = world_.poisoned(1, 1, 0, DType::f64), targets = world_.integers({0, 2, 3});
  const Tensor classes = world_.integers({2, -1, 0, 1});
  const Tensor bits = world_.integers({1, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1}, 3);
  for (const LossKind kind : {LossKind::softmax, LossKind::sigmoid}) {
    const Tensor labels = kind == LossKind::softmax ? classes : bits;
    const Loss op{kind, logits, labels, targets, grad, loss, 0.75};

    const auto slopes = central_differences(world_, logits, [&] {
      run(op);
      return *world_.data<double>(loss);
    });
    run(op);

    expect_near(world_.values(grad), slopes);
  }
}

}  // namespace
}  // namespace orrery::testing
