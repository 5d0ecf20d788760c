// What an Executor drives: memory, and lanes whose work may still be under way when their thread
// goes on (streams of a GPU). HostDevice is the plain one, where it never is.
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

/// One lane of a device. Its thread issues the lane's items one after the other; item n is position
/// n, counted from 1, and has passed when its work is done.
class DeviceLane {
 public:
  virtual ~DeviceLane() = default;

  // On the lane's thread.

  virtual Kernels& kernels() = 0;
  virtual Mover& mover() = 0;
  /// Puts a pattern where the kernels of every lane find it, for the items that follow; one that
  /// was there under the same id goes.
  ///
  /// Errors    std::bad_alloc
  virtual void put(const Sparse& sparse, const Csr& pattern) = 0;
  /// The items that follow begin only after `position` of another lane, which that lane's thread
  /// has issued, has passed.
  virtual void wait_for(DeviceLane& other, std::uint32_t position) = 0;
  /// The items so far are what an event waits for: they are not held back for those that follow.
  virtual void pass_event() {}
  /// What is issued from here on belongs to the span that end_item() is given: that of `op`, or,
  /// where it is null, of something else.
  virtual void begin_span(const Op* op) = 0;
  /// One more item is issued. The lane keeps its span and finds its times.
  virtual void end_item(std::optional<Span> span) = 0;
  /// One more item, of which nothing was issued because the rank has failed.
  virtual void skip_item() noexcept = 0;

  // On the rank's host thread, for positions that have been issued.

  /// True also where that can no longer be known; await() says why.
  virtual bool passed(std::uint32_t position) noexcept = 0;
  /// Blocks until the position has passed.
  ///
  /// Errors    what the device reports of its work
  virtual void await(std::uint32_t position) = 0;
  /// The spans since the last call.
  ///
  /// Requires  all that was issued has passed
  virtual std::vector<Span> take_spans() = 0;
};

/// The machine under one rank. Memory of Space::device is what its kernels work on; whether the
/// host can read it is the device's affair.
class RankDevice {
 public:
  virtual ~RankDevice() = default;
  /// What the times of its lanes' spans count from.
  virtual std::chrono::steady_clock::time_point origin() const = 0;
  virtual Storage& storage() = 0;
  virtual std::unique_ptr<DeviceLane> open_lane(Lane lane) = 0;
  /// No item that has not passed uses the pattern any more.
  virtual void drop_pattern(std::uint32_t id) noexcept = 0;
};

}  // namespace orrery
