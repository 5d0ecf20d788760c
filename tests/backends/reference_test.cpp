// The oracle itself: inputs small enough to compute the expected numbers by hand.
#include "backends/reference/reference.hpp"

#include "tests/backends/world.hpp"

namespace orrery::testing {
namespace {

class Reference : public ::testing::Test {
 protected:
  void run(const Op& op) { world_.run(*kernels_, op); }
  World world_;
  std::unique_ptr<Kernels> kernels_ = make_reference_kernels();
};

// a = [1 . 2]   x = [1 2]   a·x = [1+10  2+12]   + 2·y = [11+2  14+2]
//     [. . .]       [3 4]         [ 0      0 ]           [ 0+2   0+2]
//     [. 3 .]       [5 6]         [ 9     12 ]           [ 9+2  12+2]
TEST_F(Reference, SparseProductAddsScaledOutput) {
  const Sparse a = world_.sparse({3, 3, {0, 2, 2, 3}, {0, 2, 1}});
  const Tensor values = world_.given(3, 1, {1, 2, 3});
  const Tensor x = world_.given(3, 2, {1, 2, 3, 4, 5, 6});
  const Tensor y = world_.given(3, 2, {1, 1, 1, 1, 1, 1});

  run(SpMM{a, values, x, y, 2});

  EXPECT_EQ(world_.values(y), (std::vector<float>{13, 16, 2, 2, 11, 14}));
}

TEST_F(Reference, SparseProductWithoutValuesSumsRowsAndIgnoresOldOutput) {
  const Sparse a = world_.sparse({2, 3, {0, 2, 3}, {0, 2, 1}});
  const Tensor x = world_.given(3, 1, {1, 3, 5});
  const Tensor y = world_.poisoned(2, 1);

  run(SpMM{a, {}, x, y, 0});

  EXPECT_EQ(world_.values(y), (std::vector<float>{6, 3}));
}

// Against the sum over entries as the definition writes it, in double.
TEST_F(Reference, SparseProductWithHeadsWeighsTheColumnsOfEachHeadByItsValues) {
  constexpr std::int64_t kHeads = 3, kColumns = 7;
  const Csr pattern{4, 5, {0, 3, 3, 4, 6}, {0, 2, 4, 1, 3, 3}};
  const Sparse a = world_.sparse(pattern);
  const Tensor values = world_.floats(6, kHeads), x = world_.floats(5, kHeads * kColumns);
  const Tensor y = world_.floats(4, kHeads * kColumns);
  const auto v = world_.values(values), in = world_.values(x), old = world_.values(y);

  run(SpMM{a, values, x, y, -2});

  const auto got = world_.values(y);
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t c = 0; c < 21; ++c) {
      double sum = -2.0 * static_cast<double>(old[i * 21 + c]);
      for (std::size_t e = 0; e < 6; ++e) {
        const bool of_row = static_cast<std::int64_t>(e) >= pattern.offsets[i] &&
                            static_cast<std::int64_t>(e) < pattern.offsets[i + 1];
        const auto column = static_cast<std::size_t>(pattern.columns[e]);
        if (of_row)
          sum += static_cast<double>(v[e * 3 + c / 7]) * static_cast<double>(in[column * 21 + c]);
      }
      EXPECT_FLOAT_EQ(got[i * 21 + c], static_cast<float>(sum)) << i << " " << c;
    }
}

// Row 0 has one entry of values [2 3] at column 1: x[1] = [1 1 10 10] gives [2 2 30 30].
TEST_F(Reference, SparseProductWithTwoHeadsByHand) {
  const Sparse a = world_.sparse({2, 2, {0, 1, 1}, {1}});
  const Tensor values = world_.given(1, 2, {2, 3});
  const Tensor x = world_.given(2, 4, {9, 9, 9, 9, 1, 1, 10, 10}), y = world_.poisoned(2, 4);

  run(SpMM{a, values, x, y, 0});

  EXPECT_EQ(world_.values(y), (std::vector<float>{2, 2, 30, 30, 0, 0, 0, 0}));
}

// x[0] = [1 2 3 4]; z[1] = [5 6 7 8], z[2] = [1 0 0 2]: dots of columns 0 to 1 and 2 to 3.
TEST_F(Reference, SampledDenseProductByHand) {
  const Sparse a = world_.sparse({2, 3, {0, 2, 2}, {1, 2}});
  const Tensor x = world_.given(2, 4, {1, 2, 3, 4, 9, 9, 9, 9});
  const Tensor z = world_.given(3, 4, {9, 9, 9, 9, 5, 6, 7, 8, 1, 0, 0, 2});
  const Tensor dots = world_.poisoned(2, 2);

  run(Sddmm{a, x, z, dots});

  EXPECT_EQ(world_.values(dots), (std::vector<float>{17, 53, 1, 8}));
}

// Scores ln 1, ln 2 and ln 5 weigh 1/8, 2/8 and 5/8; an only entry weighs 1.
TEST_F(Reference, SoftmaxOverEntriesByHand) {
  const Sparse a = world_.sparse({3, 3, {0, 3, 3, 4}, {0, 1, 2, 1}});
  const float half = 0.5F * std::log(2.0F), two_fifths = 0.5F * std::log(5.0F);
  const Tensor weights = world_.given(4, 1, {0, half, two_fifths, 7});

  run(EdgeSoftmax{a, weights, {}, 2});

  const float expected[] = {0.125F, 0.25F, 0.625F, 1};
  for (std::size_t e = 0; e < 4; ++e) EXPECT_FLOAT_EQ(world_.values(weights)[e], expected[e]);
}

// Ends sum to 2 and −4, of which the leaky ReLU of slope 1/2 makes 2 and −2.
TEST_F(Reference, SoftmaxOfTheScoresOfEndsByHand) {
  const Sparse a = world_.sparse({1, 2, {0, 2}, {0, 1}});
  const Tensor left = world_.given(1, 1, {-1}), right = world_.given(2, 1, {3, -3});
  const Tensor weights = world_.poisoned(2, 1);

  run(EdgeSoftmax{a, weights, EndScores{left, right, 0.5F}});

  EXPECT_FLOAT_EQ(world_.values(weights)[0], 1 / (1 + std::exp(-4.0F)));
  EXPECT_FLOAT_EQ(world_.values(weights)[1], 1 / (1 + std::exp(4.0F)));
}

// a = [1 2]  b = [5 6]:  a·b = [19 22]  aᵀ·b = [26 30]  a·bᵀ = [17 23]  aᵀ·bᵀ = [23 31]
//     [3 4]      [7 8]         [43 50]         [38 44]         [39 53]          [34 46]
TEST_F(Reference, DenseProductTransposesEitherOperand) {
  const Tensor a = world_.given(2, 2, {1, 2, 3, 4}), b = world_.given(2, 2, {5, 6, 7, 8});
  const Tensor c = world_.poisoned(2, 2);
  const auto product = [&](bool transpose_a, bool transpose_b) {
    run(Gemm{a, b, c, transpose_a, transpose_b, 0});
    return world_.values(c);
  };

  EXPECT_EQ(product(false, false), (std::vector<float>{19, 22, 43, 50}));
  EXPECT_EQ(product(true, false), (std::vector<float>{26, 30, 38, 44}));
  EXPECT_EQ(product(false, true), (std::vector<float>{17, 23, 39, 53}));
  EXPECT_EQ(product(true, true), (std::vector<float>{23, 31, 34, 46}));
}

TEST_F(Reference, GatherCopiesAndScatterAddsRepeatedRows) {
  const Tensor x = world_.given(3, 1, {10, 20, 30});
  const Tensor index = world_.integers({2, 0, 2});
  const Tensor gathered = world_.poisoned(3, 1), added = world_.given(3, 1, {1, 1, 1});

  run(GatherRows{x, index, gathered});
  run(ScatterAddRows{x, index, added});

  EXPECT_EQ(world_.values(gathered), (std::vector<float>{30, 10, 30}));
  EXPECT_EQ(world_.values(added), (std::vector<float>{21, 1, 41}));  // 1+20, 1, 1+10+30
}

// x + bias = [-1 3]; relu = [0 3]; backward passes dy where y > 0.
TEST_F(Reference, ActivateAddsBiasAndRectifies) {
  const Tensor x = world_.given(1, 2, {-3, 4}), bias = world_.given(1, 2, {2, -1});
  const Tensor y = world_.poisoned(1, 2), dy = world_.given(1, 2, {5, 6});
  const Tensor dx = world_.poisoned(1, 2);

  run(Activate{x, bias, y, Activation::relu, {}});
  run(ActivateBackward{dy, y, dx, Activation::relu, {}});

  EXPECT_EQ(world_.values(y), (std::vector<float>{0, 3}));
  EXPECT_EQ(world_.values(dx), (std::vector<float>{0, 6}));
}

TEST_F(Reference, ColumnSumAddsScaledOutput) {
  const Tensor x = world_.given(3, 2, {1, 2, 3, 4, 5, 6}), y = world_.given(1, 2, {10, 20});

  run(ColumnSum{x, y, 0.5F});

  EXPECT_EQ(world_.values(y), (std::vector<float>{14, 22}));  // 9 + 5, 12 + 10
}

// Row [1 3]: mean 2, variance 1, so (x − mean)/sqrt(1 + 1e-5) = ∓1/sqrt(1.00001) = ∓0.999995; times
// gain [2 3] plus shift [10 20].
TEST_F(Reference, LayerNormCentresAndScalesRows) {
  const Tensor x = world_.given(1, 2, {1, 3}), gain = world_.given(1, 2, {2, 3});
  const Tensor shift = world_.given(1, 2, {10, 20});
  const Tensor normalised = world_.poisoned(1, 2), rstd = world_.poisoned(1, 1);
  const Tensor y = world_.poisoned(1, 2);

  run(LayerNorm{x, gain, shift, normalised, rstd, y});

  EXPECT_FLOAT_EQ(world_.values(rstd)[0], 0.999995F);
  EXPECT_FLOAT_EQ(world_.values(normalised)[0], -0.999995F);
  EXPECT_FLOAT_EQ(world_.values(y)[0], 8.00001F);
  EXPECT_FLOAT_EQ(world_.values(y)[1], 22.999985F);
}

// Logits [0 ln 3] have the probabilities [1/4 3/4]: loss −ln(1/4) = ln 4 for class 0, gradient
// [1/4 − 1, 3/4]; both times scale 2. Row 0 is no target.
TEST_F(Reference, SoftmaxLossIsScaledCrossEntropyOfTargets) {
  const Tensor logits = world_.given(2, 2, {7, 8, 0, std::log(3.0F)});
  const Tensor labels = world_.integers({-1, 0}), targets = world_.integers({1});
  const Tensor grad = world_.poisoned(2, 2), loss = world_.poisoned(1, 1, 0, DType::f64);

  run(Loss{LossKind::softmax, logits, labels, targets, grad, loss, 2});

  EXPECT_NEAR(*world_.data<double>(loss), 2 * std::log(4.0), 1e-6);
  const auto g = world_.values(grad);
  EXPECT_EQ(g[0], 0);
  EXPECT_EQ(g[1], 0);
  EXPECT_FLOAT_EQ(g[2], -1.5F);
  EXPECT_FLOAT_EQ(g[3], 1.5F);
}

TEST_F(Reference, LossIsWeighedAndAddedButNotItsGradient) {
  const Tensor logits = world_.given(1, 2, {0, std::log(3.0F)});
  const Tensor labels = world_.integers({0}), targets = world_.integers({0});
  const Tensor grad = world_.poisoned(1, 2), loss = world_.poisoned(1, 1, 0, DType::f64);

  run(Loss{LossKind::softmax, logits, labels, targets, grad, loss, 2, 0.5});
  run(Loss{LossKind::softmax, logits, labels, targets, grad, loss, 2, 0.25, true});

  EXPECT_NEAR(*world_.data<double>(loss), 0.75 * 2 * std::log(4.0), 1e-6);
  EXPECT_FLOAT_EQ(world_.values(grad)[0], -1.5F);
}

// Losses ln 4 and ln 2 of rows 0 and 2, weighed 3 and 0.5 and scaled by 2.
TEST_F(Reference, LossOfATargetCountsByItsWeightAndSoDoesItsGradient) {
  const Tensor logits = world_.given(3, 2, {0, std::log(3.0F), 5, 5, 1, 1});
  const Tensor labels = world_.integers({0, -1, 1}), targets = world_.integers({0, 2});
  const Tensor grad = world_.poisoned(3, 2), loss = world_.poisoned(1, 1, 0, DType::f64);
  Loss op{LossKind::softmax, logits, labels, targets, grad, loss, 2};
  op.target_weights = world_.given(2, 1, {3, 0.5F});

  run(op);

  EXPECT_NEAR(*world_.data<double>(loss), 2 * (3 * std::log(4.0) + 0.5 * std::log(2.0)), 1e-6);
  const auto g = world_.values(grad);
  EXPECT_FLOAT_EQ(g[0], -4.5F);
  EXPECT_EQ(g[2], 0);
  EXPECT_FLOAT_EQ(g[5], -0.5F);
}

// Logits [0 ln 3] have the sigmoids [1/2 3/4]; labels [1 0] lose ln 2 and ln 4, mean (3/2)·ln 2;
// gradient [1/2 − 1, 3/4] / 2 classes.
TEST_F(Reference, SigmoidLossIsMeanOverClasses) {
  const Tensor logits = world_.given(1, 2, {0, std::log(3.0F)});
  const Tensor labels = world_.integers({1, 0}, 2), targets = world_.integers({0});
  const Tensor grad = world_.poisoned(1, 2), loss = world_.poisoned(1, 1, 0, DType::f64);

  run(Loss{LossKind::sigmoid, logits, labels, targets, grad, loss, 1});

  EXPECT_NEAR(*world_.data<double>(loss), 1.5 * std::log(2.0), 1e-6);
  EXPECT_FLOAT_EQ(world_.values(grad)[0], -0.25F);
  EXPECT_FLOAT_EQ(world_.values(grad)[1], 0.375F);
}

// Row 0 predicts class 1 (the first of two equal), right; row 2 predicts 0, wrong; row 1 is no
// target.
TEST_F(Reference, SoftmaxScoreCountsFirstLargestLogit) {
  const Tensor logits = world_.given(3, 3, {1, 5, 5, 0, 0, 0, 9, 1, 2});
  const Tensor labels = world_.integers({1, 0, 2}), targets = world_.integers({0, 2});
  const Tensor counts = world_.poisoned(1, 3, 0, DType::f64);

  run(Score{LossKind::softmax, logits, labels, targets, counts});

  const double* c = world_.data<double>(counts);
  EXPECT_EQ((std::vector<double>{c[0], c[1], c[2]}), (std::vector<double>{1, 1, 1}));
  run(Score{LossKind::softmax, logits, labels, targets, counts, true});
  EXPECT_EQ((std::vector<double>{c[0], c[1], c[2]}), (std::vector<double>{2, 2, 2}));
}

// Predictions [+ + - -], labels [+ - + -]: one true positive, one false positive, one false
// negative.
TEST_F(Reference, SigmoidScoreCountsPositives) {
  const Tensor logits = world_.given(1, 4, {1, 2, -1, 0});
  const Tensor labels = world_.integers({1, 0, 1, 0}, 4), targets = world_.integers({0});
  const Tensor counts = world_.poisoned(1, 3, 0, DType::f64);

  run(Score{LossKind::sigmoid, logits, labels, targets, counts});

  const double* c = world_.data<double>(counts);
  EXPECT_EQ((std::vector<double>{c[0], c[1], c[2]}), (std::vector<double>{1, 1, 1}));
}

// w − rate·(g + decay·w) = 2 − 0.5·(1 + 0.25·2) = 1.25
TEST_F(Reference, SgdStepsAgainstDecayedGradient) {
  const Tensor w = world_.given(1, 1, {2}), g = world_.given(1, 1, {1});

  run(Sgd{w, g, 0.5F, 0.25F});

  EXPECT_EQ(world_.values(w)[0], 1.25F);
}

// First step from m = v = 0: m/(1 − β1) = g' and v/(1 − β2) = g'², so w moves by rate·sign(g').
// Then m = 0.1·g' and v = 0.001·g'² with g' = 3 + 0.5·2 = 4.
TEST_F(Reference, FirstAdamStepHasTheLengthOfTheRate) {
  const Tensor w = world_.given(1, 1, {2}), g = world_.given(1, 1, {3});
  const Tensor m = world_.given(1, 1, {0}), v = world_.given(1, 1, {0});

  run(Adam{.w = w, .g = g, .m = m, .v = v, .rate = 0.01F, .decay = 0.5F, .step = 1});

  EXPECT_NEAR(world_.values(w)[0], 1.99F, 1e-6);
  EXPECT_NEAR(world_.values(m)[0], 0.4F, 1e-6);
  EXPECT_NEAR(world_.values(v)[0], 0.016F, 1e-6);
}

TEST_F(Reference, LoadReadsLabelsOfTheListedVertices) {
  const auto labels = std::make_shared<Labels>(Labels{5, false, {4, 3, 2, 1}});
  const auto vertices = std::make_shared<std::vector<Vertex>>(std::vector<Vertex>{3, 0});
  const Tensor to = world_.poisoned(2, 1, 0, DType::i32);

  run(Load{LabelRows{labels, vertices}, to});

  EXPECT_EQ(world_.data<std::int32_t>(to)[0], 1);
  EXPECT_EQ(world_.data<std::int32_t>(to)[1], 4);
}

TEST_F(Reference, InitialWeightsFillTheIntervalEvenly) {
  const Tensor to = world_.poisoned(100, 100);

  run(Load{UniformWeights{3, 1, 0.5F}, to});

  // Uniform in ±1/2: mean 0 with deviation 0.289/100, second moment 1/12 with deviation 0.0745/100.
  double sum = 0, squares = 0;
  for (const float w : world_.values(to)) {
    ASSERT_LE(std::abs(w), 0.5F);
    sum += w;
    squares += w * w;
  }
  EXPECT_NEAR(sum / 1e4, 0, 4 * 0.00289);
  EXPECT_NEAR(squares / 1e4, 1.0 / 12, 4 * 0.000745);
}

TEST_F(Reference, FillAndCopyTouchNothingOutsideTheirWindow) {
  const Tensor whole = world_.given(2, 3, {1, 2, 3, 4, 5, 6});
  const Tensor to = world_.given(2, 2, {0, 0, 0, 0});

  run(Fill{whole.cols_at(2, 1), 9});
  run(Copy{whole.cols_at(1, 2), to});

  EXPECT_EQ(world_.values(whole), (std::vector<float>{1, 2, 9, 4, 5, 9}));
  EXPECT_EQ(world_.values(to), (std::vector<float>{2, 9, 5, 9}));
}

TEST_F(Reference, CopyScalesAndAdds) {
  const Tensor x = world_.given(1, 3, {1, 2, 4}), y = world_.given(1, 3, {10, 20, 30});

  run(Copy{x, y, 0.5F, true});
  EXPECT_EQ(world_.values(y), (std::vector<float>{10.5F, 21, 32}));
  run(Copy{x, y, 2});
  EXPECT_EQ(world_.values(y), (std::vector<float>{2, 4, 8}));
}

}  // namespace
}  // namespace orrery::testing
