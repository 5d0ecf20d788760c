// The collectives of a job of two ranks over MPI, for `orrery calibrate`:
//   mpirun -n 2 build/experiments/message_probe [REPETITIONS [broadcast]]
// With the word, exchanges and all-reduces are of 4 bytes only. Rank 0 prints one line of JSON (message_probe.hpp) with the slower rank's times.
#include <fmt/core.h>

#include <chrono>
#include <string>
#include <string_view>

#include "backends/comm_mpi/comm_mpi.hpp"
#include "backends/cpu/cpu.hpp"
#include "core/runtime/execute/host_device.hpp"
#include "experiments/calibrate/message_probe.hpp"

int main(int argc, char** argv) {
  using namespace orrery;
  constexpr std::int64_t kBytes = std::int64_t{4} << 20;
  const int repetitions = argc > 1 ? std::stoi(argv[1]) : 12;
  const bool by_size = argc <= 2;
  if (argc > 3 || (argc == 3 && std::string_view(argv[2]) != "broadcast")) {
    fmt::print(stderr, "message_probe: expected [REPETITIONS [broadcast]]\n");
    return 2;
  }
  MpiWorld world({});
  HostDevice host(make_cpu_kernels, std::chrono::steady_clock::now());
  world.run([&](Communicator& communicator) {
    const auto mine = calibrate::time_collectives(communicator, host, world.rank(), world.size(),
                                                  kBytes, repetitions, by_size);
    calibrate::CollectiveTimes slowest = mine;
    for (const std::string& theirs : world.all_gather(nlohmann::json(mine).dump()))
      slowest = slower(slowest, nlohmann::json::parse(theirs).get<calibrate::CollectiveTimes>());
    if (world.rank() == 0) fmt::print("{}\n", nlohmann::json(slowest).dump());
  });
}
