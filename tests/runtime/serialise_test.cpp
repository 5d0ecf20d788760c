// Values that travel as bytes come back as they were, or not at all.
#include "core/runtime/serialise.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "core/base/error.hpp"
#include "core/runtime/run_fields.hpp"
#include "tests/support/made_up_run.hpp"

namespace orrery {
namespace {

using test::made_up_cost, test::made_up_summary, test::made_up_timeline;

TEST(Serialise, BringsBackEveryMemberOfWhatARunLeaves) {
  const EpochCost cost = made_up_cost(1);
  const Timeline timeline = made_up_timeline(5);
  const Summary summary = made_up_summary();

  EXPECT_EQ(read_back<EpochCost>(written(cost)), cost);
  EXPECT_EQ(read_back<Timeline>(written(timeline)), timeline);
  EXPECT_EQ(read_back<Summary>(written(summary)), summary);
}

TEST(Serialise, BringsBackEmptyLists) {
  const std::vector<std::vector<std::string>> lists{{}, {"", "one"}, {}};

  EXPECT_EQ(read_back<decltype(lists)::value_type>(written(lists[1])), lists[1]);
  EXPECT_EQ(read_back<std::vector<std::vector<std::string>>>(written(lists)), lists);
  EXPECT_EQ(read_back<Timeline>(written(Timeline{})), Timeline{});
}

TEST(Serialise, KindsOutliveTheirMessage) {
  Timeline back;
  {
    Timeline sent = made_up_timeline(0);
    const std::string kind = "of this block alone";
    sent.spans[0].kind = kind;
    back = read_back<Timeline>(written(sent));
  }

  EXPECT_EQ(back.spans.at(0).kind, "of this block alone");
}

/// A list that says it has more values than its message has bytes.
template <class T>
std::string boasting(std::size_t size) {
  std::string bytes = written(std::vector<T>(3));
  std::memcpy(bytes.data(), &size, sizeof size);
  return bytes;
}

TEST(Serialise, AsksForNoMemoryForWhatIsNotThere) {
  for (const std::size_t size : {std::size_t{4}, std::size_t{1} << 40, ~std::size_t{0}}) {
    EXPECT_THROW(read_back<std::vector<double>>(boasting<double>(size)), Error);
    EXPECT_THROW(read_back<std::vector<Span>>(boasting<Span>(size)), Error);
    EXPECT_THROW(read_back<std::vector<std::string>>(boasting<std::string>(size)), Error);
    EXPECT_THROW((read_back<std::map<int, int>>(boasting<int>(size))), Error);
  }
}

}  // namespace
}  // namespace orrery
