#include "experiments/calibrate/measure_host.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "backends/comm_threads/comm_threads.hpp"
#include "core/runtime/buffer.hpp"
#include "core/runtime/execute/executor.hpp"
#include "experiments/calibrate/time_ops.hpp"

namespace orrery::calibrate {
namespace {

constexpr int kBurst = 64;  // submits behind one long operation

class HostTimer {
 public:
  HostTimer(const HostBench& bench, RankDevice& device, Communicator& communicator)
      : bench_(bench),
        device_(device),
        rt_(with(bench.threads), device, communicator),
        small_(rt_, {1, 16}, DType::f32, "small"),
        other_(rt_, {1, 16}, DType::f32, "other"),
        large_(rt_, {bench.long_bytes / 64, 16}, DType::f32, "large") {
    for (const Lane lane : {Lane::compute, Lane::comm}) rt_.submit(lane, small());
    submit_long();
    rt_.finish();
  }

  /// Submits while the lane is busy, as the host runs ahead of its lanes, and measures the gaps
  /// between the operations afterwards.
  void burst(std::vector<double>& issues, std::vector<double>& gaps) {
    begin();
    submit_long();
    const double begin = now();
    for (int i = 0; i < kBurst; ++i) rt_.submit(Lane::compute, small());
    issues.push_back((now() - begin) / kBurst);
    rt_.finish();
    const Timeline timeline = rt_.take_timeline();
    for (std::size_t i = long_ones() + 1; i < timeline.spans.size(); ++i)
      gaps.push_back(timeline.spans[i].begin - timeline.spans[i - 1].end);
  }

  /// Seconds from the end of an operation of one lane to the start of one on the other lane, which
  /// slept.
  double handover() {
    begin();
    submit_long();
    rt_.wait(Lane::comm, rt_.record(Lane::compute));
    rt_.submit(Lane::comm, Fill{other_.tensor(), 1});
    rt_.finish();
    const Timeline timeline = rt_.take_timeline();
    return timeline.spans[long_ones()].begin - timeline.spans[long_ones() - 1].end;
  }

  double sync() {
    begin();
    submit_long();
    rt_.sync(rt_.record(Lane::compute));
    const double back = now();
    rt_.finish();
    return back - rt_.take_timeline().spans[long_ones() - 1].end;
  }

  /// Between the starts of small operations of a lane that is otherwise idle.
  double pace() {
    begin();
    for (int i = 0; i < kBurst; ++i) rt_.submit(Lane::compute, small());
    rt_.finish();
    const Timeline timeline = rt_.take_timeline();
    return (timeline.spans.back().begin - timeline.spans.front().begin) / (kBurst - 1);
  }

  /// The time of a submit to an idle lane and of the wait for it, without the operation itself.
  double round_trip() {
    begin();
    const double submitted = now();
    rt_.submit(Lane::compute, small());
    rt_.sync(rt_.record(Lane::compute));
    const double back = now();
    rt_.finish();
    const Span span = rt_.take_timeline().spans.front();
    return back - submitted - (span.end - span.begin);
  }

 private:
  static Executor::Options with(int threads) {
    Executor::Options options;
    options.kernel_threads = threads;
    return options;
  }
  void begin() {
    rt_.finish();
    rt_.take_timeline();
  }
  void submit_long() {
    for (int i = 0; i < bench_.long_fills; ++i) rt_.submit(Lane::compute, Fill{large_.tensor(), 0});
  }
  std::size_t long_ones() const { return static_cast<std::size_t>(bench_.long_fills); }
  Op small() const { return Fill{small_.tensor(), 0}; }
  double now() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - device_.origin())
        .count();
  }

  const HostBench& bench_;
  RankDevice& device_;
  Executor rt_;
  Buffer small_, other_, large_;
};

}  // namespace

HostCosts measure_host(const HostBench& host, RankDevice& device) {
  HostCosts costs;
  ThreadWorld(1).run([&](int, Communicator& communicator) {
    HostTimer bench(host, device, communicator);
    std::vector<double> issues, gaps, handovers, syncs, paces, round_trips;
    for (int i = 0; i < host.repetitions; ++i) {
      bench.burst(issues, gaps);
      handovers.push_back(bench.handover());
      if (!host.asynchronous) {
        syncs.push_back(bench.sync());
        continue;
      }
      paces.push_back(bench.pace());
      round_trips.push_back(bench.round_trip());
    }
    costs = {median(issues), median(gaps), median(handovers), 0};
    if (!host.asynchronous) {
      costs.sync_seconds = median(syncs);
      return;
    }
    costs.issue_seconds = std::max(costs.issue_seconds, median(paces));
    costs.sync_seconds =
        std::max(0.0, median(round_trips) - costs.issue_seconds - costs.handover_seconds);
    // For coarse clocks.
    for (double* seconds : {&costs.lane_seconds, &costs.handover_seconds})
      *seconds = std::max(0.0, *seconds);
  });
  return costs;
}

double measure_turn(int cores) {
  constexpr double kSpin = 0.2;       // seconds
  constexpr double kAbsent = 0.2e-3;  // a thread that reads its clock so late had no core
  using Clock = std::chrono::steady_clock;
  std::vector<std::vector<double>> turns(2 * static_cast<std::size_t>(cores));
  const Clock::time_point start = Clock::now();
  const auto spin = [&](std::vector<double>& own) {
    const auto now = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
    double turn_began = -1;  // the first turn is cut short
    for (double last = now(), time = last; time < kSpin; last = time) {
      time = now();
      if (time - last < kAbsent) continue;
      if (turn_began >= 0 && last - turn_began > kAbsent) own.push_back(last - turn_began);
      turn_began = time;
    }
  };
  std::vector<std::thread> threads;
  for (auto& own : turns) threads.emplace_back(spin, std::ref(own));
  for (std::thread& thread : threads) thread.join();
  std::vector<double> all;
  for (const auto& own : turns) all.insert(all.end(), own.begin(), own.end());
  return all.empty() ? 0 : median(all);
}

}  // namespace orrery::calibrate
