// The Runtime that executes at once. Lanes are threads that issue to the lanes of a device; device
// and communicator are plugged in.
#pragma once

#include <array>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/cluster/placement.hpp"
#include "core/runtime/execute/communicator.hpp"
#include "core/runtime/execute/host_device.hpp"
#include "core/runtime/execute/lane_thread.hpp"
#include "core/runtime/execute/memory.hpp"
#include "core/runtime/execute/rank_device.hpp"
#include "core/runtime/recorder.hpp"
#include "core/runtime/timeline.hpp"

namespace orrery {

/// Executes one rank.
///
/// An item of a lane is first issued, by the lane's thread, and has passed when the device has done
/// it (on the host the two are one). A wait between lanes delays only the work that it orders,
/// never a thread that could issue more. sync, scalar, join, finish and releases depend on what has
/// passed.
///
/// A failure in a lane (kernel, communicator) stops that rank's remaining work, wakes the other
/// ranks, and is rethrown by the next call that waits. Nothing hangs.
class Executor final : public Runtime {
 public:
  struct Options {
    int rank = 0, size = 1;
    Placement placement;  ///< the servers of all ranks, for timelines
    Capacities capacities;
    int kernel_threads = 1;   ///< threads of the compute lane
    bool keep_steps = false;  ///< also record (tests compare it with a Recorder's list)
    /// For a rank that is alone: its communication moves nothing and is issued to the compute lane,
    /// so that the operations of a step have nothing in between on the device.
    bool one_lane = false;
    std::int64_t guard_bytes = 0;
    /// Origin of the times in timelines, on a HostDevice of its own; other devices have theirs.
    std::chrono::steady_clock::time_point origin = std::chrono::steady_clock::now();
  };

  /// `device` and `communicator` must outlive the executor.
  Executor(Options options, RankDevice& device, Communicator& communicator);
  /// On a HostDevice of its own.
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
  Event record(Lane lane) override;
  void wait(Lane lane, Event event) override;
  void sync(Event event) override;
  Task host(Lane lane, std::function<HostWork()> work) override;
  void join(Task task) override;
  std::optional<double> scalar(Lane lane, const Tensor& tensor) override;
  void phase(Phase phase) override;
  void product(const ProductMark& mark) override { recorder_.product(mark); }

  /// Waits for all lanes; rethrows a failure.
  void finish();
  const Recorder& recorder() const { return recorder_; }
  const RankMemory& memory() const { return memory_; }
  /// Spans that have ended since the last call. A long run takes them epoch by epoch, so that they
  /// do not pile up.
  /// Requires  finish(), where the device asks for it (DeviceLane::take_spans)
  Timeline take_timeline();

 private:
  struct LaneState {
    std::unique_ptr<DeviceLane> work;  // both are made at first use
    std::unique_ptr<LaneThread> thread;
    bool event_recorded = false;  ///< after the last item
    std::uint32_t issued = 0;     ///< items, including those that it does for other lanes
  };
  /// For each lane the last item that uses an allocation or a pattern.
  using LastUses = std::array<std::uint32_t, kLanes>;
  struct PendingFree {
    std::function<void()> free;
    LastUses after{};
  };
  /// Issues an item's work, and its span if it shows in the timeline.
  using Item = std::function<std::optional<Span>(DeviceLane&)>;
  Executor(Options options, std::unique_ptr<RankDevice> own, RankDevice* device,
           Communicator& communicator);
  /// The lane of the device that does the items of a lane, and its positions.
  Lane issued_to(Lane lane) const;
  std::uint32_t place_of(Lane lane, std::uint32_t position) const;
  LaneState& lane(Lane lane);
  void enqueue(Lane lane, Item item);
  Span run(DeviceLane& on, Lane lane, const Op& op, const Phase& phase);
  void put(DeviceLane& on, const Sparse& sparse, const Csr& pattern, const std::string& name);
  bool passed(Lane lane, std::uint32_t position);
  void await(Lane lane, std::uint32_t position);
  void await_all();
  void use(Lane on, const Op& op);
  void free_later(std::function<void()> free, const LastUses& after);
  void free_what_is_done();
  void make_room(std::int64_t bytes);
  void wait_for_a_free();
  void allocate(const Tensor& tensor, std::string_view name);
  void mark_memory();
  void fail(std::exception_ptr error) noexcept;
  void leave_early() noexcept;
  void rethrow_failure();
  double now() const;

  Options options_;
  std::unique_ptr<RankDevice> own_;
  RankDevice& device_;
  Communicator& communicator_;
  Recorder recorder_;
  RankMemory memory_;
  std::array<LaneState, kLanes> lanes_;
  std::array<std::vector<std::uint32_t>, kLanes> places_;  ///< with one_lane: by position − 1
  // By id, of what is held. Later items of a lane that use other memory do not delay a release, so
  // memory follows the program even if a lane is far ahead of the others.
  std::unordered_map<std::uint32_t, LastUses> tensor_uses_, sparse_uses_;
  std::vector<PendingFree> pending_frees_;
  // By id, of those that nobody has joined yet.
  std::unordered_map<std::uint32_t, Event> task_events_;
  std::unordered_map<std::uint32_t, HostWork> task_work_;  ///< host lanes write it under mutex_
  std::vector<Timeline::Mark> marks_;
  std::vector<Timeline::MemoryMark> memory_marks_;
  std::mutex mutex_;
  std::exception_ptr failure_;
};

}  // namespace orrery
