// Ranks of different processes find by digests what the check of all programs finds.
#include "core/runtime/check/check_digest.hpp"

#include <gtest/gtest.h>

#include "core/base/index.hpp"
#include "core/runtime/recorder.hpp"

namespace orrery {
namespace {

using Counts64 = std::vector<std::int64_t>;

std::shared_ptr<const Counts64> rows(Counts64 list) {
  return std::make_shared<const Counts64>(std::move(list));
}

/// Two ranks, each with its program.
class Digests : public ::testing::Test {
 protected:
  std::vector<Finding> findings() {
    std::vector<std::vector<CollectiveDigest>> all;
    for (Recorder& rt : ranks_)
      all.push_back(digests_from_text(to_text(digest_collectives(rt.program()))));
    return compare_digests(all);
  }
  void expect_finding(const std::string& words) {
    const auto found = findings();
    ASSERT_FALSE(found.empty());
    EXPECT_NE(found[0].problem.find(words), std::string::npos) << found[0].problem;
  }
  Tensor tensor(int rank, std::int64_t rows, std::int64_t cols) {
    return at(rank).alloc({rows, cols}, DType::f32, Space::device, "t");
  }
  Recorder& at(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }

  std::vector<Recorder> ranks_{Recorder({0, 2, {}, true}), Recorder({1, 2, {}, true})};
  const Group both_ = world_group(2);
};

TEST_F(Digests, OfEqualSequencesAgree) {
  for (const int r : {0, 1}) {
    at(r).submit(Lane::comm, Broadcast{tensor(r, 2, 3), 1, both_});
    at(r).submit(Lane::comm2, AllReduce{tensor(r, 1, 5), both_});
    at(r).submit(Lane::comm, Reduce{tensor(r, 2, 2), 0, both_});
    at(r).submit(Lane::comm, SendRecv{tensor(r, 1, 1), tensor(r, 1, 1), 1 - r, 1 - r, both_});
    at(r).submit(Lane::comm, AllToAllV{tensor(r, 3, 2), tensor(r, r == 0 ? 5 : 1, 2),
                                       r == 0 ? rows({2, 1}) : rows({3, 0}),
                                       r == 0 ? rows({2, 3}) : rows({1, 0}), both_});
  }

  EXPECT_TRUE(findings().empty());
}

TEST_F(Digests, TellOtherRootsSizesKindsAndOrders) {
  at(0).submit(Lane::comm, Broadcast{tensor(0, 2, 3), 0, both_});
  at(1).submit(Lane::comm, Broadcast{tensor(1, 2, 3), 1, both_});

  expect_finding(
      "collectives of ranks 0..1 on comm do not match those of rank 0 (1 calls against 1)");
}

TEST_F(Digests, TellACallThatOneRankLacks) {
  for (const int r : {0, 1}) at(r).submit(Lane::comm, AllReduce{tensor(r, 1, 4), both_});
  at(1).submit(Lane::comm, AllReduce{tensor(1, 1, 4), both_});

  expect_finding("(2 calls against 1)");
}

TEST_F(Digests, TellALaneThatOneRankDoesNotUse) {
  at(1).submit(Lane::comm2, AllReduce{tensor(1, 1, 4), both_});

  expect_finding("on comm2: 1 of 2 ranks take part");
}

TEST_F(Digests, TellRowsThatAreNotExpected) {
  for (const int r : {0, 1})
    at(r).submit(Lane::comm, AllToAllV{tensor(r, 2, 2), tensor(r, r == 0 ? 2 : 3, 2), rows({1, 1}),
                                       r == 0 ? rows({1, 1}) : rows({2, 1}), both_});

  expect_finding("messages from index 0 to 1 of ranks 0..1 on comm do not match");
}

TEST_F(Digests, TellAMessageThatNobodyReceives) {
  at(0).submit(Lane::comm, SendRecv{tensor(0, 1, 1), std::nullopt, 1, -1, both_});

  expect_finding("messages from index 0 to 1 of ranks 0..1 on comm: 1 of 2 ranks take part");
}

TEST_F(Digests, LeaveGroupsOfOthersAlone) {
  at(0).submit(Lane::comm, AllReduce{tensor(0, 1, 4), Group{1, 0, 1, 1}});

  EXPECT_TRUE(findings().empty());
}

}  // namespace
}  // namespace orrery
