// The executor: lanes run side by side, events order them, failures end everything.
#include "core/runtime/execute/executor.hpp"

#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "backends/comm_threads/comm_threads.hpp"
#include "backends/reference/reference.hpp"
#include "core/base/error.hpp"

namespace orrery {
namespace {

using namespace std::chrono_literals;

/// Kernels that do what a test tells them at every fill: sleep, fail, take note.
class ScriptedKernels final : public Kernels {
 public:
  explicit ScriptedKernels(std::function<void(const Fill&)> at_fill)
      : at_fill_(std::move(at_fill)) {}
  std::string_view name() const override { return "scripted"; }
  void run(const Op& op, const RankMemory& memory) override {
    if (const auto* fill = std::get_if<Fill>(&op)) at_fill_(*fill);
    reference_->run(op, memory);
  }

 private:
  std::function<void(const Fill&)> at_fill_;
  std::unique_ptr<Kernels> reference_ = make_reference_kernels();
};

void on_one_rank(const std::function<void(const Fill&)>& at_fill,
                 const std::function<void(Executor&)>& body) {
  ThreadWorld(1).run([&](int, Communicator& communicator) {
    Executor rt(
        {}, [&] { return std::make_unique<ScriptedKernels>(at_fill); }, communicator);
    body(rt);
  });
}

TEST(Executor, LanesRunSideBySide) {
  std::atomic<int> running{0};
  std::atomic<bool> met{false};
  const auto meet = [&](const Fill&) {
    ++running;
    for (int i = 0; i < 5000 && !met; ++i) {
      if (running == 2) met = true;
      std::this_thread::sleep_for(1ms);
    }
  };
  on_one_rank(meet, [&](Executor& rt) {
    const Tensor a = rt.alloc({1, 1}, DType::f32, Space::device, "a");
    const Tensor b = rt.alloc({1, 1}, DType::f32, Space::device, "b");
    rt.submit(Lane::compute, Fill{a, 1});
    rt.submit(Lane::copy, Fill{b, 1});
    rt.finish();
  });

  EXPECT_TRUE(met) << "each fill waited for the other to be running";
}

TEST(Executor, AnEventOrdersWorkOfTwoLanes) {
  std::vector<double> order;
  const auto slow_first = [&](const Fill& fill) {
    if (fill.value == 1) std::this_thread::sleep_for(20ms);
    order.push_back(fill.value);
  };
  on_one_rank(slow_first, [&](Executor& rt) {
    const Tensor a = rt.alloc({1, 1}, DType::f32, Space::device, "a");
    rt.submit(Lane::compute, Fill{a, 1});
    rt.wait(Lane::copy, rt.record(Lane::compute));
    rt.submit(Lane::copy, Fill{a, 2});
    EXPECT_EQ(rt.scalar(Lane::copy, a), 2.0);
  });

  EXPECT_EQ(order, (std::vector<double>{1, 2}));
}

TEST(Executor, ReleaseWaitsForTheWorkThatUsesTheMemory) {
  std::promise<void> released;
  const auto held_up = [&, done = released.get_future().share()](const Fill&) { done.wait(); };
  on_one_rank(held_up, [&](Executor& rt) {
    const Tensor a = rt.alloc({1000, 1}, DType::f32, Space::device, "a");
    rt.submit(Lane::compute, Fill{a, 1});
    rt.release(a);
    EXPECT_EQ(rt.memory().bytes_in_use(), 4000) << "still in use by the lane";
    released.set_value();
    rt.finish();
    EXPECT_EQ(rt.memory().bytes_in_use(), 0);
  });
}

/// A training may make as many tensors as it has batches.
TEST(Executor, RemembersNothingThatIsReleased) {
  on_one_rank([](const Fill&) {},
              [](Executor& rt) {
                const auto bytes_after = [&rt](int steps) {
                  for (int i = 0; i < steps; ++i) {
                    const Tensor a =
                        rt.alloc({1, 1}, DType::f32, Space::device, "a tensor with a long name");
                    const Sparse s =
                        rt.declare(Lane::compute, Counts{1, 1, 1}, "a pattern with a long name");
                    rt.submit(Lane::compute, Fill{a, 1});
                    rt.join(rt.host(Lane::sampler, [] { return HostWork{}; }));
                    rt.release(s);
                    rt.release(a);
                    rt.sync(rt.record(Lane::compute));
                  }
                  rt.take_timeline();
                  return ::mallinfo2().uordblks;
                };
                const std::size_t before = bytes_after(200);
                if (before == 0) GTEST_SKIP() << "this allocator does not tell what is in use";
                const std::size_t after = bytes_after(5000);
                EXPECT_LT(after, before + 100'000);
                rt.finish();
              });
}

/// Else what a lane does far ahead of the others would hold memory that it has nothing to do with.
TEST(Executor, ReleaseDoesNotWaitForWorkOnOtherMemory) {
  std::promise<void> released;
  const auto held_up = [&, done = released.get_future().share()](const Fill& fill) {
    if (fill.value == 2) done.wait();
  };
  on_one_rank(held_up, [&](Executor& rt) {
    const Tensor a = rt.alloc({1000, 1}, DType::f32, Space::device, "a"),
                 b = rt.alloc({10, 1}, DType::f32, Space::device, "b");
    rt.submit(Lane::compute, Fill{a, 1});
    rt.sync(rt.record(Lane::compute));
    rt.submit(Lane::copy, Fill{b, 2});
    rt.release(a);
    EXPECT_EQ(rt.memory().bytes_in_use(), 40);
    released.set_value();
    rt.finish();
  });
}

TEST(Executor, AKernelThatFailsIsToldAtTheNextWaitAndSkipsTheRest) {
  std::atomic<int> calls{0};
  const auto fail = [&](const Fill&) {
    if (++calls == 1) throw Error("kernel failed");
  };
  on_one_rank(fail, [&](Executor& rt) {
    const Tensor a = rt.alloc({1, 1}, DType::f32, Space::device, "a");
    rt.submit(Lane::compute, Fill{a, 1});
    rt.submit(Lane::compute, Fill{a, 2});
    EXPECT_THROW(rt.sync(rt.record(Lane::compute)), Error);
  });

  EXPECT_EQ(calls, 1);
}

TEST(Executor, AHostTaskRunsAheadAndReportsAtJoin) {
  int made = 0;
  on_one_rank([](const Fill&) {},
              [&](Executor& rt) {
                const Task task = rt.host(Lane::sampler, [&] {
                  made = 42;
                  return HostWork{"sample", 7, 0, 1};
                });
                rt.join(task);
                EXPECT_EQ(made, 42);
              });
}

/// One rank fails in a kernel while the others already wait in a collective: all end, and the first
/// failure is the one reported.
TEST(Executor, ARankThatFailsWakesTheOthersAndIsTheOneReported) {
  try {
    ThreadWorld(3).run([&](int rank, Communicator& communicator) {
      const auto fail = [rank](const Fill&) {
        if (rank != 1) return;
        std::this_thread::sleep_for(20ms);
        throw Error("rank 1 broke");
      };
      Executor::Options options;
      options.rank = rank;
      options.size = 3;
      Executor rt(
          options, [&] { return std::make_unique<ScriptedKernels>(fail); }, communicator);
      const Tensor a = rt.alloc({8, 1}, DType::f32, Space::device, "a");
      rt.submit(Lane::compute, Fill{a, 1});
      rt.wait(Lane::comm, rt.record(Lane::compute));
      rt.submit(Lane::comm, AllReduce{a, world_group(3)});
      rt.sync(rt.record(Lane::comm));
    });
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "rank 1 broke (in fill, setup)");
  }
}

TEST(Executor, AStrategyThatThrowsWakesTheOthers) {
  EXPECT_THROW(ThreadWorld(2).run([&](int rank, Communicator& communicator) {
    Executor::Options options;
    options.rank = rank;
    options.size = 2;
    Executor rt(options, make_reference_kernels, communicator);
    const Tensor a = rt.alloc({8, 1}, DType::f32, Space::device, "a");
    rt.submit(Lane::comm, Fill{a, 0});
    rt.submit(Lane::comm, AllReduce{a, world_group(2)});
    if (rank == 0) throw ConfigError("key", "wrong");
    rt.finish();
  }),
               ConfigError);
}

TEST(Executor, MemoryIsRefusedBeyondTheCapacity) {
  ThreadWorld(1).run([&](int, Communicator& communicator) {
    Executor::Options options;
    options.capacities.bytes[0] = 100;
    Executor rt(options, make_reference_kernels, communicator);
    rt.alloc({20, 1}, DType::f32, Space::device, "first");
    EXPECT_THROW(rt.alloc({6, 1}, DType::f32, Space::device, "second"), OutOfMemory);
  });
}

TEST(Executor, ShapesAreCheckedBeforeAnythingRuns) {
  on_one_rank([](const Fill&) {},
              [&](Executor& rt) {
                const Tensor a = rt.alloc({2, 3}, DType::f32, Space::device, "a");
                const Tensor b = rt.alloc({2, 3}, DType::f32, Space::device, "b");
                const Tensor c = rt.alloc({2, 3}, DType::f32, Space::device, "c");
                EXPECT_THROW(rt.submit(Lane::compute, Gemm{a, b, c}), ShapeError);
              });
}

TEST(Executor, MarksTheDeviceMemoryWhereItChanges) {
  Timeline timeline;
  on_one_rank([](const Fill&) {},
              [&](Executor& rt) {
                const Tensor a = rt.alloc({4, 1}, DType::f32, Space::device, "a");
                const Tensor b = rt.alloc({2, 1}, DType::f32, Space::host, "b");
                const Tensor c = rt.alloc({8, 1}, DType::f32, Space::device, "c");
                rt.release(a);
                rt.release(b);
                rt.release(c);
                rt.finish();
                timeline = rt.take_timeline();
              });

  std::vector<std::int64_t> bytes;
  for (const Timeline::MemoryMark& mark : timeline.memory) bytes.push_back(mark.device_bytes);
  EXPECT_EQ(bytes, (std::vector<std::int64_t>{16, 48, 32, 0}));
}

}  // namespace
}  // namespace orrery
