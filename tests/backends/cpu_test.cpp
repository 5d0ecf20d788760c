// Every op of the cpu backend against the reference, for every instruction set of this machine and
// for 1, 2 and 3 threads, which must not change a bit.
#include "backends/cpu/cpu.hpp"

#include <tuple>

#include "backends/cpu/isa.hpp"
#include "backends/reference/reference.hpp"
#include "tests/backends/samples.hpp"

namespace orrery::testing {
namespace {

constexpr std::int64_t kWidths[] = {1, 3, 8, 17, 64, 100, 128, 257};
constexpr std::int64_t kRows[] = {0, 1, 5, 333};

class Cpu : public ::testing::TestWithParam<std::tuple<Isa, int>> {
 protected:
  void SetUp() override {
    if (!supported(std::get<0>(GetParam()))) GTEST_SKIP() << "not on this machine";
  }

  /// Runs the script's op by the reference, on one thread and on this test's threads.
  void expect_equals_reference(const Script& script, double tolerance = 1e-5) {
    const auto [isa, threads] = GetParam();
    const auto kernels = make_cpu_kernels_for(isa);
    World expected, serial;
    const Op op = script(expected);
    SCOPED_TRACE(to_string(op));
    expected.run(*make_reference_kernels(), op);
    serial.run(*kernels, script(serial));
    expect_close(serial, expected, tolerance);
    if (threads == 1) return;

    const ThreadPool pool(threads);
    World threaded;
    threaded.run(*kernels, script(threaded));
    expect_same_bits(threaded, serial);
  }
};

TEST_P(Cpu, SparseProductEqualsReference) {
  for (const std::int64_t width : kWidths)
    for (const std::int64_t rows : kRows)
      for (const float beta : {0.0F, 1.0F, 0.5F})
        for (const bool valued : {false, true})
          expect_equals_reference([&](World& w) -> Op {
            Csr pattern = random_pattern(w.draw(), rows, 61, 40);
            std::optional<Tensor> values;
            if (valued) values = w.floats(pattern.nnz(), 1);
            const Tensor x = w.floats(61, width, width + 3);
            const Tensor y =
                beta == 0 ? w.poisoned(rows, width, width + 5) : w.floats(rows, width, width + 5);
            return SpMM{w.sparse(std::move(pattern)), values, x, y, beta};
          });
}

TEST_P(Cpu, SparseProductWithOneVeryLongRowEqualsReference) {
  for (const std::int64_t width : {257, 602})
    for (const float beta : {0.0F, 0.5F})
      expect_equals_reference(
          [&](World& w) -> Op {
            Csr pattern = random_pattern(w.draw(), 7, 6000, 5000);
            const Tensor values = w.floats(pattern.nnz(), 1);
            const Tensor x = w.floats(6000, width), y = w.floats(7, width);
            return SpMM{w.sparse(std::move(pattern)), values, x, y, beta};
          },
          1e-4);
}

TEST_P(Cpu, SparseProductOfAnEmptyPatternScalesTheOutput) {
  for (const float beta : {0.0F, 1.0F, 0.5F})
    expect_equals_reference([&](World& w) -> Op {
      const Sparse a = w.sparse({4, 0, {0, 0, 0, 0, 0}, {}});
      return SpMM{a, {}, w.floats(0, 24), beta == 0 ? w.poisoned(4, 24) : w.floats(4, 24), beta};
    });
}

TEST_P(Cpu, DenseProductEqualsReference) {
  const ProductSizes cases[] = {{0, 3, 4},   {3, 0, 4},     {3, 4, 0},      {1, 1, 1},
                                {1, 17, 5},  {5, 1, 9},     {33, 17, 100},  {128, 257, 64},
                                {17, 33, 5}, {13, 9, 5003}, {3001, 64, 100}};
  for (const auto [m, n, k] : cases)
    for (const bool transpose_a : {false, true})
      for (const bool transpose_b : {false, true})
        for (const float beta : {0.0F, 1.0F, 0.5F})
          expect_equals_reference(
              [&, m = m, n = n, k = k](World& w) -> Op {
                return dense_product(w, {m, n, k}, transpose_a, transpose_b, beta);
              },
              1e-4);
}

TEST_P(Cpu, GatherAndScatterWithRepeatedIndicesEqualReference) {
  for (const std::int64_t width : kWidths)
    for (const std::int64_t rows : kRows) {
      expect_equals_reference([&](World& w) -> Op {
        const Tensor x = w.floats(19, width, width + 1), index = w.indices(rows, 19);
        return GatherRows{x, index, w.poisoned(rows, width, width + 2)};
      });
      expect_equals_reference([&](World& w) -> Op {
        const Tensor x = w.floats(rows, width, width + 1), index = w.indices(rows, 19);
        return ScatterAddRows{x, index, w.floats(19, width, width + 2)};
      });
    }
}

TEST_P(Cpu, GatherAndScatterOfManyRowsEqualReference) {
  expect_equals_reference([](World& w) -> Op {
    const Tensor x = w.floats(999, 40), index = w.indices(5000, 999);
    return GatherRows{x, index, w.poisoned(5000, 40)};
  });
  expect_equals_reference([](World& w) -> Op {
    const Tensor x = w.floats(5000, 40), index = w.indices(5000, 999);
    return ScatterAddRows{x, index, w.floats(999, 40)};
  });
}

TEST_P(Cpu, ActivateEqualsReference) {
  for (const std::int64_t width : kWidths)
    for (const std::int64_t rows : kRows)
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
                const Tensor y = in_place ? x : w.poisoned(rows, width, width + 1);
                return Activate{x, bias, y, activation, dropout};
              });
}

TEST_P(Cpu, ActivateBackwardEqualsReference) {
  for (const std::int64_t width : kWidths)
    for (const std::int64_t rows : kRows)
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

TEST_P(Cpu, DropoutOfSparseFeaturesEqualsReference) {
  expect_equals_reference([](World& w) -> Op {
    const Tensor x = w.floats(300, 133);
    for (std::int64_t i = 0; i < x.shape.size(); ++i)
      if (w.draw().below(100) != 0) w.data<float>(x)[i] = 0;
    const Tensor y = w.poisoned(300, 133);
    return Activate{x, {}, y, Activation::none, Dropout{0.5, 1, 1, 0, w.indices(300, 3000), 0}};
  });
}

TEST_P(Cpu, ColumnSumEqualsReference) {
  for (const std::int64_t width : kWidths)
    for (const std::int64_t rows : {0, 1, 333, 4501})
      for (const float beta : {0.0F, 0.5F})
        expect_equals_reference([&](World& w) -> Op { return column_sum(w, rows, width, beta); });
}

TEST_P(Cpu, LayerNormEqualsReference) {
  for (const std::int64_t width : kWidths)
    for (const std::int64_t rows : {0, 1, 5, 1001})
      for (const int aliased : {0, 1, 2})  // nothing, normalised = x, y = x
        expect_equals_reference(
            [&](World& w) -> Op { return layer_norm(w, rows, width, aliased); });
}

TEST_P(Cpu, LayerNormBackwardEqualsReference) {
  for (const std::int64_t width : kWidths)
    for (const std::int64_t rows : {0, 1, 5, 1001})
      for (const bool in_place : {false, true})
        expect_equals_reference(
            [&](World& w) -> Op { return layer_norm_backward(w, rows, width, in_place); });
}

TEST_P(Cpu, LossAndScoreEqualReference) {
  for (const LossKind kind : {LossKind::softmax, LossKind::sigmoid})
    for (const std::int64_t classes : {1, 2, 7, 60, 600})
      for (const std::int64_t rows : {0, 1, 5, 501})
        for (const float spread : {1.0F, 120.0F}) {
          for (const bool in_place : {false, true})
            expect_equals_reference([&](World& w) -> Op {
              const auto [logits, labels, targets] = classified(w, kind, rows, classes, spread);
              const Tensor grad = in_place ? logits : w.poisoned(rows, classes, classes + 1);
              const Tensor loss = w.poisoned(1, 1, 0, DType::f64);
              return Loss{kind, logits, labels, targets, grad, loss, 0.01};
            });
          expect_equals_reference([&](World& w) -> Op {
            const auto [logits, labels, targets] = classified(w, kind, rows, classes, spread);
            return Score{kind, logits, labels, targets, w.poisoned(1, 3, 0, DType::f64)};
          });
          expect_equals_reference([&](World& w) -> Op {
            const auto [logits, labels, targets] = classified(w, kind, rows, classes, spread);
            const Tensor loss = w.poisoned(1, 1, 0, DType::f64);
            *w.data<double>(loss) = 3;
            return Loss{kind, logits, labels, targets, logits, loss, 0.01, 0.5, true};
          });
          expect_equals_reference([&](World& w) -> Op {
            const auto [logits, labels, targets] = classified(w, kind, rows, classes, spread);
            const Tensor counts = w.poisoned(1, 3, 0, DType::f64);
            std::fill_n(w.data<double>(counts), 3, 2.0);
            return Score{kind, logits, labels, targets, counts, true};
          });
        }
}

TEST_P(Cpu, OptimisersEqualReference) {
  for (const std::int64_t rows : {0, 1, 77, 500})
    for (const std::int64_t cols : {1, 17, 64})
      for (const std::int64_t gap : {0, 3}) {
        const auto drawn = [&](World& w) { return w.floats(rows, cols, cols + gap); };
        expect_equals_reference([&](World& w) -> Op {
          return Sgd{drawn(w), drawn(w), 0.1F, 0.01F};
        });
        expect_equals_reference([&](World& w) -> Op {
          const Tensor weights = drawn(w), g = drawn(w), m = drawn(w), v = drawn(w);
          for (std::int64_t i = 0; i < rows * v.ld; ++i)
            w.data<float>(v)[i] = std::abs(w.data<float>(v)[i]);
          return Adam{
              .w = weights, .g = g, .m = m, .v = v, .rate = 0.01F, .decay = 5e-4F, .step = 7};
        });
      }
}

TEST_P(Cpu, LoadFillAndCopyEqualReference) {
  const auto vertices = std::make_shared<const std::vector<Vertex>>(std::vector<Vertex>{4, 0, 2});
  const auto labels =
      std::make_shared<const Labels>(Labels{2, true, {0, 1, 1, 1, 0, 0, 1, 0, 0, 1}});
  const auto values = std::make_shared<const std::vector<float>>(40000, 0.25F);
  const auto exactly = [&](const Script& script) { expect_equals_reference(script, 0); };

  exactly([&](World& w) -> Op {
    return Load{LabelRows{labels, vertices}, w.poisoned(3, 2, 0, DType::i32)};
  });
  exactly([&](World& w) -> Op {
    return Load{IndexArray{vertices}, w.poisoned(3, 1, 0, DType::i32)};
  });
  exactly([&](World& w) -> Op { return Load{FloatArray{values}, w.poisoned(40000, 1)}; });
  for (const std::int64_t rows : {0, 1, 333})
    exactly([&](World& w) -> Op {
      return Load{UniformWeights{5, 2, 0.5F}, w.poisoned(rows, 101)};
    });
  for (const DType type : {DType::f32, DType::f64, DType::i32})
    for (const std::int64_t gap : {0, 7}) {
      exactly([&](World& w) -> Op { return Fill{w.poisoned(300, 101, 101 + gap, type), 3}; });
      exactly([&](World& w) -> Op {
        const Tensor x = w.poisoned(300, 101, 105, type);
        std::memset(w.memory().bytes_at(x), 1,
                    static_cast<std::size_t>(300 * 105 * bytes_of(type)));
        return Copy{x, w.poisoned(300, 101, 101 + gap, type)};
      });
    }
  for (const bool accumulate : {false, true})
    expect_equals_reference([&](World& w) -> Op {
      const Tensor x = w.floats(300, 101, 105);
      const Tensor y = accumulate ? w.floats(300, 101, 103) : w.poisoned(300, 101, 103);
      return Copy{x, y, 0.3F, accumulate};
    });
}

TEST_P(Cpu, SaveTakesAWindowOutAndLoadBringsItBack) {
  World world;
  const Tensor x = world.given(1, 7, {0, 1, 2, 3, 4, 5, 6}), y = world.poisoned(1, 3);
  const auto saved = std::make_shared<std::vector<float>>();
  for (const auto& kernels :
       {make_cpu_kernels_for(std::get<0>(GetParam())), make_reference_kernels()}) {
    world.run(*kernels, Save{x.cols_at(2, 3), saved});
    EXPECT_EQ(*saved, (std::vector<float>{2, 3, 4}));
    world.run(*kernels, Load{FloatArray{saved}, y});
    EXPECT_EQ(world.values(y), *saved);
  }
}

INSTANTIATE_TEST_SUITE_P(AllIsas, Cpu,
                         ::testing::Combine(::testing::Values(Isa::baseline, Isa::avx2,
                                                              Isa::avx512),
                                            ::testing::Values(1, 2, 3)),
                         [](const auto& test) {
                           return std::string(name_of(std::get<0>(test.param))) + "_" +
                                  std::to_string(std::get<1>(test.param)) + "_threads";
                         });

// 2^20 rows of 16 floats are the 64 MiB from which rows are written past the caches.
TEST(CpuStreaming, SparseProductWithAHugeOutputEqualsReference) {
  const auto script = [](World& w) -> Op {
    constexpr std::int64_t rows = std::int64_t{1} << 20;
    Csr pattern{rows, 3, {}, {}};
    for (std::int64_t i = 0; i <= rows; ++i) pattern.offsets.push_back(i);
    pattern.offsets.erase(pattern.offsets.begin());
    for (std::int64_t i = 0; i < rows; ++i) pattern.columns.push_back(static_cast<Vertex>(i % 3));
    const Tensor x = w.floats(3, 16);
    return SpMM{w.sparse(std::move(pattern)), {}, x, w.poisoned(rows, 16), 0};
  };
  const ThreadPool pool(2);
  World expected, got;

  expected.run(*make_reference_kernels(), script(expected));
  got.run(*make_cpu_kernels(), script(got));

  expect_same_bits(got, expected);
}

TEST(CpuDescription, NamesInstructionSetAndDenseLibrary) {
  const std::string text = cpu_kernels_description();

  EXPECT_NE(text.find(name_of(best_isa())), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with(", oneDNN)") || text.ends_with(", OpenBLAS)")) << text;
}

}  // namespace
}  // namespace orrery::testing
