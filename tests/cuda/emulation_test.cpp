// The emulated block: the guarantees of barriers and warp functions.
#include <gtest/gtest.h>

#include <cuda_runtime.h>

#include <vector>

namespace orrery::testing {
namespace {

void run(unsigned blocks, dim3 block, const std::function<void()>& body) {
  emulation::run_grid({blocks, 1, 1}, {block.x, block.y, block.z}, body);
}

TEST(CudaEmulation, EveryThreadOfEveryBlockRunsOnce) {
  std::vector<int> seen(3 * 60);
  run(3, {5, 4, 3},
      [&] { ++seen[blockIdx.x * 60 + threadIdx.x + 5 * (threadIdx.y + 4 * threadIdx.z)]; });
  EXPECT_EQ(seen, std::vector<int>(180, 1));
}

TEST(CudaEmulation, ABarrierSeparatesWritesFromReads) {
  std::vector<int> sums;
  run(2, {300}, [&] {
    __shared__ int numbers[300];
    for (int round = 1; round <= 3; ++round) {
      numbers[threadIdx.x] = round * static_cast<int>(threadIdx.x);
      __syncthreads();
      if (threadIdx.x == 7) {
        int sum = 0;
        for (const int n : numbers) sum += n;
        sums.push_back(sum);
      }
      __syncthreads();
    }
  });
  EXPECT_EQ(sums, (std::vector<int>{44850, 89700, 134550, 44850, 89700, 134550}));
}

TEST(CudaEmulation, ShufflesMoveValuesWithinTheirGroup) {
  run(1, {64}, [] {
    const int lane = static_cast<int>(threadIdx.x % 32), group = lane / 8 * 8;
    EXPECT_EQ(__shfl_sync(~0U, lane, 3, 8), group + 3);
    EXPECT_EQ(__shfl_xor_sync(~0U, lane, 16), lane ^ 16);
    EXPECT_EQ(__shfl_down_sync(~0U, 2.0 * lane, 8), 2.0 * (lane < 24 ? lane + 8 : lane));
    const unsigned mask = 0xFFU << group;
    for (int i = 0; i < group; ++i)  // groups of one warp go their own ways
      EXPECT_EQ(__shfl_sync(mask, lane + i, i % 8, 8), group + i % 8 + i);
  });
}

TEST(CudaEmulationDeathTest, ABarrierThatSomeThreadsNeverReachIsAnError) {
  EXPECT_DEATH(run(1, {64},
                   [] {
                     if (threadIdx.x < 63) __syncthreads();
                   }),
               "not reached by all threads");
}

TEST(CudaEmulationDeathTest, AWarpFunctionThatALaneOfTheMaskMissesIsAnError) {
  EXPECT_DEATH(run(1, {32},
                   [] {
                     if (threadIdx.x != 5) __syncwarp();
                   }),
               "not reached by all threads");
  EXPECT_DEATH(run(1, {32}, [] { __syncwarp(1); }), "without being in its mask");
}

}  // namespace
}  // namespace orrery::testing
