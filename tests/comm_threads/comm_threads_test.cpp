// Collectives among threads against what they are defined to give.
#include "backends/comm_threads/comm_threads.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "core/base/error.hpp"
#include "tests/comm_threads/threads.hpp"
#include "tests/support/collectives.hpp"

namespace orrery {
namespace {

using testing::Rank;

class Collectives : public ::testing::TestWithParam<std::tuple<testing::CollectiveCase, int>> {};

TEST_P(Collectives, HoldAmongThreads) {
  const auto& [collective, count] = GetParam();
  collective.check(threads(count));
}

INSTANTIATE_TEST_SUITE_P(Ranks, Collectives,
                         ::testing::Combine(::testing::ValuesIn(testing::collective_cases()),
                                            ::testing::Values(1, 2, 3, 5)),
                         [](const auto& made) {
                           return std::get<0>(made.param).name + "_on_" +
                                  std::to_string(std::get<1>(made.param));
                         });

TEST(ThreadWorld, SubgroupsOfTheGridReduceSeparately) {
  testing::subgroups_of_the_grid_reduce_separately(threads(6));
}

TEST(ThreadWorld, CallsThatDoNotMatchAreAnErrorNotAHang) {
  EXPECT_THROW(ThreadWorld(2).run([&](int r, Communicator& communicator) {
    Rank rank;
    const Tensor x = rank.tensor(1, 4, {1, 2, 3, 4});
    if (r == 0)
      communicator.run(Lane::comm, Broadcast{x, 0, world_group(2)}, rank.memory);
    else
      communicator.run(Lane::comm, AllReduce{x, world_group(2)}, rank.memory);
  }),
               ProgramError);
}

TEST(ThreadWorld, ARankThatLeavesWakesThoseWhoWait) {
  EXPECT_THROW(ThreadWorld(3).run([&](int r, Communicator& communicator) {
    Rank rank;
    const Tensor x = rank.tensor(1, 4, {1, 2, 3, 4});
    if (r == 2) throw Error("gone");
    communicator.run(Lane::comm, AllReduce{x, world_group(3)}, rank.memory);
  }),
               Error);
}

/// Rank 0 is woken by the failure of rank 1 and leaves with its memory; rank 2, which comes late,
/// must not touch it.
TEST(ThreadWorld, ARankThatComesLateToAFailedMeetingIsToldSo) {
  for (const bool message : {false, true})
    EXPECT_THROW(ThreadWorld(3).run([&](int r, Communicator& communicator) {
      Rank rank;
      const Tensor x = rank.tensor(1, 4, {1, 2, 3, 4});
      const Group two{1, 0, 2, 2};  // ranks 0 and 2
      if (r == 1) throw Error("gone");
      if (r == 2) std::this_thread::sleep_for(std::chrono::milliseconds(30));
      if (message)
        communicator.run(
            Lane::comm,
            r == 0 ? SendRecv{x, std::nullopt, 1, -1, two} : SendRecv{std::nullopt, x, -1, 0, two},
            rank.memory);
      else
        communicator.run(Lane::comm, AllReduce{x, two}, rank.memory);
      ADD_FAILURE() << "rank " << r << " went on";
    }),
                 Error);
}

}  // namespace
}  // namespace orrery
