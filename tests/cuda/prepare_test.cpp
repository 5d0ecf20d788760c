// How rows are dealt out, and who multiplies them.
#include "backends/cuda/device/prepare.hpp"

#include <gtest/gtest.h>

#include "backends/cuda/device/spmm_choice.hpp"

namespace orrery::cuda {
namespace {

std::vector<std::int64_t> offsets_of(const std::vector<std::int64_t>& lengths) {
  std::vector<std::int64_t> offsets{0};
  for (const std::int64_t length : lengths) offsets.push_back(offsets.back() + length);
  return offsets;
}

TEST(CudaPreparation, EveryRowIsDealtOutOnceAndLongOnesInPieces) {
  const std::vector<std::int64_t> lengths{0, 512, 1, 513, 3, 5000, 2, 0, 31, 32};
  const auto offsets = offsets_of(lengths);

  const Preparation work = prepare(10, offsets.data());

  EXPECT_EQ(work.longest, 5000);
  std::vector<int> seen(10);
  for (const std::int32_t row : work.rows) ++seen[static_cast<std::size_t>(row)];
  std::int32_t piece = 0;
  for (const auto& row : work.long_rows) {
    ++seen[static_cast<std::size_t>(row.row)];
    EXPECT_EQ(row.first_piece, piece);
    std::int64_t next = offsets[static_cast<std::size_t>(row.row)];
    for (int p = 0; p < row.pieces; ++p, ++piece) {
      const auto [begin, end] = work.pieces[static_cast<std::size_t>(piece)];
      EXPECT_EQ(begin, next);
      EXPECT_LE(end - begin, kPieceEntries);
      next = end;
    }
    EXPECT_EQ(next, offsets[static_cast<std::size_t>(row.row) + 1]);
  }
  EXPECT_EQ(static_cast<std::size_t>(piece), work.pieces.size());
  EXPECT_EQ(seen, std::vector<int>(10, 1));
}

TEST(CudaPreparation, ClassesOfLengthsDescendAndKeepTheOrderOfRows) {
  const std::vector<std::int64_t> lengths{3, 0, 2, 100, 3, 0, 127, 1};
  const auto offsets = offsets_of(lengths);

  EXPECT_EQ(prepare(8, offsets.data()).rows, (std::vector<std::int32_t>{3, 6, 0, 2, 4, 7, 1, 5}));
}

TEST(CudaPreparation, APatternWithoutRowsIsNoWork) {
  const std::int64_t offset = 0;

  const Preparation work = prepare(0, &offset);

  EXPECT_TRUE(work.rows.empty() && work.pieces.empty() && work.long_rows.empty());
}

TEST(CudaSpmmChoice, TakesCusparseOnlyForEvenLongRowsOfValuesAndWideOperands) {
  const SpmmFacts even{
      .rows = 1000, .nnz = 50000, .longest = 60, .width = 64, .heads = 1, .valued = true};
  EXPECT_FALSE(prefer_own(even));
  const auto changed = [&](auto change) {
    SpmmFacts facts = even;
    change(facts);
    return prefer_own(facts);
  };
  EXPECT_TRUE(changed([](SpmmFacts& f) { f.longest = 201; }));
  EXPECT_TRUE(changed([](SpmmFacts& f) { f.nnz = 15999; }));
  EXPECT_TRUE(changed([](SpmmFacts& f) { f.width = 31; }));
  EXPECT_TRUE(changed([](SpmmFacts& f) { f.heads = 2; }));
  EXPECT_TRUE(changed([](SpmmFacts& f) { f.valued = false; }));
  EXPECT_TRUE(changed([](SpmmFacts& f) { f.nnz = f.rows = std::int64_t{1} << 31U; }));
}

}  // namespace
}  // namespace orrery::cuda
