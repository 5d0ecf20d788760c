// check() finds every fault that it promises to find, and none in correct programs.
#include "core/runtime/check/check.hpp"

#include <gtest/gtest.h>

#include <array>

#include "core/base/error.hpp"
#include "core/runtime/recorder.hpp"

namespace orrery {
namespace {

using ::testing::Test;

/// A recorder of rank 0 of 2 with two small tensors.
class Local : public Test {
 protected:
  std::vector<Finding> findings() {
    rt.release(a);
    rt.release(b);
    return find_local_problems(rt.program());
  }
  void expect_finding(const std::string& words) {
    const auto found = findings();
    ASSERT_EQ(found.size(), 1U);
    EXPECT_NE(found[0].problem.find(words), std::string::npos) << found[0].problem;
  }

  Recorder rt{{0, 2, {}, true}};
  Tensor a = rt.alloc({4, 4}, DType::f32, Space::device, "a");
  Tensor b = rt.alloc({4, 4}, DType::f32, Space::device, "b");
};

TEST_F(Local, WritesOnTwoLanesWithoutAnEventAreARace) {
  rt.submit(Lane::compute, Fill{a, 1});
  rt.submit(Lane::comm, Fill{a, 2});

  expect_finding("race: 'a' is written on comm while step");
}

TEST_F(Local, AnEventOrdersTwoLanes) {
  rt.submit(Lane::compute, Fill{a, 1});
  rt.wait(Lane::comm, rt.record(Lane::compute));
  rt.submit(Lane::comm, Fill{a, 2});

  EXPECT_TRUE(findings().empty());
}

TEST_F(Local, AnEventRecordedTooEarlyDoesNotOrder) {
  const Event early = rt.record(Lane::compute);
  rt.submit(Lane::compute, Fill{a, 1});
  rt.wait(Lane::comm, early);
  rt.submit(Lane::comm, Copy{a, b});

  expect_finding("race: 'a' is read on comm");
}

TEST_F(Local, OrderIsTransitiveOverAThirdLane) {
  rt.submit(Lane::compute, Fill{a, 1});
  rt.wait(Lane::copy, rt.record(Lane::compute));
  rt.wait(Lane::comm, rt.record(Lane::copy));
  rt.submit(Lane::comm, Fill{a, 2});

  EXPECT_TRUE(findings().empty());
}

TEST_F(Local, TheHostOrdersLanesBySync) {
  rt.submit(Lane::compute, Fill{a, 1});
  rt.sync(rt.record(Lane::compute));
  rt.submit(Lane::comm, Fill{a, 2});

  EXPECT_TRUE(findings().empty());
}

TEST_F(Local, TwoReadsDoNotRace) {
  rt.submit(Lane::compute, Fill{a, 1});
  rt.wait(Lane::comm, rt.record(Lane::compute));
  rt.submit(Lane::comm, Broadcast{b, 0, {0, 0, 1, 1}});
  rt.wait(Lane::compute, rt.record(Lane::comm));
  rt.wait(Lane::copy, rt.record(Lane::compute));
  rt.submit(Lane::compute, Copy{a, b.rows_at(0, 4)});
  rt.submit(Lane::copy, ColumnSum{a, rt.alloc({1, 4}, DType::f32, Space::device, "sum"), 0});

  const auto found = findings();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].problem, "leak: 'sum' is never released");
}

TEST_F(Local, DisjointWindowsDoNotRaceAndOverlappingOnesDo) {
  rt.submit(Lane::compute, Fill{a.rows_at(0, 2), 1});
  rt.submit(Lane::comm, Fill{a.rows_at(2, 2), 1});
  rt.submit(Lane::copy, Fill{b.cols_at(0, 2), 1});
  rt.submit(Lane::comm, Fill{b.cols_at(2, 2), 1});
  EXPECT_TRUE(find_local_problems(rt.program()).size() == 2) << "two leaks only";

  rt.submit(Lane::copy, Fill{a.rows_at(1, 1), 1});
  expect_finding("race: 'a' is written on copy while step");
}

/// The two-buffer pipeline of spmm_1d; without the line that waits for the product two stages back
/// the next broadcast overwrites a buffer that is being read.
TEST_F(Local, ForgottenWaitInADoubleBufferIsARace) {
  for (const bool forgotten : {false, true}) {
    Recorder pipeline({0, 2, {}, true});
    std::array<Tensor, 2> buffer{pipeline.alloc({4, 4}, DType::f32, Space::device, "b0"),
                                 pipeline.alloc({4, 4}, DType::f32, Space::device, "b1")};
    const Tensor sum = pipeline.alloc({1, 4}, DType::f32, Space::device, "sum");
    std::array<Event, 2> free{};
    for (std::size_t j = 0; j < 6; ++j) {
      if (!forgotten) pipeline.wait(Lane::comm, free[j % 2]);
      pipeline.submit(Lane::comm, Broadcast{buffer[j % 2], 0, world_group(2)});
      pipeline.wait(Lane::compute, pipeline.record(Lane::comm));
      pipeline.submit(Lane::compute, ColumnSum{buffer[j % 2], sum, 1});
      free[j % 2] = pipeline.record(Lane::compute);
    }
    for (const Tensor& t : {buffer[0], buffer[1], sum}) pipeline.release(t);

    EXPECT_EQ(find_local_problems(pipeline.program()).size(), forgotten ? 4U : 0U);
  }
}

TEST_F(Local, UseAfterReleaseIsFound) {
  const Tensor c = rt.alloc({4, 4}, DType::f32, Space::device, "c");
  rt.submit(Lane::compute, Fill{c, 1});
  rt.release(c);
  rt.submit(Lane::compute, Copy{c, a});

  expect_finding("'c' is used after its release");
}

TEST_F(Local, ReleasingTwiceIsFound) {
  const Tensor c = rt.alloc({1, 1}, DType::f32, Space::device, "c");
  rt.release(c);
  rt.release(c);

  expect_finding("'c' is released twice");
}

TEST_F(Local, PatternsLeakAndRaceLikeTensors) {
  auto csr = std::make_shared<const Csr>(build_csr({4, {0, 1}, {1, 2}}));
  const Sparse s = rt.declare(Lane::copy, csr, "pattern");
  rt.submit(Lane::compute, Fill{a, 1});
  rt.submit(Lane::compute, SpMM{s, std::nullopt, a, b, 0});
  rt.release(s);
  expect_finding("race: 'pattern' is read on compute");

  Recorder leaking({0, 1, {}, true});
  leaking.declare(Lane::copy, csr, "pattern");
  EXPECT_EQ(find_local_problems(leaking.program())[0].problem, "leak: 'pattern' is never released");
}

TEST_F(Local, ReadingAScalarWaitsForItsLaneOnly) {
  rt.submit(Lane::compute, Fill{a, 1});
  rt.submit(Lane::comm, Fill{b, 1});
  rt.scalar(Lane::compute, a);
  EXPECT_EQ(find_local_problems(rt.program()).size(), 2U) << "two leaks only";

  rt.submit(Lane::comm, Fill{b, 2});
  rt.scalar(Lane::compute, b);
  expect_finding("race: the host reads 'b' while step");
}

TEST_F(Local, ResultsOfATaskAreReadAfterJoin) {
  const Task task = rt.host(Lane::sampler, [] { return HostWork{"sample", 10, 80, 1}; });
  rt.join(task);
  rt.submit(Lane::compute, Fill{a, 1});

  const std::string text = to_string(rt.program());
  EXPECT_NE(text.find("sampler  task 0 sample items=10 bytes=80 threads=1"), std::string::npos);
  EXPECT_TRUE(findings().empty());
}

/// Two recorders whose collectives are compared.
class Across : public Test {
 protected:
  Across() {
    for (int r = 0; r < 3; ++r) {
      ranks.emplace_back(Recorder::Options{r, 3, {}, true});
      x.push_back(ranks.back().alloc({6, 2}, DType::f32, Space::device, "x"));
      y.push_back(ranks.back().alloc({6, 2}, DType::f32, Space::device, "y"));
    }
  }
  std::string problem() {
    std::vector<Program> programs;
    for (const Recorder& r : ranks) programs.push_back(r.program());
    const auto found = find_collective_problems(programs);
    return found.empty() ? "" : fmt_rank(found[0]);
  }
  static std::string fmt_rank(const Finding& f) {
    return "rank " + std::to_string(f.rank) + ": " + f.problem;
  }
  static std::shared_ptr<const std::vector<std::int64_t>> rows(std::vector<std::int64_t> list) {
    return std::make_shared<const std::vector<std::int64_t>>(std::move(list));
  }

  std::vector<Recorder> ranks;
  std::vector<Tensor> x, y;
  Group all = world_group(3);
};

TEST_F(Across, MatchingSequencesPass) {
  for (std::size_t r = 0; r < 3; ++r) {
    ranks[r].submit(Lane::comm, Broadcast{x[r], 1, all});
    ranks[r].submit(Lane::comm2, AllReduce{y[r], all});
    const int right = static_cast<int>((r + 1) % 3), left = static_cast<int>((r + 2) % 3);
    ranks[r].submit(Lane::comm, SendRecv{x[r], y[r], right, left, all});
  }

  EXPECT_EQ(problem(), "");
}

TEST_F(Across, DifferentKindsAreNamed) {
  ranks[0].submit(Lane::comm, Broadcast{x[0], 1, all});
  ranks[1].submit(Lane::comm, Broadcast{x[1], 1, all});
  ranks[2].submit(Lane::comm, AllReduce{x[2], all});

  EXPECT_EQ(problem(), "rank 2: does not match rank 0 step 2: broadcast meets all_reduce");
}

TEST_F(Across, DifferentRootsAndSizesAreNamed) {
  ranks[0].submit(Lane::comm, Broadcast{x[0], 1, all});
  ranks[1].submit(Lane::comm, Broadcast{x[1], 0, all});
  ranks[2].submit(Lane::comm, Broadcast{x[2], 1, all});
  EXPECT_NE(problem().find("roots 1 and 0"), std::string::npos);

  ranks[0].submit(Lane::comm, AllReduce{x[0], all});
  EXPECT_NE(problem(), "");
}

TEST_F(Across, RowsSentMustBeTheRowsExpected) {
  const auto two = rows({2, 2, 2});
  ranks[0].submit(Lane::comm, AllToAllV{x[0], y[0], rows({2, 3, 1}), two, all});
  ranks[1].submit(Lane::comm, AllToAllV{x[1], y[1], two, two, all});
  ranks[2].submit(Lane::comm, AllToAllV{x[2], y[2], two, rows({2, 2, 2}), all});

  EXPECT_NE(problem().find("index 0 sends 3 rows to 1, which expects 2"), std::string::npos);
}

TEST_F(Across, AMissingCallIsAWaitForEver) {
  ranks[0].submit(Lane::comm, AllReduce{x[0], all});
  ranks[1].submit(Lane::comm, AllReduce{x[1], all});

  EXPECT_EQ(problem(), "rank 0: all_reduce on comm waits forever; rank 2 has no more");
}

TEST_F(Across, OppositeOrderOverTwoLanesIsADeadlock) {
  for (std::size_t r = 0; r < 3; ++r) {
    const bool swapped = r == 2;
    ranks[r].submit(swapped ? Lane::comm2 : Lane::comm, AllReduce{x[r], all});
    ranks[r].submit(swapped ? Lane::comm : Lane::comm2, AllReduce{x[r], all});
  }

  EXPECT_NE(problem().find("waits forever"), std::string::npos);
}

TEST_F(Across, ASendWithoutAReceiveIsFound) {
  ranks[0].submit(Lane::comm, SendRecv{x[0], std::nullopt, 1, -1, all});
  ranks[1].submit(Lane::comm, SendRecv{std::nullopt, y[1], -1, 2, all});

  EXPECT_NE(problem().find("send_recv on comm waits forever"), std::string::npos);
}

TEST_F(Across, SubgroupsDoNotDisturbEachOther) {
  const Group even{1, 0, 2, 2};  // ranks 0 and 2
  ranks[0].submit(Lane::comm, AllReduce{x[0], even});
  ranks[2].submit(Lane::comm, AllReduce{x[2], even});
  for (std::size_t r = 0; r < 3; ++r) ranks[r].submit(Lane::comm, AllReduce{x[r], all});

  EXPECT_EQ(problem(), "");
}

TEST(Check, ThrowsTheFirstFindingAndCountsTheOthers) {
  Recorder rt({0, 1, {}, true});
  rt.alloc({1, 1}, DType::f32, Space::device, "a");
  rt.alloc({1, 1}, DType::f32, Space::device, "b");

  try {
    check(std::vector<Program>{rt.program()});
    FAIL();
  } catch (const ProgramError& error) {
    EXPECT_STREQ(error.what(), "rank 0, step 0: leak: 'a' is never released (and 1 more findings)");
  }
}

}  // namespace
}  // namespace orrery
