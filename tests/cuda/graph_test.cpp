// Work of a stream that is captured and launched again.
#include <gtest/gtest.h>

#include <bit>

#include "tests/cuda/table_kernels.hpp"

namespace orrery::testing {
namespace {

class CudaGraphs : public ::testing::TestWithParam<CudaLibrary> {
 protected:
  static constexpr std::int64_t kRows = 50, kCols = 24;

  void SetUp() override {
    std::vector<std::int32_t> ids(kRows);
    for (std::int64_t i = 0; i < kRows; ++i)
      ids[static_cast<std::size_t>(i)] = 7 * static_cast<std::int32_t>(i);
    session_.must(api_.copy_in(session_.stream, ids_, ids.data(), 4 * kRows));
    session_.must(api_.stream_sync(session_.stream));
  }
  OrreryMatrix matrix(float* p) const { return {p, kRows, kCols, kCols, kOrreryF32}; }

  /// x ← ones without what dropout drops in an epoch; y ← y + x, sums ← column sums of y.
  void step(OrreryVarying epoch) const {
    const OrreryDropout dropout{0.5, 11, epoch, 1, ids_, 0};
    session_.must(api_.fill(session_.stream, matrix(x_), 1));
    session_.must(api_.activate(session_.stream, matrix(x_), nullptr, matrix(x_),
                                kOrreryNoActivation, dropout));
    session_.must(api_.copy(session_.stream, matrix(x_), matrix(y_), 1, 1));
    session_.must(api_.column_sum(session_.stream, matrix(y_), sums_, 0));
  }
  std::vector<float> all(const float* from, std::int64_t count) const {
    std::vector<float> values(static_cast<std::size_t>(count));
    session_.must(api_.copy_out(session_.stream, values.data(), from, 4 * count));
    session_.must(api_.stream_sync(session_.stream));
    return values;
  }
  std::vector<float> results() const {
    std::vector<float> both = all(y_, kRows * kCols), sums = all(sums_, kCols);
    both.insert(both.end(), sums.begin(), sums.end());
    return both;
  }
  void clear() const { session_.must(api_.fill(session_.stream, matrix(y_), 0)); }

  const OrreryCudaApi& api_ = *GetParam().api;
  const CudaSession session_{api_};
  float* x_ = session_.allocate<float>(4 * kRows * kCols);
  float* y_ = session_.allocate<float>(4 * kRows * kCols);
  float* sums_ = session_.allocate<float>(4 * kCols);
  std::int32_t* ids_ = session_.allocate<std::int32_t>(4 * kRows);
};

TEST_P(CudaGraphs, LaunchesGiveTheBitsOfTheSameCallsOneByOne) {
  clear();
  for (const std::uint32_t epoch : {3U, 4U, 5U, 9U}) step({epoch, nullptr});
  const auto want = results();

  clear();
  step({3, nullptr});
  OrreryGraph* graph = nullptr;
  const std::uint32_t* words = nullptr;
  session_.must(api_.graph_begin(session_.stream, 1, &graph, &words));
  step({0, words});
  session_.must(api_.graph_end(graph));
  for (const std::uint32_t epoch : {4U, 5U, 9U}) session_.must(api_.graph_launch(graph, &epoch));

  EXPECT_EQ(results(), want);
  api_.graph_close(graph);
}

TEST_P(CudaGraphs, CapturingDoesNothing) {
  clear();
  step({1, nullptr});
  const auto before = results();
  OrreryGraph* graph = nullptr;
  const std::uint32_t* words = nullptr;
  session_.must(api_.graph_begin(session_.stream, 1, &graph, &words));
  step({2, words});
  session_.must(api_.graph_end(graph));

  EXPECT_EQ(results(), before);
  api_.graph_close(graph);
}

TEST_P(CudaGraphs, AGraphKeepsTheScratchThatItWasCapturedWith) {
  clear();
  step({1, nullptr});
  OrreryGraph* graph = nullptr;
  const std::uint32_t* words = nullptr;
  session_.must(api_.graph_begin(session_.stream, 1, &graph, &words));
  step({0, words});
  session_.must(api_.graph_end(graph));
  // Partial sums of many more columns: the stream's scratch is another one from here on.
  const std::int64_t wide = 100000;
  auto* large = session_.allocate<float>(4 * 2 * wide);
  session_.must(api_.fill(session_.stream, {large, 2, wide, wide, kOrreryF32}, 1));
  session_.must(
      api_.column_sum(session_.stream, {large, 1, wide, wide, kOrreryF32}, large + wide, 0));
  clear();
  const std::uint32_t epoch = 6;
  session_.must(api_.graph_launch(graph, &epoch));
  const auto got = results();

  clear();
  step({6, nullptr});
  EXPECT_EQ(got, results());
  api_.graph_close(graph);
}

/// More numbers than one launch brings along.
TEST_P(CudaGraphs, EveryNumberThatVariesIsSet) {
  constexpr std::int32_t kCalls = 700;
  float *w = y_, *g = x_, *m = x_ + kCalls, *v = y_ + kCalls;
  session_.must(api_.fill(session_.stream, matrix(x_), 1));
  clear();
  const std::uint32_t one = std::bit_cast<std::uint32_t>(1.0F);
  OrreryGraph* graph = nullptr;
  const std::uint32_t* words = nullptr;
  // w ← w − 1·(1 / correction1) / (sqrt(1 / 1) + 1): with rate 1, betas 0 and epsilon 1.
  const auto call = [&](std::int32_t i, OrreryVarying first) {
    session_.must(
        api_.adam(session_.stream, w + i, g + i, m, v, 1, 1, 0, 0, 0, 1, first, {one, nullptr}));
  };
  session_.must(api_.graph_begin(session_.stream, kCalls, &graph, &words));
  for (std::int32_t i = 0; i < kCalls; ++i) call(i, {0, words + i});
  session_.must(api_.graph_end(graph));
  std::vector<std::uint32_t> values;
  for (std::int32_t i = 0; i < kCalls; ++i)
    values.push_back(std::bit_cast<std::uint32_t>(1.0F / static_cast<float>(i + 1)));
  session_.must(api_.graph_launch(graph, values.data()));

  const auto got = all(w, kCalls);
  for (std::int32_t i = 0; i < kCalls; ++i)
    ASSERT_NEAR(got[static_cast<std::size_t>(i)], -0.5F * static_cast<float>(i + 1), 1e-3F);
  api_.graph_close(graph);
}

/// An operation that was not prepared allocates, which no capture allows: that is an error, and the
/// stream goes on.
TEST_P(CudaGraphs, WhatWasNotPreparedIsRefused) {
  OrreryGraph* graph = nullptr;
  const std::uint32_t* words = nullptr;
  session_.must(api_.graph_begin(session_.stream, 0, &graph, &words));
  EXPECT_EQ(api_.column_sum(session_.stream, matrix(y_), sums_, 0), kOrreryFailed);
  EXPECT_NE(std::string(api_.last_error()).find("captur"), std::string::npos) << api_.last_error();
  api_.graph_close(graph);

  clear();
  step({1, nullptr});
  EXPECT_EQ(results().size(), static_cast<std::size_t>((kRows + 1) * kCols));
}

INSTANTIATE_TEST_SUITE_P(Libraries, CudaGraphs, ::testing::ValuesIn(cuda_libraries()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace orrery::testing
