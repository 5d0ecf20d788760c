// What a communicator (threads, MPI) implements: every collective on host memory.
#pragma once

#include <string_view>

#include "core/ops/ops.hpp"
#include "core/runtime/memory.hpp"

namespace orrery {

/// The collectives of one rank. run() blocks its lane thread until this rank's part is done; `comm`
/// and `comm2` may be inside at the same time.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual std::string_view name() const = 0;
  /// Errors    Aborted when another rank has failed · ProgramError when the ranks' calls do not
  /// match
  virtual void run(Lane lane, const Op& op, const HostMemory& memory) = 0;
  /// Wakes every rank that waits, now and later, with Aborted: this rank has failed.
  virtual void abort(std::string_view why) noexcept = 0;
};

}  // namespace orrery
