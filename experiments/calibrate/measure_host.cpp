#include "experiments/calibrate/measure_host.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

#include "backends/comm_threads/comm_threads.hpp"
#include "backends/cpu/cpu.hpp"
#include "core/runtime/buffer.hpp"
#include "core/runtime/executor.hpp"
#include "experiments/calibrate/time_ops.hpp"

namespace orrery::calibrate {
namespace {

constexpr int kBurst = 64;  // submits behind one long operation

class Bench {
 public:
  Bench(int threads, Communicator& communicator)
      : options_(with(threads)),
        rt_(options_, make_cpu_kernels, communicator),
        small_(rt_, {1, 16}, DType::f32, "small"),
        other_(rt_, {1, 16}, DType::f32, "other"),
        large_(rt_, {1 << 18, 16}, DType::f32, "large") {
    for (const Lane lane : {Lane::compute, Lane::comm}) rt_.submit(lane, small());
    rt_.submit(Lane::compute, long_one());
    rt_.finish();
  }

  /// Submits while the lane is busy, as the host runs ahead of its lanes; and the gaps between the
  /// operations afterwards.
  void burst(std::vector<double>& issues, std::vector<double>& gaps) {
    rt_.finish();
    rt_.take_timeline();
    rt_.submit(Lane::compute, long_one());
    const double begin = now();
    for (int i = 0; i < kBurst; ++i) rt_.submit(Lane::compute, small());
    issues.push_back((now() - begin) / kBurst);
    rt_.finish();
    const Timeline timeline = rt_.take_timeline();
    for (std::size_t i = 2; i < timeline.spans.size(); ++i)
      gaps.push_back(timeline.spans[i].begin - timeline.spans[i - 1].end);
  }

  /// From the end of an operation of one lane to the start of one on the other, which slept.
  double handover() {
    rt_.finish();
    rt_.take_timeline();
    rt_.submit(Lane::compute, long_one());
    rt_.wait(Lane::comm, rt_.record(Lane::compute));
    rt_.submit(Lane::comm, Fill{other_.tensor(), 1});
    rt_.finish();
    const Timeline timeline = rt_.take_timeline();
    return timeline.spans[1].begin - timeline.spans[0].end;
  }

  double sync() {
    rt_.finish();
    rt_.take_timeline();
    rt_.submit(Lane::compute, long_one());
    rt_.sync(rt_.record(Lane::compute));
    const double back = now();
    rt_.finish();
    return back - rt_.take_timeline().spans[0].end;
  }

 private:
  static Executor::Options with(int threads) {
    Executor::Options options;
    options.kernel_threads = threads;
    return options;
  }
  Op small() const { return Fill{small_.tensor(), 0}; }
  Op long_one() const { return Fill{large_.tensor(), 0}; }  // 16 MiB: about a millisecond
  double now() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - options_.origin)
        .count();
  }

  Executor::Options options_;
  Executor rt_;
  Buffer small_, other_, large_;
};

}  // namespace

HostCosts measure_host(int threads, int repetitions) {
  HostCosts costs;
  ThreadWorld(1).run([&](int, Communicator& communicator) {
    Bench bench(threads, communicator);
    std::vector<double> issues, gaps, handovers, syncs;
    for (int i = 0; i < repetitions; ++i) {
      bench.burst(issues, gaps);
      handovers.push_back(bench.handover());
      syncs.push_back(bench.sync());
    }
    costs = {median(issues), median(gaps), median(handovers), median(syncs)};
  });
  return costs;
}

}  // namespace orrery::calibrate
