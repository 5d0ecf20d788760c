#include "experiments/calibrate/calibrate.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <vector>

#include "backends/cpu/cpu.hpp"
#include "core/base/error.hpp"
#include "core/base/parallel.hpp"
#include "core/base/units.hpp"
#include "core/runtime/execute/host_device.hpp"
#include "experiments/calibrate/time_ops.hpp"
#include "experiments/results/results.hpp"

namespace orrery::calibrate {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kTrainings = 2;  // of each kind, before and after the tables

void require_memory(int cores) {
  const std::int64_t needed = 2 * TimingOptions{}.workspace_bytes * cores;
  if (main_memory_bytes() < 2 * needed)
    throw Error(
        fmt::format("calibrating {} cores takes {} of memory, this machine has {}; run it "
                    "on fewer cores (taskset -c 0-3 ./orrery calibrate)",
                    cores, human_bytes(2 * needed), human_bytes(main_memory_bytes())));
}

}  // namespace

Calibration calibrate(Effort effort, const std::string& probe) {
  Activity activity("calibrating");
  const Report report = telling(activity);
  const auto begin = std::chrono::steady_clock::now();
  const WorkWatch watch;
  const bool thorough = effort != Effort::tiny;
  Calibration c;
  c.cores = available_cores();
  if (thorough) require_memory(c.cores);
  const Json origin = provenance();
  c.machine = fmt::format("measured on {} on {}, {} core{}, kernels {}, compiled by {}{}",
                          origin["date"].get<std::string>().substr(0, 10),
                          origin["cpu"].get<std::string>(), c.cores, c.cores == 1 ? "" : "s",
                          cpu_kernels_description(), origin["compiler"].get<std::string>(),
                          effort == Effort::full ? "" : "; a coarse grid");
  report(0, "host and lanes");
  c.memory_bytes = main_memory_bytes();
  HostDevice host(make_cpu_kernels, std::chrono::steady_clock::now());
  c.host = measure_host({.threads = c.cores, .repetitions = thorough ? 100 : 10}, host);
  c.profile.turn_seconds = rounded(measure_turn(c.cores));
  report(0.005, "tasks of the host");
  c.host_cores = c.cores;
  add_host_tasks(c, measure_host_tasks(host_tasks_bench(effort, c.cores)));
  report(0.01, "ranks that are threads");
  const MeasuredLibrary threads = measure_threads(cpu_threads(c.cores, thorough));
  report(0.02, "ranks over MPI");
  c.mpi = measure_mpi(probe, thorough);
  std::vector<Trained> trained;
  const auto train_from = [&](double from, double to, int times) {
    for (int i = 0; i < times; ++i) {
      const auto part = [&](double share, const std::string& what) {
        report(from + (to - from) * (i + share) / times, what);
      };
      std::ranges::move(train(effort, c.cores, part), std::back_inserter(trained));
    }
  };
  // Before and after the tables: others on a shared machine make it slower for seconds to minutes.
  if (effort == Effort::full) train_from(0.05, 0.1, kTrainings);
  c.tables = measure_tables(
      cpu_bench(effort, c.cores), effort,
      [&](double share, const std::string& what) { report(0.1 + 0.8 * share, what); });
  // The time between two operations on a lane is part of every price.
  derive_profile(c, c.host.lane_seconds);
  train_from(0.9, 1, effort == Effort::full ? kTrainings : 1);
  add_in_place(c, in_place_of(trained, c.profile));
  add_library(c, threads);
  if (c.mpi.library) add_library(c, {*c.mpi.library, c.mpi.error});
  add_other_work(c, watch.seen());
  c.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return c;
}

}  // namespace orrery::calibrate
