// The NCCL entries of the table among threads, on the emulated library.
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "tests/cuda/table_kernels.hpp"

namespace orrery::testing {
namespace {

constexpr int kRanks = 3;

/// One rank: a device of its own, three numbers of the rank plus 1, and room for nine.
struct Rank {
  Rank(const OrreryCudaApi& table, int number, const char* id) : api(table), rank(number) {
    must(api.device_open(rank, 1 << 20, &device));
    must(api.stream_open(device, &stream));
    must(api.nccl_open(device, kRanks, rank, id, &nccl));
    void* p = nullptr;
    must(api.allocate(device, 4 * 12, &p));
    x = static_cast<float*>(p);
    must(api.fill(stream, {x, 1, 3, 3, kOrreryF32}, rank + 1));
  }
  ~Rank() {
    api.nccl_close(nccl);
    api.stream_close(stream);
    api.device_close(device);
  }
  void must(int code) const { ASSERT_EQ(code, kOrreryOk) << api.last_error(); }
  std::vector<float> read(const float* from, std::int64_t n) const {
    std::vector<float> values(static_cast<std::size_t>(n));
    must(api.copy_out(stream, values.data(), from, 4 * n));
    must(api.stream_sync(stream));
    return values;
  }

  const OrreryCudaApi& api;
  int rank;
  OrreryDevice* device = nullptr;
  OrreryStream* stream = nullptr;
  OrreryNccl* nccl = nullptr;
  float* x = nullptr;
};

class CudaNccl : public ::testing::Test {
 protected:
  void SetUp() override { setenv("ORRERY_EMULATED_DEVICES", "3", 1); }
  void TearDown() override { unsetenv("ORRERY_EMULATED_DEVICES"); }

  template <class Work>
  void on_all_ranks(Work work) {
    const OrreryCudaApi& api = *emulated_cuda().api;
    char id[128];
    ASSERT_EQ(api.nccl_unique_id(id), kOrreryOk);
    std::vector<std::thread> threads;
    for (int r = 0; r < kRanks; ++r)
      threads.emplace_back([&, r] {
        const Rank rank(api, r, id);
        work(rank);
      });
    for (auto& thread : threads) thread.join();
  }
};

using Floats = std::vector<float>;

TEST_F(CudaNccl, CollectivesMoveAndSumWhatRanksHold) {
  on_all_ranks([](const Rank& r) {
    const auto& api = r.api;
    float* y = r.x + 3;
    r.must(api.nccl_all_gather(r.nccl, r.stream, r.x, y, 12));
    EXPECT_EQ(r.read(y, 9), (Floats{1, 1, 1, 2, 2, 2, 3, 3, 3}));
    r.must(api.nccl_reduce_scatter(r.nccl, r.stream, kOrreryF32, y, r.x, 3));
    EXPECT_EQ(r.read(r.x, 3), Floats(3, static_cast<float>(3 * (r.rank + 1))));
    r.must(api.nccl_reduce(r.nccl, r.stream, kOrreryF32, r.x, 3, 1));
    EXPECT_EQ(r.read(r.x, 3),
              Floats(3, r.rank == 1 ? 18.0F : static_cast<float>(3 * (r.rank + 1))));
    r.must(api.nccl_broadcast(r.nccl, r.stream, r.x, 12, 1));
    EXPECT_EQ(r.read(r.x, 3), Floats(3, 18));
    r.must(api.nccl_all_reduce(r.nccl, r.stream, kOrreryF32, r.x, 3));
    EXPECT_EQ(r.read(r.x, 3), Floats(3, 54));
    EXPECT_EQ(api.nccl_async_error(r.nccl), kOrreryOk);
  });
}

TEST_F(CudaNccl, AGroupOfSendsAndReceivesIsAnAllToAll) {
  on_all_ranks([](const Rank& r) {
    float* y = r.x + 3;
    r.must(r.api.nccl_group_start());
    for (int peer = 0; peer < kRanks; ++peer) {
      r.must(r.api.nccl_send(r.nccl, r.stream, r.x, 4, peer));
      r.must(r.api.nccl_recv(r.nccl, r.stream, y + peer, 4, peer));
    }
    r.must(r.api.nccl_group_end());
    EXPECT_EQ(r.read(y, 3), (Floats{1, 2, 3}));
  });
}

TEST_F(CudaNccl, AnAbortEndsTheWaitOfTheOthers) {
  on_all_ranks([](const Rank& r) {
    if (r.rank == 2) {
      r.api.nccl_abort(r.nccl);
      return;
    }
    EXPECT_EQ(r.api.nccl_all_reduce(r.nccl, r.stream, kOrreryF32, r.x, 3), kOrreryFailed);
    EXPECT_NE(r.api.nccl_async_error(r.nccl), kOrreryOk);
  });
}

TEST_F(CudaNccl, RanksThatShareADeviceAreRefused) {
  const OrreryCudaApi& api = *emulated_cuda().api;
  char id[128];
  ASSERT_EQ(api.nccl_unique_id(id), kOrreryOk);
  std::vector<std::thread> threads;
  for (int r = 0; r < 2; ++r)
    threads.emplace_back([&, r] {
      const CudaSession session(api, 1 << 20);
      OrreryNccl* nccl = nullptr;
      EXPECT_EQ(api.nccl_open(session.device, 2, r, id, &nccl), kOrreryFailed);
    });
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace orrery::testing
