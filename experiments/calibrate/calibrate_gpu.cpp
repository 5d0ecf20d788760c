#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "backends/cpu/cpu.hpp"
#include "backends/cuda/cuda_device.hpp"
#include "core/base/error.hpp"
#include "core/base/parallel.hpp"
#include "core/base/units.hpp"
#include "experiments/calibrate/calibrate.hpp"
#include "experiments/calibrate/time_on_lane.hpp"
#include "experiments/config/this_machine.hpp"
#include "experiments/results/results.hpp"

namespace orrery::calibrate {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kKiB = 1024, kMiB = 1024 * kKiB;

/// The effort of each measurement.
struct GpuBenches {
  HostBench host{
      .repetitions = 50, .long_fills = 16, .long_bytes = 256 * kMiB, .asynchronous = true};
  SlowdownBench slowdowns;
  ThreadsBench threads{.bytes = 64 * kMiB};
  LaneTiming timing;
};

GpuBenches benches(Effort effort) {
  GpuBenches b;
  if (effort == Effort::quick) {
    b.host.repetitions = 20;
    b.timing.round_seconds = 5e-4;
    b.timing.most_calls = 10;
  }
  if (effort == Effort::tiny) {
    b.host = {.repetitions = 2, .long_bytes = 4 * kKiB, .asynchronous = true};
    b.slowdowns = {.bytes = 4 * kKiB, .kernels = 3};
    b.threads = {.bytes = 4 * kKiB, .repetitions = 1};
    b.timing = {.round_seconds = 1e-6,
                .most_calls = 1,
                .rounds = 1,
                .workspace_bytes = 4 * kKiB,
                .longest_lead = 1,
                .lead_bytes = 4 * kKiB};
  }
  return b;
}

/// The first GPU, and its measurements.
class GpuMeasurement {
 public:
  explicit GpuMeasurement(Effort effort)
      : effort_(effort), benches_(benches(effort)), gpu_(cuda::choose_gpu(0, 1)) {}

  Calibration run() {
    const auto begin = std::chrono::steady_clock::now();
    const WorkWatch watch;
    Calibration c = about();
    report_(0, "host and lanes");
    c.host = measure_host(benches_.host, *open(1, benches_.host.long_bytes + kMiB));
    report_(0.01, "tasks of the host");
    c.host_cores = available_cores();
    add_host_tasks(c, measure_host_tasks(host_tasks_bench(effort_, c.host_cores)));
    report_(0.02, "kernels beside copies");
    c.gpu->slowdowns =
        measure_slowdowns(benches_.slowdowns, *open(1, bytes_needed(benches_.slowdowns)));
    report_(0.04, "ranks that are threads");
    const MeasuredLibrary threads = shared_threads();
    c.tables = tables();
    derive_profile(c, 0);  // what lies between two operations on a lane is in the tables
    add_library(c, threads);
    const InPlace found = in_place_of(train_on_gpu(effort_, part(0.9, 0.1)), c.profile);
    add_in_place(c, without_waiting(found, c.host.issue_seconds));
    for (auto& [key, table] : c.profile.in_place) drop_threads(table);
    add_other_work(c, watch.seen());
    c.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return c;
  }

 private:
  /// All except the measurements.
  Calibration about() const {
    OrreryDeviceInfo info{};
    cuda::require(cuda::api().device_info(gpu_.index, &info), "device_info");
    const Json origin = provenance();
    Calibration c;
    c.name = machine_name("cuda");
    c.gpu = GpuPart{info.name, {}};
    c.memory_bytes = info.memory_bytes;
    c.machine =
        fmt::format("measured on {} on {}, fed by {}, compiled by {}{}",
                    origin["date"].get<std::string>().substr(0, 10), cuda::describe_gpu(gpu_.index),
                    origin["cpu"].get<std::string>(), origin["compiler"].get<std::string>(),
                    effort_ == Effort::full ? "" : "; a coarse grid");
    c.mpi.note =
        "Libraries \"mpi\" and \"nccl\" are left out: ranks of one GPU that are processes, and "
        "several GPUs, are not measured";
    return c;
  }

  /// The device of one rank, of this many that share the GPU.
  std::unique_ptr<RankDevice> open(int ranks, std::int64_t bytes) const {
    cuda::GpuChoice shared = gpu_;
    shared.sharing = ranks;
    auto device = std::make_unique<cuda::CudaDevice>(cuda::CudaDevice::Options{
        .gpu = shared, .device_bytes = bytes, .host_kernels = make_cpu_kernels});
    const std::int64_t room = device->capacity(Space::device);
    if (room < bytes)
      throw Error(
          fmt::format("calibrating takes {} of the GPU's memory, of which {} are "
                      "available",
                      human_bytes(ranks * bytes), human_bytes(ranks * room)));
    return device;
  }

  Report part(double from, double share) const {
    return [this, from, share](double of_it, const std::string& what) {
      report_(from + share * of_it, what);
    };
  }

  /// Two ranks copy and add at the same time, as a simulation lets them share the GPU: one alone
  /// would do so at the rate of both.
  MeasuredLibrary shared_threads() const {
    constexpr int kRanks = 2;
    ThreadsBench bench = benches_.threads;
    bench.most = kRanks;
    bench.open = [this, bytes = bench.bytes](int ranks) {
      // Buffers, the space for sums, and what lies between two calls.
      return open(ranks, 9 * bytes + kBetweenBytes + 32 * kMiB);
    };
    MeasuredLibrary measured = measure_threads(bench);
    for (sim::RateBySize* rate :
         {&measured.library.copy_bytes_per_second, &measured.library.reduce_bytes_per_second})
      for (sim::RateBySize::Point& point : rate->points) point.bytes_per_second *= kRanks;
    return measured;
  }

  std::map<std::string, MeasuredTable> tables() const {
    const auto device = open(1, bytes_needed(benches_.timing));
    TableBench bench;
    bench.grids = gpu_grids(effort_);
    bench.graph_scale = effort_ == Effort::tiny ? 1.0 / 512 : 4;
    bench.pass_seconds = 100;
    bench.time = [&](const Team&, const std::vector<BuildOps>& cases,
                     const std::function<void(std::size_t)>& done) {
      return time_on_lane(*device, cases, benches_.timing, done);
    };
    auto measured = measure_tables(bench, effort_, part(0.05, 0.85));
    for (auto& [key, t] : measured) drop_threads(t.table);
    return measured;
  }

  /// The samples whose operations take longer than the host needs to issue one. If the GPU waits
  /// for its host, the time between two events is the host's, which is counted elsewhere.
  static InPlace without_waiting(InPlace found, double issue_seconds) {
    std::erase_if(found.samples, [issue_seconds](const InPlaceSample& sample) {
      return sample.priced_seconds < 2 * issue_seconds;
    });
    return found;
  }

  /// A GPU has no threads whose number could differ between ranks.
  static void drop_threads(sim::PriceTable& table) {
    std::erase_if(table.axes,
                  [](const sim::PriceTable::Axis& axis) { return axis.name == "threads"; });
  }

  Effort effort_;
  Activity activity_{"calibrating"};
  Report report_ = telling(activity_);
  GpuBenches benches_;
  cuda::GpuChoice gpu_;
};

}  // namespace

Calibration calibrate_gpu(Effort effort) { return GpuMeasurement(effort).run(); }

}  // namespace orrery::calibrate
