// The executor on a device whose lanes go on before their work is done.
#include "core/runtime/execute/executor.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>

#include "backends/comm_threads/comm_threads.hpp"
#include "backends/cuda/cuda_device.hpp"
#include "backends/cuda/staged_communicator.hpp"
#include "backends/reference/reference.hpp"
#include "core/base/error.hpp"
#include "tests/cuda/library.hpp"
#include "tests/support/problems.hpp"

namespace orrery {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

cuda::CudaDevice::Options device_of(int rank, int ranks, std::int64_t bytes = 64 * kMiB) {
  cuda::CudaDevice::Options options;
  options.gpu = cuda::choose_gpu(rank, ranks);
  options.device_bytes = bytes;
  options.host_kernels = make_reference_kernels;
  return options;
}

void on_one_rank(const std::function<void(Executor&)>& body, std::int64_t bytes = 64 * kMiB) {
  ThreadWorld(1).run([&](int, Communicator& communicator) {
    cuda::CudaDevice device(device_of(0, 1, bytes));
    Executor::Options options;
    options.guard_bytes = 64;
    Executor rt(options, device, communicator);
    body(rt);
  });
}

Load values(const Tensor& to, const std::vector<float>& list) {
  return {FloatArray{std::make_shared<const std::vector<float>>(list)}, to};
}

TEST(ExecutorOnGpu, AnEventOrdersWorkOfTwoLanes) {
  on_one_rank([](Executor& rt) {
    const Tensor a = rt.alloc({4, 1}, DType::f32, Space::device, "a");
    const Tensor b = rt.alloc({4, 1}, DType::f32, Space::device, "b");
    rt.submit(Lane::copy, values(a, {1, 2, 3, 4}));
    rt.wait(Lane::compute, rt.record(Lane::copy));
    rt.submit(Lane::compute, Copy{a, b, 2});
    rt.wait(Lane::comm, rt.record(Lane::compute));
    rt.submit(Lane::comm, Copy{b, a, 1, true});

    EXPECT_EQ(rt.scalar(Lane::comm, a.rows_at(3, 1)), 12.0);
    rt.finish();
  });
}

/// A wait counts the work before its event, and none of what came later.
TEST(ExecutorOnGpu, AWaitIsForThePositionAndNotForTheLane) {
  on_one_rank([](Executor& rt) {
    const Tensor a = rt.alloc({1, 1}, DType::f32, Space::device, "a");
    const Tensor b = rt.alloc({1, 1}, DType::f32, Space::device, "b");
    rt.submit(Lane::compute, Fill{a, 1});
    const Event first = rt.record(Lane::compute);
    rt.submit(Lane::compute, Fill{b, 5});
    rt.wait(Lane::compute, rt.record(Lane::copy));
    rt.wait(Lane::copy, first);
    rt.submit(Lane::copy, Copy{a, a, 3});

    EXPECT_EQ(rt.scalar(Lane::copy, a), 3.0);
    rt.finish();
  });
}

TEST(ExecutorOnGpu, MemoryOfHostAndDeviceIsCopiedBothWays) {
  on_one_rank([](Executor& rt) {
    const Tensor on = rt.alloc({2, 3}, DType::f32, Space::device, "on");
    const Tensor off = rt.alloc({2, 3}, DType::f32, Space::pinned_host, "off");
    const auto kept = std::make_shared<std::vector<float>>();
    rt.submit(Lane::copy, values(on, {1, 2, 3, 4, 5, 6}));
    rt.submit(Lane::copy, Copy{on, off});
    rt.submit(Lane::copy, Copy{off, on, 10});
    rt.submit(Lane::copy, Save{on, kept});
    rt.finish();

    EXPECT_EQ(*kept, (std::vector<float>{10, 20, 30, 40, 50, 60}));
  });
}

TEST(ExecutorOnGpu, ReleasedMemoryIsUsedAgainWhenTheWorkThatUsesItHasPassed) {
  on_one_rank(
      [](Executor& rt) {
        for (int i = 0; i < 20; ++i) {
          const Tensor large = rt.alloc({90 * kMiB / 4, 1}, DType::f32, Space::device, "large");
          rt.submit(Lane::compute, Fill{large.rows_at(0, 10), static_cast<double>(i)});
          rt.release(large);
        }
        rt.finish();
        EXPECT_EQ(rt.memory().bytes_in_use(), 0);
      },
      100 * kMiB);
}

TEST(ExecutorOnGpu, AnArenaThatIsFullNamesTheTensor) {
  on_one_rank([](Executor& rt) {
    rt.alloc({100 * kMiB / 4, 1}, DType::f32, Space::device, "weights/first");
    try {
      rt.alloc({100 * kMiB / 4, 1}, DType::f32, Space::device, "activations/layer 1");
      FAIL();
    } catch (const OutOfMemory& error) {
      EXPECT_EQ(error.tensor, "activations/layer 1");
      EXPECT_EQ(error.asked, 100 * kMiB);
      EXPECT_EQ(error.in_use, 100 * kMiB);
      EXPECT_LT(error.capacity, 200 * kMiB);
    }
  });
}

TEST(ExecutorOnGpu, SpansLieWhereTheWorkWas) {
  on_one_rank([](Executor& rt) {
    const Tensor a = rt.alloc({1000, 1}, DType::f32, Space::device, "a");
    for (int epoch = 0; epoch < 2; ++epoch) {
      rt.phase({Stage::forward, epoch});
      rt.submit(Lane::copy, Fill{a, 1});
      rt.wait(Lane::compute, rt.record(Lane::copy));
      rt.submit(Lane::compute, Copy{a, a, 2});
      rt.finish();
      rt.phase({Stage::evaluate, epoch});
      const Timeline timeline = rt.take_timeline();

      ASSERT_EQ(timeline.spans.size(), 2U);
      const Span &fill = timeline.spans[0], &copy = timeline.spans[1];
      EXPECT_EQ(fill.kind, "fill");
      EXPECT_LE(fill.begin, fill.end);
      EXPECT_LE(fill.end, copy.begin + 1e-6);
      EXPECT_LE(copy.begin, copy.end);
      EXPECT_GE(fill.begin, timeline.marks.front().at - 1e-3);
      EXPECT_LE(copy.end, timeline.marks.back().at + 1e-3);
    }
  });
}

/// Rows and requests are made on one rank's GPU and used on the other's; the stores between them
/// lie with the hosts. With ranks that are threads, and with a communicator of host memory.
TEST(ExecutorOnGpu, RowsOfStoresGoOverTheHost) {
  for (const bool staged : {false, true})
    ThreadWorld(2).run([&](int r, Communicator& threads) {
      cuda::CudaDevice device(device_of(r, 2));
      cuda::StagedCommunicator host_memory(threads, 2, r, device);
      Executor::Options options;
      options.rank = r;
      options.size = 2;
      options.placement = Placement::uniform(1, 2);
      Executor rt(options, device, staged ? host_memory : threads);
      const Store store{3, world_group(2)};
      const Tensor on = rt.alloc({2, 3}, DType::f32, Space::device, "on");
      const Tensor table = rt.alloc({2, 3}, DType::f32, Space::pinned_host, "table");
      const Tensor index = rt.alloc({2, 1}, DType::i32, Space::pinned_host, "index");
      const Tensor rows = rt.alloc({2, 3}, DType::f32, Space::pinned_host, "rows");
      const auto one_each = std::make_shared<const std::vector<std::int64_t>>(2, 1);
      const auto first = static_cast<float>(10 * r);
      const auto numbers = std::make_shared<const std::vector<Vertex>>(std::vector<Vertex>{1, 0});
      const auto kept = std::make_shared<std::vector<float>>();

      rt.submit(Lane::copy, values(on, {first, 1, 2, first, 4, 5}));
      rt.submit(Lane::copy, Copy{on, table});
      rt.wait(Lane::store, rt.record(Lane::copy));
      rt.submit(Lane::store, Load{IndexArray{numbers}, index});
      rt.submit(Lane::store, Expose{store, table});
      rt.submit(Lane::store, Pull{store, index, one_each, rows});
      rt.submit(Lane::store, Copy{rows, on, 2});
      rt.submit(Lane::store, Save{on, kept});
      rt.submit(Lane::store, Withdraw{store, table});
      rt.submit(Lane::store, Expose{store, table});
      rt.submit(Lane::store, Fill{on, 1});
      rt.submit(Lane::store, Copy{on, rows});
      rt.submit(Lane::store, Push{store, index, one_each, rows});
      rt.submit(Lane::store, Withdraw{store, table});
      rt.finish();

      EXPECT_EQ(*kept, (std::vector<float>{0, 8, 10, 20, 2, 4})) << "row 1 of 0, row 0 of 1";
      const float* sums = rt.memory().data<float>(table);
      const std::vector<float> want =
          r == 0 ? std::vector<float>{0, 1, 2, 2, 6, 7} : std::vector<float>{12, 3, 4, 10, 4, 5};
      EXPECT_EQ(std::vector<float>(sums, sums + 6), want) << "both added 1";
    });
}

TEST(ExecutorOnGpu, AKernelThatFailsOnOneRankEndsAllOfThem) {
  if (!std::string(std::getenv("ORRERY_CUDA_LIBRARY")).ends_with(ORRERY_EMULATED_LIBRARY))
    GTEST_SKIP() << "a GPU fails at nobody's command";
  for (const int launch : {1, 5, 20, 60}) {
    Problem problem =
        testing::make_problem(testing::random_dataset(60, 300, 12, 4, true), 4, "full_graph");
    testing::emulate_failing_launch(launch);

    try {
      testing::execute(problem, "cuda");
      ADD_FAILURE() << "launch " << launch << " did not fail";
    } catch (const Aborted&) {
      ADD_FAILURE() << "not the rank that failed is told";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("the GPU failed"), std::string::npos)
          << error.what();
    }
    testing::emulate_failing_launch(0);
  }
}

}  // namespace
}  // namespace orrery
