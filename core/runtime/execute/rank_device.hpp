// What an Executor drives: memory, and lanes whose work may still be under way when their thread
// continues (streams of a GPU). HostDevice is the simple one, where work is done at once.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/runtime/execute/kernels.hpp"
#include "core/runtime/execute/mover.hpp"
#include "core/runtime/execute/storage.hpp"
#include "core/runtime/timeline.hpp"

namespace orrery {

/// One lane of a device. Its thread issues the lane's items one after the other. Item n has
/// position n, counted from 1, and has passed when its work is done.
class DeviceLane {
 public:
  virtual ~DeviceLane() = default;

  // On the lane's thread.

  virtual Kernels& kernels() = 0;
  virtual Mover& mover() = 0;
  /// Puts a pattern where the kernels of every lane find it, for the following items; an older one
  /// with the same id is removed.
  ///
  /// Errors    std::bad_alloc
  virtual void put(const Sparse& sparse, const Csr& pattern) = 0;
  /// The following items begin only after `position` of another lane has passed; that lane's thread
  /// has already issued it.
  virtual void wait_for(DeviceLane& other, std::uint32_t position) = 0;
  /// An event waits for the items so far: they are not held back for those that follow.
  virtual void pass_event() {}
  /// Work issued from now on belongs to the span that end_item() gets: that of `op`, or, if it is
  /// null, of something else.
  virtual void begin_span(const Op* op) = 0;
  /// One more item is issued. The lane keeps its span and finds its times.
  virtual void end_item(std::optional<Span> span) = 0;
  /// One more item for which nothing was issued, because the rank has failed.
  virtual void skip_item() noexcept = 0;

  // Called on the rank's host thread, for positions that have been issued.

  /// Also true after a device error, when the state is unknown; await() reports the error.
  virtual bool passed(std::uint32_t position) noexcept = 0;
  /// Blocks until the position has passed.
  ///
  /// Errors    those that the device reports for its work
  virtual void await(std::uint32_t position) = 0;
  /// The spans that have ended since the last call.
  ///
  /// Requires  all issued work has passed; on a HostDevice the lane may go on
  virtual std::vector<Span> take_spans() = 0;
};

/// The machine under one rank. Its kernels work on memory of Space::device; whether the host can
/// read that depends on the device.
class RankDevice {
 public:
  virtual ~RankDevice() = default;
  /// Origin of the times of its lanes' spans.
  virtual std::chrono::steady_clock::time_point origin() const = 0;
  virtual Storage& storage() = 0;
  virtual std::unique_ptr<DeviceLane> open_lane(Lane lane) = 0;
  /// No pending item uses the pattern any more.
  virtual void drop_pattern(std::uint32_t id) noexcept = 0;
};

}  // namespace orrery
