// Collectives of ranks that are threads: how long one takes from the moment the last rank comes.
//
//   thread_bench [RANKS...]      default: 2 4
//
// Each line is the median over 2,000 calls (200 of large ones) that follow each other, and what a
// call would take if it only copied what each rank receives at the rate of one core.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <vector>

#include "backends/comm_threads/comm_threads.hpp"
#include "core/ops/ops.hpp"

namespace orrery {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Seconds of an all-reduce of n floats, median over the calls of rank 0.
double all_reduce_seconds(int ranks, std::int64_t n, int calls) {
  std::vector<double> seconds;
  ThreadWorld(ranks).run([&](int rank, Communicator& communicator) {
    RankMemory memory;
    const Tensor x{0, {1, n}, DType::f32, Space::device, 0, n};
    memory.allocate(0, n * 4);
    std::fill_n(memory.data<float>(x), n, 0.0F);
    const AllReduce sum{x, world_group(ranks)};
    for (int i = -20; i < calls; ++i) {
      const double begin = now();
      communicator.run(Lane::comm, sum, memory);
      if (rank == 0 && i >= 0) seconds.push_back(now() - begin);
    }
  });
  std::nth_element(seconds.begin(), seconds.begin() + calls / 2, seconds.end());
  return seconds[static_cast<std::size_t>(calls) / 2];
}

double copy_seconds(std::int64_t bytes) {
  std::vector<char> from(static_cast<std::size_t>(bytes), 1), to(from);
  double least = 1;
  for (int i = 0; i < 20; ++i) {
    const double begin = now();
    std::memcpy(to.data(), from.data(), from.size());
    asm volatile("" : : "r"(to.data()) : "memory");
    least = std::min(least, now() - begin);
  }
  return least;
}

}  // namespace
}  // namespace orrery

int main(int argc, char** argv) {
  try {
    std::vector<int> worlds;
    for (int i = 1; i < argc; ++i) worlds.push_back(std::atoi(argv[i]));
    if (worlds.empty()) worlds = {2, 4};
    fmt::print("{:>6} {:>12} {:>14} {:>14}\n", "ranks", "all-reduce", "median", "copy alone");
    for (const int ranks : worlds)
      for (const std::int64_t n : {std::int64_t{256}, std::int64_t{1} << 14, std::int64_t{1} << 18,
                                   std::int64_t{1} << 22}) {
        const double took = orrery::all_reduce_seconds(ranks, n, n > 100'000 ? 200 : 2000);
        fmt::print("{:>6} {:>10} B {:>11.1f} us {:>11.1f} us\n", ranks, n * 4, took * 1e6,
                   orrery::copy_seconds(n * 4) * 1e6);
      }
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "thread_bench: {}\n", error.what());
    return 1;
  }
}
