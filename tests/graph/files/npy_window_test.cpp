#include "core/graph/files/npy_window.hpp"

#include "core/graph/files/npy.hpp"
#include "core/graph/read/features_windowed.hpp"
#include "tests/graph/files.hpp"

namespace orrery {
namespace {

class NpyWindowTest : public FilesTest {};

/// 24 MB, more than is mapped at once, read forwards, backwards and across the window's end.
TEST_F(NpyWindowTest, ShowsWhatTheFileHoldsWhereverItIsMovedTo) {
  constexpr std::int64_t kCount = 6'000'000;
  std::vector<std::int32_t> numbers(kCount);
  for (std::int64_t i = 0; i < kCount; ++i)
    numbers[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i * 7 + 1);
  auto out = NpyWriter::create<std::int32_t>(file("a.npy"), {kCount});
  out.append<std::int32_t>(numbers);
  out.close();
  NpyWindow window(file("a.npy"));

  for (std::int64_t i = 0; i < 3000; ++i) {
    const std::int64_t first = (i < 1000 ? i * 5999 : i * 1'234'567) % (kCount - 100);
    const auto some = window.elements<std::int32_t>(first, 100);
    for (std::int64_t k = 0; k < 100; k += 33)
      ASSERT_EQ(some[static_cast<std::size_t>(k)], (first + k) * 7 + 1);
  }
  EXPECT_EQ(window.elements<std::int32_t>(0, kCount).back(), numbers.back());
  EXPECT_TRUE(window.elements<std::int32_t>(kCount, 0).empty());
}

TEST_F(NpyWindowTest, FeaturesThatAreNoNumbersAreToldByTheirPlace) {
  write_npy<float>("f.npy", {2, 2}, {1, 2, 3, std::numeric_limits<float>::quiet_NaN()});
  const auto features = windowed_features(file("f.npy"), 2, 2, std::nullopt, false);
  std::vector<float> row(2);
  const Vertex first = 0, second = 1;

  features->read({&first, 1}, 0, 2, row.data(), 2);
  EXPECT_EQ(row, (std::vector<float>{1, 2}));
  EXPECT_FALSE(features->binary());
  EXPECT_THAT(data_error([&] {
                features->read({&second, 1}, 0, 2, row.data(), 2);
              }),
              testing::HasSubstr("f.npy:row 1, column 1: expected a finite number, found nan"));
}

TEST_F(NpyWindowTest, SparseFeaturesAreCheckedRowByRow) {
  write_npy<std::int64_t>("indptr.npy", {4}, {0, 2, 1, 3});
  write_npy<std::int32_t>("indices.npy", {3}, {1, 3, 9});
  const auto features =
      windowed_sparse_features(file("indptr.npy"), file("indices.npy"), std::nullopt, 3, 4, false);
  std::vector<float> row(4);
  const auto read = [&](Vertex v) { features->read({&v, 1}, 0, 4, row.data(), 4); };

  read(0);
  EXPECT_EQ(row, (std::vector<float>{0, 1, 0, 1}));
  EXPECT_THAT(data_error([&] { read(1); }),
              testing::HasSubstr("indptr.npy:element 1: expected numbers that ascend up to 3"));
  EXPECT_THAT(data_error([&] { read(2); }),
              testing::HasSubstr("indices.npy:element 1: expected columns that ascend"));
}

}  // namespace
}  // namespace orrery
