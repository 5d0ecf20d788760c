// Our collectives beside the MPI library's own, alternating in one run:
//   mpirun -n 2 build/experiments/bench/comm_bench
//
// Each line is the median of 11 calls. A call lasts from a common barrier until the slowest rank is
// done. The ratio is the library's time over ours: 1 means equally fast, above 1 ours is faster.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <vector>

#include "backends/comm_mpi/comm_mpi.hpp"
#include "backends/comm_mpi/plain_mpi.hpp"

namespace orrery {
namespace {

constexpr int kRepetitions = 11;

using Times = std::vector<double>;

double seconds_of(const std::function<void()>& call) {
  mpi::plain_barrier();
  const auto begin = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Median over calls of the slowest rank's time.
double median_of_slowest(MpiWorld& world, Times mine) {
  for (const std::string& bytes :
       world.all_gather({reinterpret_cast<const char*>(mine.data()), mine.size() * 8}))
    for (std::size_t i = 0; i < mine.size(); ++i) {
      double theirs = 0;
      std::memcpy(&theirs, bytes.data() + i * 8, 8);
      mine[i] = std::max(mine[i], theirs);
    }
  std::nth_element(mine.begin(), mine.begin() + kRepetitions / 2, mine.end());
  return mine[kRepetitions / 2];
}

void compare(MpiWorld& world, std::string_view name, std::int64_t bytes,
             const std::function<void()>& ours, const std::function<void()>& theirs) {
  Times our_times, their_times;
  for (int i = -2; i < kRepetitions; ++i) {  // the first two warm up
    const double ours_took = seconds_of(ours), theirs_took = seconds_of(theirs);
    if (i < 0) continue;
    our_times.push_back(ours_took);
    their_times.push_back(theirs_took);
  }
  const double a = median_of_slowest(world, our_times), b = median_of_slowest(world, their_times);
  if (world.rank() == 0)
    fmt::print(
        "{:<12} {:>10} B   ours {:>10.1f} us {:>6.2f} GB/s   plain {:>10.1f} us   ratio {:.2f}\n",
        name, bytes, a * 1e6, static_cast<double>(bytes) / a * 1e-9, b * 1e6, b / a);
}

void compare_all(MpiWorld& world, Communicator& communicator) {
  const Group all = world_group(world.size());
  for (const std::int64_t n : {std::int64_t{256}, std::int64_t{1} << 18, std::int64_t{1} << 24}) {
    RankMemory memory;
    const Tensor x{0, {1, n}, DType::f32, Space::device, 0, n};
    memory.allocate(0, n * 4);
    auto* values = memory.data<float>(x);  // of both, so that both have the same pages
    std::fill_n(values, n, 0.0F);
    compare(
        world, "all_reduce", n * 4,
        [&] {
          communicator.run(Lane::comm, AllReduce{x, all}, memory);
        },
        [&] { mpi::plain_all_reduce(values, n); });
    compare(
        world, "broadcast", n * 4,
        [&] {
          communicator.run(Lane::comm, Broadcast{x, 0, all}, memory);
        },
        [&] { mpi::plain_broadcast(values, n); });
  }
}

}  // namespace
}  // namespace orrery

int main() {
  orrery::MpiWorld world({});
  world.run([&](orrery::Communicator& communicator) { orrery::compare_all(world, communicator); });
}
