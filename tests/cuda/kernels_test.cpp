// Every op of the CUDA library but the products, against the reference.
#include "tests/cuda/kernels_test.hpp"

namespace orrery::testing {
namespace {

constexpr std::int64_t kRows[] = {0, 1, 5, 333};

TEST_P(CudaKernels, FillAndCopyOfEveryTypeEqualReference) {
  const auto exactly = [&](const Script& script) { expect_equals_reference(script, 0); };
  for (const DType type : {DType::f32, DType::f64, DType::i32})
    for (const std::int64_t rows : {0, 1, 300})
      for (const std::int64_t gap : {0, 7}) {
        exactly([&](World& w) -> Op { return Fill{w.poisoned(rows, 101, 101 + gap, type), 3}; });
        exactly([&](World& w) -> Op {
          const Tensor x = w.poisoned(rows, 101, 105, type);
          std::memset(w.memory().bytes_at(x), 1,
                      static_cast<std::size_t>(rows * 105 * bytes_of(type)));
          return Copy{x, w.poisoned(rows, 101, 101 + gap, type)};
        });
      }
}

// More columns than blocks of one axis of a grid: all parameters of a model are such a row.
TEST_P(CudaKernels, ARowOfMillionsOfColumnsIsFilledAndScaledToItsEnd) {
  constexpr std::int64_t kColumns = 65535 * 256 + 1000;
  auto* p = session_.allocate<float>(4 * kColumns);
  const OrreryMatrix row{p, 1, kColumns, kColumns, kOrreryF32};
  std::vector<float> got(static_cast<std::size_t>(kColumns));
  session_.must(session_.api.fill(session_.stream, row, 2));
  session_.must(session_.api.copy(session_.stream, row, row, 3, 0));
  session_.must(session_.api.copy_out(session_.stream, got.data(), p, 4 * kColumns));
  session_.must(session_.api.stream_sync(session_.stream));
  EXPECT_EQ(std::count(got.begin(), got.end(), 6.0F), kColumns);
  session_.must(session_.api.release(session_.device, p));
}

TEST_P(CudaKernels, ScaledAndSummedCopiesEqualReference) {
  for (const std::int64_t width : kWidths)
    for (const bool accumulate : {false, true})
      for (const float scale : {1.0F, 0.3F})
        expect_equals_reference([&](World& w) -> Op {
          const Tensor x = w.floats(77, width, width + 4);
          const Tensor y =
              accumulate ? w.floats(77, width, width + 8) : w.poisoned(77, width, width + 8);
          return Copy{x, y, scale, accumulate};
        });
}

TEST_P(CudaKernels, WindowsInTheMiddleOfAMatrixEqualReference) {
  for (const std::int64_t first : {1, 2, 4})
    for (const std::int64_t width : {1, 6, 32}) {
      expect_equals_reference([&](World& w) -> Op {
        const Tensor x = w.floats(20, 48).cols_at(first, width);
        return Activate{
            x, {}, w.floats(25, 60).cols_at(first, width).rows_at(3, 20), Activation::none, {}};
      });
      expect_equals_reference([&](World& w) -> Op {
        const Tensor x = w.floats(20, 48).cols_at(first, width), index = w.indices(9, 20);
        return GatherRows{x, index, w.floats(9, 60).cols_at(first, width)};
      });
    }
}

TEST_P(CudaKernels, GatherEqualsReference) {
  for (const std::int64_t width : kWidths)
    for (const std::int64_t rows : kRows)
      for (const std::int64_t gap : {1, 4})
        expect_equals_reference(
            [&](World& w) -> Op {
              const Tensor x = w.floats(19, width, width + gap), index = w.indices(rows, 19);
              return GatherRows{x, index, w.poisoned(rows, width, width + 2 * gap)};
            },
            0);
}

TEST_P(CudaKernels, ScatterAddOfRepeatedIndicesSumsInTheOrderOfRows) {
  for (const std::int64_t width : kWidths)
    for (const std::int64_t rows : kRows)
      expect_equals_reference(
          [&](World& w) -> Op {
            const Tensor x = w.floats(rows, width, width + 1), index = w.indices(rows, 19);
            return ScatterAddRows{x, index, w.floats(19, width, width + 2)};
          },
          0);
}

TEST_P(CudaKernels, ScatterAddOfDistinctIndicesEqualsReference) {
  for (const std::int64_t width : kWidths)
    expect_equals_reference(
        [&](World& w) -> Op {
          std::vector<std::int32_t> rows(70);
          for (std::size_t i = 0; i < rows.size(); ++i)
            rows[i] = static_cast<std::int32_t>(i * 37 % 97);
          const Tensor x = w.floats(70, width), index = w.integers(rows);
          return ScatterAddRows{x, index, w.floats(97, width, width + 4)};
        },
        0, {.max_repeats = 1});
}

TEST_P(CudaKernels, ActivateEqualsReference) {
  for (const std::int64_t width : kWidths)
    for (const std::int64_t rows : {0, 1, 33})
      for (const Activation activation : {Activation::none, Activation::relu})
        for (const bool biased : {false, true})
          for (const double p : {-1.0, 0.0, 0.3, 0.999999})  // negative: no dropout
            for (const bool in_place : {false, true})
              expect_equals_reference([&](World& w) -> Op {
                const Tensor x = w.floats(rows, width, width + 4);
                std::optional<Tensor> bias;
                if (biased) bias = w.floats(1, width);
                std::optional<Dropout> dropout;
                if (p >= 0)
                  dropout = Dropout{p, 0x123456789ABCDEF, 5, 3, w.indices(rows, 1 << 30), 16};
                const Tensor y = in_place ? x : w.poisoned(rows, width, width + 8);
                return Activate{x, bias, y, activation, dropout};
              });
}

// With p = 1/2 and x = 1 the result is the mask itself, times two.
TEST_P(CudaKernels, DropoutMasksHaveTheBitsOfTheReference) {
  for (const std::int64_t width : kWidths)
    for (const std::int64_t col0 : {0, 8, 800})
      expect_equals_reference(
          [&](World& w) -> Op {
            const Tensor x = w.floats(200, width);
            std::fill_n(w.data<float>(x), x.shape.size(), 1.0F);
            const Dropout dropout{0.5, 1U << 31U, 700, 4095, w.indices(200, 1 << 30), col0};
            return Activate{x, {}, w.poisoned(200, width), Activation::none, dropout};
          },
          0);
}

TEST_P(CudaKernels, ActivateBackwardEqualsReference) {
  for (const std::int64_t width : kWidths)
    for (const std::int64_t rows : {0, 1, 33})
      for (const Activation activation : {Activation::none, Activation::relu})
        for (const double p : {-1.0, 0.3})
          for (const int aliased : {0, 1, 2})  // dx apart, dx = dy, dx = y
            expect_equals_reference([&](World& w) -> Op {
              const Tensor dy = w.floats(rows, width, width + 4);
              std::optional<Tensor> y;
              if (activation == Activation::relu) y = w.floats(rows, width, width + 1);
              std::optional<Dropout> dropout;
              if (p >= 0) dropout = Dropout{p, 99, 5, 3, w.indices(rows, 1 << 30), 0};
              const Tensor apart = w.poisoned(rows, width, width + 2);
              const Tensor dx = aliased == 0 ? apart : aliased == 1 || !y ? dy : *y;
              return ActivateBackward{dy, y, dx, activation, dropout};
            });
}

TEST_P(CudaKernels, ColumnSumEqualsReference) {
  for (const std::int64_t width : kWidths)
    for (const std::int64_t rows : {0, 1, 63, 64, 65, 4501})
      for (const float beta : {0.0F, 0.5F})
        expect_equals_reference([&](World& w) -> Op { return column_sum(w, rows, width, beta); });
}

TEST_P(CudaKernels, ColumnSumOfMoreRowsThanSlabsEqualsReference) {
  expect_equals_reference(
      [&](World& w) -> Op {
        return ColumnSum{w.floats(40000, 3), w.poisoned(1, 3), 0};
      },
      1e-6);
}

TEST_P(CudaKernels, LayerNormEqualsReference) {
  for (const std::int64_t width : kWidths)
    for (const std::int64_t rows : {0, 1, 5, 33})
      for (const int aliased : {0, 1, 2})  // nothing, normalised = x, y = x
        expect_equals_reference(
            [&](World& w) -> Op { return layer_norm(w, rows, width, aliased); });
}

TEST_P(CudaKernels, LayerNormBackwardEqualsReference) {
  for (const std::int64_t width : kWidths)
    for (const std::int64_t rows : {0, 1, 5, 130})
      for (const bool in_place : {false, true})
        expect_equals_reference(
            [&](World& w) -> Op { return layer_norm_backward(w, rows, width, in_place); });
}

TEST_P(CudaKernels, LossEqualsReference) {
  for (const LossKind kind : {LossKind::softmax, LossKind::sigmoid})
    for (const std::int64_t classes : {1, 2, 7, 33, 600})
      for (const std::int64_t rows : {0, 1, 5, 90})
        for (const float spread : {1.0F, 120.0F})
          for (const bool in_place : {false, true})
            for (const bool accumulate : {false, true})
              expect_equals_reference([&](World& w) -> Op {
                const auto [logits, labels, targets] = classified(w, kind, rows, classes, spread);
                const Tensor grad = in_place ? logits : w.poisoned(rows, classes, classes + 1);
                const Tensor loss = w.poisoned(1, 1, 0, DType::f64);
                if (accumulate) *w.data<double>(loss) = 3;
                return Loss{kind, logits, labels, targets, grad, loss, 0.01, 0.5, accumulate};
              });
}

TEST_P(CudaKernels, LossOfThousandsOfRowsEqualsReference) {
  expect_equals_reference([&](World& w) -> Op {
    const auto [logits, labels, targets] = classified(w, LossKind::softmax, 6000, 5, 1);
    return Loss{LossKind::softmax, logits, labels,
                targets,           logits, w.poisoned(1, 1, 0, DType::f64)};
  });
}

TEST_P(CudaKernels, ScoreEqualsReferenceExactly) {
  for (const LossKind kind : {LossKind::softmax, LossKind::sigmoid})
    for (const std::int64_t classes : {1, 2, 7, 33, 600})
      for (const std::int64_t rows : {0, 1, 5, 700})
        for (const bool accumulate : {false, true})
          expect_equals_reference(
              [&](World& w) -> Op {
                const auto [logits, labels, targets] = classified(w, kind, rows, classes, 1);
                const Tensor counts = w.poisoned(1, 3, 0, DType::f64);
                if (accumulate) std::fill_n(w.data<double>(counts), 3, 2.0);
                return Score{kind, logits, labels, targets, counts, accumulate};
              },
              0);
}

TEST_P(CudaKernels, ScoreTakesTheFirstOfEqualLogits) {
  expect_equals_reference(
      [&](World& w) -> Op {
        const Tensor logits = w.floats(4, 70);
        std::fill_n(w.data<float>(logits), logits.shape.size(), -1.0F);
        w.data<float>(logits)[69] = w.data<float>(logits)[40] = 2;  // of row 0
        const Tensor labels = w.integers({40, 0, 69, 1}), targets = w.integers({0, 1, 2, 3});
        return Score{LossKind::softmax, logits, labels, targets, w.poisoned(1, 3, 0, DType::f64)};
      },
      0);
}

TEST_P(CudaKernels, OptimisersEqualReference) {
  for (const std::int64_t n : {0, 1, 77, 5000}) {
    expect_equals_reference([&](World& w) -> Op {
      return Sgd{w.floats(n, 3), w.floats(n, 3), 0.1F, 0.01F};
    });
    for (const std::int32_t step : {1, 7, 3000})
      expect_equals_reference([&](World& w) -> Op {
        const Tensor weights = w.floats(n, 3), g = w.floats(n, 3), m = w.floats(n, 3),
                     v = w.floats(n, 3);
        for (std::int64_t i = 0; i < v.shape.size(); ++i)
          w.data<float>(v)[i] = std::abs(w.data<float>(v)[i]);
        return Adam{
            .w = weights, .g = g, .m = m, .v = v, .rate = 0.01F, .decay = 5e-4F, .step = step};
      });
  }
}

TEST_P(CudaKernels, AddSumsArraysOfBothFloatTypes) {
  const auto sums = [&]<class T>(OrreryDType dtype, T) {
    std::vector<T> x(1001), y(1001);
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<T>(i) / 3;
      y[i] = static_cast<T>(i) / 7;
    }
    const auto bytes = static_cast<std::int64_t>(x.size() * sizeof(T));
    const auto& [api, device, s] = session_;
    T *a = session_.allocate<T>(bytes), *b = session_.allocate<T>(bytes);
    session_.must(api.copy_in(s, a, x.data(), bytes));
    session_.must(api.copy_in(s, b, y.data(), bytes));
    session_.must(api.add(s, dtype, a, b, 1001));
    std::vector<T> got(1001);
    session_.must(api.copy_out(s, got.data(), b, bytes));
    session_.must(api.stream_sync(s));
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(got[i], y[i] + x[i]) << i;
    session_.must(api.release(device, a));
    session_.must(api.release(device, b));
  };
  sums(kOrreryF32, float{});
  sums(kOrreryF64, double{});
  EXPECT_EQ(session_.api.add(session_.stream, kOrreryI32, nullptr, nullptr, 1), kOrreryFailed);
  EXPECT_STREQ(session_.api.last_error(), "add: sums are of f32 or f64");
}

INSTANTIATE_TEST_SUITE_P(Libraries, CudaKernels, ::testing::ValuesIn(cuda_libraries()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace orrery::testing
