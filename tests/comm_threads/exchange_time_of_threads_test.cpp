// Where the time of collectives among threads on several servers is put.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <thread>

#include "backends/comm_threads/comm_threads.hpp"
#include "core/runtime/execute/executor.hpp"
#include "tests/support/busy_kernels.hpp"

namespace orrery {
namespace {

/// Two servers of two. In epoch 0 rank 1 comes a quarter of a second late, in epoch 1 rank 2: rank 0
/// waits inside its server first, for another server then.
TEST(ExchangeTimeOfThreads, IsWhereTheRanksAreThatAreWaitedFor) {
  std::array<Breakdown, 2> of_rank_0;
  std::array<double, 2> seconds{};
  ThreadWorld(4).run([&](int r, Communicator& communicator) {
    Executor::Options options;
    options.rank = r;
    options.size = 4;
    options.placement = Placement::uniform(2, 2);
    Executor rt(
        options, [] { return std::make_unique<testing::BusyKernels>(0.0); }, communicator);
    const Tensor x = rt.alloc({400, 8}, DType::f32, Space::device, "x");
    for (const int epoch : {0, 1}) {
      rt.phase({Stage::forward, epoch, 1});
      if (r == epoch + 1) std::this_thread::sleep_for(std::chrono::milliseconds(250));
      rt.submit(Lane::comm, AllReduce{x, world_group(4)});
      rt.sync(rt.record(Lane::comm));
    }
    rt.phase({Stage::evaluate, 1});
    rt.release(x);
    rt.finish();
    if (r > 0) return;
    const Timeline timeline = rt.take_timeline();
    for (const int epoch : {0, 1}) {
      of_rank_0[static_cast<std::size_t>(epoch)] = epoch_breakdown(timeline, epoch);
      seconds[static_cast<std::size_t>(epoch)] = epoch_seconds(timeline.marks, epoch);
    }
  });

  EXPECT_GT(of_rank_0[0].internal, 0.15);
  EXPECT_GT(of_rank_0[0].internal, 2 * of_rank_0[0].external);
  EXPECT_GT(of_rank_0[1].external, 0.15);
  EXPECT_GT(of_rank_0[1].external, 2 * of_rank_0[1].internal);
  for (const std::size_t epoch : {0U, 1U}) {
    EXPECT_GT(of_rank_0[epoch].internal, 0);
    EXPECT_GT(of_rank_0[epoch].external, 0);
    EXPECT_NEAR(of_rank_0[epoch].total(), seconds[epoch], 1e-12);
  }
}

}  // namespace
}  // namespace orrery
