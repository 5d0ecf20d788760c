// Stores among threads, and under an executor whose device computes meanwhile.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <thread>

#include "backends/comm_threads/comm_threads.hpp"
#include "core/base/error.hpp"
#include "core/runtime/buffer.hpp"
#include "core/runtime/execute/executor.hpp"
#include "core/runtime/summary.hpp"
#include "tests/comm_threads/threads.hpp"
#include "tests/support/busy_kernels.hpp"
#include "tests/support/stores.hpp"

namespace orrery {
namespace {

using testing::HostRank;
using testing::rows;

class Stores : public ::testing::TestWithParam<std::tuple<testing::CollectiveCase, int>> {};

TEST_P(Stores, HoldAmongThreads) {
  const auto& [store_case, count] = GetParam();
  store_case.check(threads(count));
}

INSTANTIATE_TEST_SUITE_P(Ranks, Stores,
                         ::testing::Combine(::testing::ValuesIn(testing::store_cases()),
                                            ::testing::Values(1, 2, 3, 4)),
                         [](const auto& made) {
                           return std::get<0>(made.param).name + "_on_" +
                                  std::to_string(std::get<1>(made.param));
                         });

Executor::Options options_of(int rank, int size) {
  Executor::Options options;
  options.rank = rank;
  options.size = size;
  options.placement = Placement::uniform(1, size);
  return options;
}

const Store kStore{3, world_group(2)};

/// Two ranks with three rows each; what rank 1 does while they are exposed fails in these words,
/// whatever rank 0 waits for.
void expect_failure(const std::function<void(Communicator&, HostRank&)>& rank_1_does,
                    const std::vector<std::string>& words) {
  try {
    ThreadWorld(2).run([&](int r, Communicator& communicator) {
      HostRank rank;
      const Tensor table = rank.filled<float>(3 + r, 2, 0);
      communicator.run(Lane::store, Expose{kStore, table}, rank.memory);
      if (r == 1) rank_1_does(communicator, rank);
      communicator.run(Lane::store, Withdraw{kStore, table}, rank.memory);
    });
    ADD_FAILURE() << "nothing failed";
  } catch (const Error& error) {
    for (const std::string& word : words)
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
  }
}

TEST(ThreadStores, ARowThatItsOwnerDoesNotHaveIsAnErrorThatNamesBoth) {
  for (const std::int32_t row : {3, -1, 2147483647})
    for (const bool push : {false, true})
      expect_failure(
          [&](Communicator& communicator, HostRank& rank) {
            const Tensor index = rank.tensor<std::int32_t>(3, 1, {2, row, 3});
            const Tensor values = rank.filled<float>(3, 2, 1);
            const auto counts = rows({2, 1});
            if (push)
              communicator.run(Lane::store, Push{kStore, index, counts, values}, rank.memory);
            else
              communicator.run(Lane::store, Pull{kStore, index, counts, values}, rank.memory);
          },
          {fmt::format("index[1] asks for row {} of rank 0, which has 3 rows there", row)});
}

TEST(ThreadStores, RowsOfAnotherWidthAreAnError) {
  expect_failure(
      [&](Communicator& communicator, HostRank& rank) {
        communicator.run(Lane::store,
                         Pull{kStore, rank.filled<std::int32_t>(1, 1, 0), rows({1, 0}),
                              rank.filled<float>(1, 3, 1)},
                         rank.memory);
      },
      {"store 3 of ranks 0..1 has rows of 2 f32, not of 3 f32"});
}

TEST(ThreadStores, AStoreThatIsNotOpenIsAnError) {
  const Store other{4, world_group(2)};
  expect_failure(
      [&](Communicator& communicator, HostRank& rank) {
        communicator.run(Lane::store,
                         Pull{other, rank.filled<std::int32_t>(1, 1, 0), rows({1, 0}),
                              rank.filled<float>(1, 2, 1)},
                         rank.memory);
      },
      {"store 4 of ranks 0..1 is used although rank 1 has not exposed its rows"});
}

TEST(ThreadStores, OnlyAnOpenStoreIsWithdrawn) {
  const auto use = [](bool opened_before, bool opened_again) {
    ThreadWorld(2).run([=](int, Communicator& communicator) {
      HostRank rank;
      const Tensor table = rank.filled<float>(3, 2, 0);
      const auto run = [&](const Op& op) { communicator.run(Lane::store, op, rank.memory); };
      if (opened_before) run(Expose{kStore, table});
      if (opened_again) run(Expose{kStore, table});
      run(Withdraw{kStore, table});
    });
  };

  use(true, false);
  EXPECT_THROW(use(false, false), ProgramError);
  EXPECT_THROW(use(true, true), ProgramError);
}

/// An owner's failure takes its memory away; who pulls then is told, and touches none of it.
TEST(ThreadStores, AnOwnerThatFailsStopsThoseWhoPull) {
  try {
    ThreadWorld(3).run([&](int r, Communicator& communicator) {
      const Store store{3, world_group(3)};
      Executor rt(
          options_of(r, 3), [] { return std::make_unique<testing::BusyKernels>(0.0); },
          communicator);
      const Tensor table = rt.alloc({4, 1000}, DType::f32, Space::host, "rows");
      const Tensor index = rt.alloc({6, 1}, DType::i32, Space::host, "index");
      const Tensor y = rt.alloc({6, 1000}, DType::f32, Space::host, "pulled");
      const std::int32_t all[6] = {0, 1, 2, 3, 0, 1};
      std::copy(std::begin(all), std::end(all), rt.memory().data<std::int32_t>(index));
      rt.submit(Lane::store, Expose{store, table});
      rt.sync(rt.record(Lane::store));
      if (r == 1) {
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        throw Error("the owner is gone");
      }
      for (;;) {  // until it fails
        rt.submit(Lane::store, Pull{store, index, rows({2, 2, 2}), y});
        rt.sync(rt.record(Lane::store));
      }
    });
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "the owner is gone");
  }
}

/// The owner's memory goes while it leaves, before its runtime: others may be reading it just then.
TEST(ThreadStores, AnOwnerThatFailsKeepsItsMemoryUntilNobodyReadsIt) {
  constexpr std::int64_t kWidth = 1 << 21;
  for (int turn = 0; turn < 20; ++turn) try {
      ThreadWorld(2).run([&](int r, Communicator& communicator) {
        Executor rt(
            options_of(r, 2), [] { return std::make_unique<testing::BusyKernels>(0.0); },
            communicator);
        const Buffer table(rt, {2, kWidth}, DType::f32, "rows", Space::server_host);
        rt.submit(Lane::store, Expose{kStore, table.tensor()});
        rt.sync(rt.record(Lane::store));
        if (r == 1) {
          std::this_thread::sleep_for(std::chrono::milliseconds(5 + turn % 5));
          throw Error("the owner is gone");
        }
        const Buffer index(rt, {2, 1}, DType::i32, "index", Space::host);
        const Buffer y(rt, {2, kWidth}, DType::f32, "pulled", Space::host);
        for (int i = 0; i < 2; ++i) rt.memory().data<std::int32_t>(index.tensor())[i] = i;
        for (;;) {  // until it fails
          rt.submit(Lane::store, Pull{kStore, index.tensor(), rows({0, 2}), y.tensor()});
          rt.sync(rt.record(Lane::store));
        }
      });
      FAIL();
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), "the owner is gone");
    }
}

TEST(ThreadStores, AnAbortWakesWhoWaitsToOpenOrClose) {
  for (const bool close : {false, true})
    EXPECT_THROW(ThreadWorld(2).run([&](int r, Communicator& communicator) {
      HostRank rank;
      const Tensor table = rank.filled<float>(3, 2, 0);
      if (close) communicator.run(Lane::store, Expose{kStore, table}, rank.memory);
      if (r == 1) throw Error("gone");
      if (close)
        communicator.run(Lane::store, Withdraw{kStore, table}, rank.memory);
      else
        communicator.run(Lane::store, Expose{kStore, table}, rank.memory);
      ADD_FAILURE() << "went on";
    }),
                 Error);
}

/// The bytes that the programs of all ranks state for each class of link are those that came in
/// over it.
TEST(ThreadStores, VolumesByLinkClassAreWhatCameIn) {
  constexpr int kRanks = 4;
  const Placement placement = Placement::uniform(2, 2);
  const Store store{3, world_group(kRanks)};
  std::mutex mutex;
  double internal = 0, external = 0;  // as the programs state it
  std::int64_t came_internal = 0, came_external = 0;
  ThreadWorld(kRanks).run([&](int r, Communicator& communicator) {
    Executor::Options options = options_of(r, kRanks);
    options.placement = placement;
    options.keep_steps = true;
    Executor rt(
        options, [] { return std::make_unique<testing::BusyKernels>(0.0); }, communicator);
    const auto asked = rows({1, 0, 2, r});
    const Tensor table = rt.alloc({4, 5}, DType::f32, Space::host, "rows");
    const Tensor index = rt.alloc({3 + r, 1}, DType::i32, Space::host, "index");
    const Tensor values = rt.alloc({3 + r, 5}, DType::f32, Space::host, "values");
    std::fill_n(rt.memory().data<std::int32_t>(index), 3 + r, r);
    rt.submit(Lane::store, Expose{store, table});
    rt.submit(Lane::store, Pull{store, index, asked, values});
    rt.submit(Lane::store, Push{store, index, asked, values});
    rt.submit(Lane::store, Withdraw{store, table});
    rt.finish();
    const auto timeline = rt.take_timeline();
    for (const Span& s : timeline.spans)
      if (s.kind == "pull" || s.kind == "expose") {
        EXPECT_LE(s.external, 1);
        // Rank 0 pulls its one row of another rank from rank 2, on the other server.
        if (s.kind == "pull" && r == 0) {
          EXPECT_EQ(s.external, 1);
        }
      }
    const Summary summary = summarise(rt.recorder().program(), placement);
    const std::lock_guard lock(mutex);
    internal += summary.setup.sum().internal;
    external += summary.setup.sum().external;
    const auto came = communicator.received_from();
    for (int from = 0; from < kRanks; ++from)
      (placement.same_server(from, r) ? came_internal : came_external) +=
          came[static_cast<std::size_t>(from)];
    for (const Tensor& t : {table, index, values}) rt.release(t);
  });

  EXPECT_EQ(internal, static_cast<double>(came_internal));
  EXPECT_EQ(external, static_cast<double>(came_external));
  // A pulled or pushed row is 4 + 20 bytes. Rank 0 asks rank 2 for two rows; rank 1 asks rank 0 for
  // one, rank 2 for two, rank 3 for one; rank 2 asks rank 0 for one, rank 3 for two; rank 3 asks
  // rank 0 for one, rank 2 for two.
  EXPECT_EQ(internal, 2 * 24 * (1 + 2 + 2));
  EXPECT_EQ(external, 2 * 24 * (2 + 2 + 1 + 1 + 1));
}

/// Both devices compute for a second; pulls on the store lanes do not wait for them.
TEST(ThreadStores, ArePulledFromWhileTheirOwnersCompute) {
  ThreadWorld(2).run([&](int r, Communicator& communicator) {
    Executor rt(
        options_of(r, 2), [] { return std::make_unique<testing::BusyKernels>(1.0); }, communicator);
    const Tensor table = rt.alloc({4, 8}, DType::f32, Space::host, "rows");
    const Tensor index = rt.alloc({2, 1}, DType::i32, Space::host, "index");
    const Tensor y = rt.alloc({2, 8}, DType::f32, Space::host, "pulled");
    const Tensor x = rt.alloc({1, 1}, DType::f32, Space::device, "x");
    std::fill_n(rt.memory().data<float>(table), 32, static_cast<float>(r + 1));
    std::fill_n(rt.memory().data<std::int32_t>(index), 2, 3);
    rt.submit(Lane::store, Expose{kStore, table});
    rt.sync(rt.record(Lane::store));
    rt.submit(Lane::compute, Fill{x, 0});
    const auto begin = std::chrono::steady_clock::now();

    rt.submit(Lane::store, Pull{kStore, index, rows({1, 1}), y});
    rt.sync(rt.record(Lane::store));

    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    EXPECT_LT(took.count(), 0.5);
    EXPECT_EQ(rt.memory().data<float>(y)[0], 1);
    EXPECT_EQ(rt.memory().data<float>(y)[8], 2);
    rt.submit(Lane::store, Withdraw{kStore, table});
    for (const Tensor& t : {table, index, y, x}) rt.release(t);
    rt.finish();
    const Timeline timeline = rt.take_timeline();
    const auto pull = std::find_if(timeline.spans.begin(), timeline.spans.end(),
                                   [](const Span& s) { return s.kind == "pull"; });
    ASSERT_NE(pull, timeline.spans.end());
    EXPECT_EQ(pull->lane, Lane::store);
    EXPECT_EQ(pull->external, 0);
  });
}

}  // namespace
}  // namespace orrery
