// The record of what batches ask other ranks for: kept and read back, and what caches make of it.
#include "core/strategy/store/access_trace.hpp"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/graph/files/npy.hpp"
#include "core/strategy/store/cache_study.hpp"
#include "tests/support/problems.hpp"

namespace orrery {
namespace {

using ::testing::HasSubstr;

constexpr int kTracedRanks = 3;

Problem traced_problem() {
  MiniBatchSettings settings;
  settings.batch = 20;
  settings.fanouts = {4, 3};
  StrategyConfig config;
  config.type = "mini_batch";
  config.own = std::move(settings);
  return testing::make_problem(testing::random_dataset(150, 900, 12, 4, true), kTracedRanks,
                               config);
}

class AccessTraces : public ::testing::Test {
 protected:
  AccessTraces() : problem_(traced_problem()), batches_(problem_) {
    std::string name = (std::filesystem::path(::testing::TempDir()) / "traces_XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    for (int rank = 0; rank < kTracedRanks; ++rank)
      ranks_.push_back(accesses_of(batches_, rank, 2));
  }
  ~AccessTraces() override { std::filesystem::remove_all(folder_); }

  /// The message of reading, with other lines of batches and rows.
  std::string refusal(const std::vector<std::int64_t>& lines,
                      const std::vector<Vertex>& rows) const {
    const auto put = [&](const char* name, const auto& values, std::vector<std::int64_t> shape) {
      using T = typename std::decay_t<decltype(values)>::value_type;
      NpyWriter file = NpyWriter::create<T>(folder_ / name, shape);
      file.append(std::span<const T>(values));
      file.close();
    };
    put(kAccessBatches, lines, {std::ssize(lines) / 4, 4});
    put(kAccesses, rows, {std::ssize(rows)});
    try {
      read_accesses(folder_, batches_.owners());
    } catch (const DataError& error) {
      return error.what();
    }
    return "accepted";
  }
  Vertex row_of(int rank) const { return batches_.owned(rank)->front(); }

  Problem problem_;
  SampledBatches batches_;
  std::filesystem::path folder_;
  std::vector<AccessTrace> ranks_;
};

/// Against the batches themselves: the vertices of level 0 that other ranks own.
TEST_F(AccessTraces, HaveTheForeignVerticesOfEachBatch) {
  for (int rank = 0; rank < kTracedRanks; ++rank) {
    const AccessTrace& trace = ranks_[at(rank)];
    ASSERT_EQ(std::ssize(trace.batches), 2 * batches_.steps());
    for (std::size_t b = 0; b < trace.batches.size(); ++b) {
      const auto [epoch, step] = trace.batches[b].step;
      std::vector<Vertex> expected;
      const SampledBatch batch = batches_.batch(rank, epoch, step);
      for (const Vertex v : *batch.vertices)
        if (problem_.partition.owner[at(v)] != rank) expected.push_back(v);
      EXPECT_THAT(trace.of(b), ::testing::ElementsAreArray(expected));
    }
  }
}

TEST_F(AccessTraces, AreReadAsTheyWereWritten) {
  const std::int64_t bytes = write_accesses(folder_, ranks_);

  EXPECT_EQ(read_accesses(folder_, batches_.owners()), ranks_);
  EXPECT_EQ(bytes, static_cast<std::int64_t>(std::filesystem::file_size(folder_ / kAccesses) +
                                             std::filesystem::file_size(folder_ / kAccessBatches)));
}

TEST_F(AccessTraces, AnswerForCachesAsTheBatchesDo) {
  write_accesses(folder_, ranks_);
  const std::vector<std::int64_t> rows{1, 7, 30, 75, 200};
  const auto kept = read_accesses(folder_, batches_.owners());

  const CacheStudy drawn = study_caches(batches_, kTracedRanks, rows,
                                        [&](int rank) { return accesses_of(batches_, rank, 2); });
  const CacheStudy read =
      study_caches(batches_, kTracedRanks, rows, [&](int rank) { return kept[at(rank)]; });

  EXPECT_EQ(read.epochs, 2);
  EXPECT_EQ(read.batches, drawn.batches);
  EXPECT_EQ(read.requests, drawn.requests);
  EXPECT_EQ(read.most, drawn.most);
  for (std::size_t p = 0; p < drawn.policies.size(); ++p)
    EXPECT_EQ(read.policies[p].hits, drawn.policies[p].hits) << drawn.policies[p].name;
}

TEST_F(AccessTraces, OfOtherGraphsAndPartitionsAreRefused) {
  const Vertex foreign = row_of(1);
  EXPECT_EQ(refusal({0, 0, 0, 1}, {foreign}), "accepted");
  EXPECT_THAT(refusal({}, {}), HasSubstr("has no batches"));
  EXPECT_THAT(refusal({0, 0, 0, 1}, {row_of(0)}), HasSubstr("of another partition"));
  EXPECT_THAT(refusal({0, 0, 0, 1}, {150}), HasSubstr("the graph has 150 vertices"));
  EXPECT_THAT(refusal({0, 0, 0, 1}, {-1}), HasSubstr("has row -1"));
  EXPECT_THAT(refusal({3, 0, 0, 1}, {foreign}), HasSubstr("of another number of ranks"));
  EXPECT_THAT(refusal({1, 0, 0, 0, 0, 0, 0, 1}, {foreign}), HasSubstr("in ascending order"));
  EXPECT_THAT(refusal({0, -1, 0, 1}, {foreign}), HasSubstr("found -1 as an epoch or step"));
  EXPECT_THAT(refusal({0, 0, 0, 2}, {foreign}), HasSubstr("found 2 as the end of its rows"));
  EXPECT_THAT(refusal({0, 0, 0, 1, 0, 0, 1, 0}, {foreign}), HasSubstr("expected 1 to 1"));
  EXPECT_THAT(refusal({0, 0, 0, 0}, {foreign}), HasSubstr("the batches end at 0"));
}

}  // namespace
}  // namespace orrery
