// Local products with values of their own for each product, against sums over the entries.
#include "core/strategy/product/local_matrix.hpp"

#include <gtest/gtest.h>

#include "backends/comm_threads/comm_threads.hpp"
#include "backends/reference/reference.hpp"
#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/rng.hpp"
#include "core/runtime/check/check.hpp"
#include "core/runtime/execute/executor.hpp"
#include "core/runtime/recorder.hpp"

namespace orrery {
namespace {

constexpr std::int64_t kRows = 9, kColumns = 14, kHeads = 3, kOfHead = 7;
constexpr std::int64_t kWidth = kHeads * kOfHead;

/// Row 4 is empty, and no row has an entry in columns 0 to 2, so that a narrow first tile is empty.
SparseMatrix block() {
  Sequence draw(3, Purpose::features, 0);
  RowBuilder rows(kRows, kColumns);
  for (std::int64_t r = 0; r < kRows; ++r) {
    for (Vertex c = 3; c < kColumns; ++c)
      if (r != 4 && draw.below(3) == 0) rows.add(c, 9);
    rows.end_row();
  }
  return rows.finish();
}

std::shared_ptr<const std::vector<float>> numbers(std::int64_t count, std::uint32_t which) {
  Sequence draw(5, Purpose::features, which);
  auto list = std::make_shared<std::vector<float>>();
  for (std::int64_t i = 0; i < count; ++i)
    list->push_back(static_cast<float>(2 * draw.uniform() - 1));
  return list;
}

struct Operands {
  std::shared_ptr<const std::vector<float>> values, x, y;
};
Operands operands(const SparseMatrix& a) {
  return {numbers(a.nnz() * kHeads, 1), numbers(kColumns * kWidth, 2), numbers(kRows * kWidth, 3)};
}

/// One product, and where its result lands.
void multiply(Runtime& rt, const SparseMatrix& a, int tiles, float beta, const Operands& in,
              const std::shared_ptr<std::vector<float>>& result) {
  const LocalPattern pattern(rt, a, tiles, kHeads, "block");
  const Buffer values(rt, {a.nnz(), kHeads}, DType::f32, "values"),
      x(rt, {kColumns, kWidth}, DType::f32, "x"), y(rt, {kRows, kWidth}, DType::f32, "y");
  rt.submit(Lane::compute, Load{FloatArray{in.values}, values.tensor()});
  rt.submit(Lane::compute, Load{FloatArray{in.x}, x.tensor()});
  rt.submit(Lane::compute, Load{FloatArray{in.y}, y.tensor()});
  pattern.multiply(rt, values.tensor(), x.tensor(), y.tensor(), beta);
  rt.submit(Lane::compute, Save{y.tensor(), result});
  rt.sync(rt.record(Lane::compute));
}

class LocalPatterns : public ::testing::TestWithParam<std::tuple<int, float>> {};

TEST_P(LocalPatterns, GiveEveryEntryAndHeadItsValue) {
  const auto [tiles, beta] = GetParam();
  const SparseMatrix a = block();
  const Operands in = operands(a);
  std::vector<double> expected(in.y->begin(), in.y->end());
  for (double& y : expected) y *= beta;
  for (std::int64_t r = 0; r < kRows; ++r)
    for (EdgeIndex e = a.csr().offsets[at(r)]; e < a.csr().offsets[at(r) + 1]; ++e)
      for (std::int64_t c = 0; c < kWidth; ++c)
        expected[at(r * kWidth + c)] +=
            static_cast<double>((*in.values)[at(e * kHeads + c / kOfHead)]) *
            static_cast<double>((*in.x)[at(a.csr().columns[at(e)] * kWidth + c)]);

  const auto result = std::make_shared<std::vector<float>>();
  ThreadWorld(1).run([&](int, Communicator& communicator) {
    Executor rt({}, make_reference_kernels, communicator);
    multiply(rt, a, tiles, beta, in, result);
    rt.finish();
  });

  ASSERT_EQ(result->size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR((*result)[i], expected[i], 1e-5);
}

TEST_P(LocalPatterns, AreRecordedWithoutRacesOrLeaks) {
  const auto [tiles, beta] = GetParam();
  const SparseMatrix a = block();
  Recorder rt({0, 1, {}, true});

  multiply(rt, a, tiles, beta, operands(a), std::make_shared<std::vector<float>>());

  EXPECT_TRUE(find_local_problems(rt.program()).empty());
}

INSTANTIATE_TEST_SUITE_P(TilesAndBetas, LocalPatterns,
                         ::testing::Combine(::testing::Values(1, 2, 5, 14, 99),
                                            ::testing::Values(0.0F, 1.0F, -0.5F)));

TEST(LocalPatternMemory, IsThePatternAloneWhereOneTileIsAll) {
  const SparseMatrix a = block();
  const auto bytes = [&](int tiles) {
    Recorder rt({0, 1, {}, true});
    const LocalPattern pattern(rt, a, tiles, kHeads, "block");
    return rt.ledger().in_use(Space::device);
  };

  EXPECT_EQ(bytes(1), (kRows + 1) * 8 + a.nnz() * 4);
  // Two tiles of seven columns: two lists of offsets, an entry's number, values of the larger one.
  std::int64_t left = 0;
  for (const Vertex c : a.csr().columns) left += c < 7 ? 1 : 0;
  EXPECT_EQ(bytes(2),
            2 * (kRows + 1) * 8 + a.nnz() * (4 + 4) + std::max(left, a.nnz() - left) * kHeads * 4);
}

TEST(LocalPatternMemory, OfCountsIsThatOfARealOneOfEvenTiles) {
  const SparseMatrix counted{Counts{100, 40, 1000, 1}, nullptr};
  Recorder rt({0, 1, {}, true});

  const LocalPattern pattern(rt, counted, 4, 2, "block");

  EXPECT_EQ(rt.ledger().in_use(Space::device), 4 * 101 * 8 + 1000 * 8 + 250 * 2 * 4);
}

TEST(LocalPatternMemory, RefusesNoHeads) {
  Recorder rt({0, 1, {}, true});

  EXPECT_THROW(LocalPattern(rt, block(), 1, 0, "block"), ConfigError);
}

}  // namespace
}  // namespace orrery
