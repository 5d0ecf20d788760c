#include "experiments/calibrate/measure_libraries.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>

#include "backends/comm_threads/comm_threads.hpp"
#include "backends/cpu/cpu.hpp"
#include "core/base/child_process.hpp"
#include "core/runtime/execute/host_device.hpp"
#include "experiments/calibrate/message_probe.hpp"
#include "experiments/calibrate/time_ops.hpp"

namespace orrery::calibrate {
namespace {

CollectiveTimes threads_of(const ThreadsBench& bench, int ranks, std::int64_t bytes) {
  std::mutex mutex;
  std::optional<CollectiveTimes> slowest;
  ThreadWorld(ranks).run([&](int rank, Communicator& communicator) {
    const auto device = bench.open(ranks);
    const CollectiveTimes mine =
        time_collectives(communicator, *device, rank, ranks, bytes, bench.repetitions);
    const std::lock_guard lock(mutex);
    slowest = slowest ? slower(*slowest, mine) : mine;
  });
  return *slowest;
}

/// Two ranks of the probe, with mpirun's options and the probe's; none if the job fails.
std::optional<CollectiveTimes> job(const std::string& probe,
                                   const std::vector<std::string>& options, bool thorough,
                                   const std::vector<std::string>& of_probe = {}) {
  std::vector<std::string> words{"timeout", "-k", "5", "100"};
  std::ranges::copy(mpirun_words(2, true), std::back_inserter(words));
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), {probe, thorough ? "12" : "3"});
  words.insert(words.end(), of_probe.begin(), of_probe.end());
  const auto run = run_program(words, "/dev/null");
  if (!run || !run->succeeded()) return std::nullopt;
  const auto begin = run->output.find('{');
  if (begin == std::string::npos) return std::nullopt;
  const auto json = nlohmann::json::parse(run->output.substr(begin), nullptr, false);
  return json.is_object() ? std::optional(json.get<CollectiveTimes>()) : std::nullopt;
}

}  // namespace

sim::Library library_of(const std::string& name, const CollectiveTimes& t) {
  sim::Library library;
  library.name = name;
  library.message_seconds = std::clamp(t.small_all_reduce_seconds - t.small_exchange_seconds, 0.0,
                                       t.small_exchange_seconds);
  library.collective_seconds = t.small_exchange_seconds - library.message_seconds;
  std::vector<sim::RateBySize::Point> copies, sums;
  for (const CollectiveTimes::Sized& s : t.sizes) {
    const double moving =
        std::max(s.exchange_seconds - t.small_exchange_seconds, s.exchange_seconds / 10);
    copies.push_back({s.bytes, s.bytes / moving});
  }
  library.copy_bytes_per_second = sim::RateBySize(std::move(copies));
  bool measurable = false;
  for (const CollectiveTimes::Sized& s : t.sizes) {
    const double half = s.bytes / 2, noise = 0.05 * s.all_reduce_seconds;
    const double adding = s.all_reduce_seconds - t.small_all_reduce_seconds -
                          2 * half / library.copy_bytes_per_second.of(half);
    measurable = measurable || adding > noise;
    sums.push_back({half, half / std::max(adding, noise)});
  }
  if (measurable) library.reduce_bytes_per_second = sim::RateBySize(std::move(sums));
  return library;
}

double error_of(const sim::Library& library, const CollectiveTimes& t) {
  double sum = 0;
  for (const CollectiveTimes::Sized& s : t.left_out) {
    const double small = library.collective_seconds + library.message_seconds, half = s.bytes / 2;
    const sim::RateBySize &copying = library.copy_bytes_per_second,
                          &adding = library.reduce_bytes_per_second;
    const double exchange = small + s.bytes / copying.of(s.bytes);
    const double all_reduce = small + library.message_seconds + 2 * half / copying.of(half) +
                              (adding.known() ? half / adding.of(half) : 0);
    sum += std::abs(exchange / s.exchange_seconds - 1) +
           std::abs(all_reduce / s.all_reduce_seconds - 1);
  }
  return t.left_out.empty() ? 0 : sum / (2 * static_cast<double>(t.left_out.size()));
}

MeasuredLibrary measure_threads(const ThreadsBench& bench) {
  const CollectiveTimes two = threads_of(bench, 2, bench.bytes);
  sim::Library library = library_of("threads", two);
  const double error = error_of(library, two);
  if (bench.most > 2) {
    const CollectiveTimes all = threads_of(bench, bench.most, 1 << 16);
    library.collective_seconds = all.small_exchange_seconds;
  } else {
    library.collective_seconds += library.message_seconds;
  }
  library.message_seconds = 0;  // barriers are of the collective, not of its messages
  return {library, error};
}

ThreadsBench cpu_threads(int cores, bool thorough) {
  return {cores, std::int64_t{thorough ? 4 : 1} << 20, thorough ? 12 : 3, [](int) {
            return std::make_unique<HostDevice>(make_cpu_kernels, std::chrono::steady_clock::now());
          }};
}

MpiMeasurement measure_mpi(const std::string& probe, bool thorough) {
  MpiMeasurement m;
  if (probe.empty()) {
    m.note = "library \"mpi\" is left out: this build has no MPI";
    return m;
  }
  const auto shared = job(probe, {}, thorough);
  if (!shared) {
    m.note = "library \"mpi\" is left out: mpirun could not run two ranks of " + probe;
    return m;
  }
  m.library = library_of("mpi", *shared);
  m.error = error_of(*m.library, *shared);
  const auto tcp =
      job(probe, {"--mca", "pml", "ob1", "--mca", "btl", "tcp,self"}, thorough, {"broadcast"});
  if (!tcp) {
    m.note =
        "core_seconds_per_byte of library \"mpi\" is left out: no Open MPI that could be held "
        "to TCP";
    return m;
  }
  const double bytes = shared->sizes.back().bytes;  // of the largest, in both jobs
  m.library->core_seconds_per_byte = tcp->broadcast_seconds / bytes;
  m.tcp_latency_seconds =
      std::max(1e-7, tcp->small_exchange_seconds - shared->small_exchange_seconds);
  m.tcp_bytes_per_second = bytes / tcp->broadcast_seconds;
  return m;
}

std::string find_probe() {
  const auto probe = program_beside("experiments/message_probe");
  return probe ? probe->string() : "";
}

}  // namespace orrery::calibrate
