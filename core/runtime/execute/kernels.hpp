// What a kernel library (reference, cpu, cuda) implements: every local op.
#pragma once

#include <memory>
#include <string_view>

#include "core/ops/ops.hpp"
#include "core/runtime/execute/memory.hpp"

namespace orrery {

/// The local ops on a rank's memory. One lane thread at a time calls an object; loops on the host
/// run on the pool of the calling thread.
class Kernels {
 public:
  virtual ~Kernels() = default;
  virtual std::string_view name() const = 0;
  /// Runs a local op whose shapes have been validated. ORRERY_ASSERT: none that communicates.
  virtual void run(const Op& op, const RankMemory& memory) = 0;
};

}  // namespace orrery
