// The Runtime that does what it is asked, now, on host memory: lanes are threads, kernels and
// communicator are plugged in.
#pragma once

#include <array>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "core/cluster/placement.hpp"
#include "core/runtime/communicator.hpp"
#include "core/runtime/kernels.hpp"
#include "core/runtime/lane_thread.hpp"
#include "core/runtime/memory.hpp"
#include "core/runtime/recorder.hpp"
#include "core/runtime/timeline.hpp"

namespace orrery {

/// Executes one rank.
///
/// A failure in a lane (kernel, communicator) stops that rank's remaining work, wakes the other
/// ranks, and is rethrown by the next call that waits; nothing hangs.
class Executor final : public Runtime {
 public:
  struct Options {
    int rank = 0, size = 1;
    Placement placement;  ///< of all ranks, for timelines
    Capacities capacities;
    int kernel_threads = 1;   ///< of the compute lane
    bool keep_steps = false;  ///< also record (tests compare it with a Recorder's list)
    std::int64_t guard_bytes = 0;
    std::chrono::steady_clock::time_point origin = std::chrono::steady_clock::now();
  };
  using KernelFactory = std::function<std::unique_ptr<Kernels>()>;

  /// `make_kernels` is called once per lane that computes; `communicator` must outlive the
  /// executor.
  Executor(Options options, KernelFactory make_kernels, Communicator& communicator);
  ~Executor() override;

  int rank() const override { return options_.rank; }
  int size() const override { return options_.size; }
  Tensor alloc(Shape shape, DType dtype, Space space, std::string_view name) override;
  void release(const Tensor& tensor) noexcept override;
  /// Counts make room for a pattern that a BroadcastSparse brings.
  Sparse declare(Lane lane, Pattern pattern, std::string_view name) override;
  void release(const Sparse& sparse) noexcept override;
  void submit(Lane lane, const Op& op) override;
  Event record(Lane lane) override { return recorder_.record(lane); }
  void wait(Lane lane, Event event) override;
  void sync(Event event) override;
  Task host(Lane lane, std::function<HostWork()> work) override;
  void join(Task task) override;
  std::optional<double> scalar(Lane lane, const Tensor& tensor) override;
  void phase(Phase phase) override;

  /// Waits for all lanes; rethrows a failure.
  void finish();
  const Recorder& recorder() const { return recorder_; }
  const HostMemory& memory() const { return memory_; }
  /// What ran since the last call; a long run takes it epoch by epoch, so that it does not pile up.
  /// Requires  finish()
  Timeline take_timeline();

 private:
  struct LaneState {
    std::unique_ptr<LaneThread> thread;  // made at first use
    std::unique_ptr<Kernels> kernels;
    std::vector<Span> spans;  // written by the lane's thread
  };
  struct PendingFree {
    std::function<void()> free;
    std::array<std::uint32_t, kLanes> after{};
  };
  LaneState& lane(Lane lane);
  void enqueue(Lane lane, std::function<void()> item);
  void run(LaneState& state, Lane lane, const Op& op, const Phase& phase);
  void free_later(std::function<void()> free);
  void free_what_is_done();
  void mark_memory();
  void fail(std::exception_ptr error) noexcept;
  void rethrow_failure();
  double now() const;

  Options options_;
  KernelFactory make_kernels_;
  Communicator& communicator_;
  Recorder recorder_;
  HostMemory memory_;
  std::array<LaneState, kLanes> lanes_;
  std::vector<PendingFree> pending_frees_;
  std::vector<Event> task_events_;
  std::vector<HostWork> task_work_;  // by task id; written by host lanes under mutex_
  std::vector<Timeline::Mark> marks_;
  std::vector<Timeline::MemoryMark> memory_marks_;
  std::mutex mutex_;
  std::exception_ptr failure_;
};

}  // namespace orrery
