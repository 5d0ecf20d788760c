// What a communicator (threads, MPI, NCCL) implements: every collective and one-sided op.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/index.hpp"
#include "core/ops/ops.hpp"
#include "core/runtime/exchange_time.hpp"
#include "core/runtime/execute/memory.hpp"
#include "core/runtime/execute/mover.hpp"
#include "core/runtime/runtime.hpp"

namespace orrery {

/// The communication of one rank. When run() returns, this rank's part is done, or issued to the
/// lane of the mover; several lanes may be inside at the same time. What a rank exposes in a store
/// is served to the others whatever its lanes do meanwhile.
class Communicator {
 public:
  explicit Communicator(int size) : received_(static_cast<std::size_t>(size)) {}
  virtual ~Communicator() = default;
  virtual std::string_view name() const = 0;
  /// `phase` is what the operation belongs to, for messages. `mover` reaches what lies in `memory`,
  /// in the order of the lane. `meter` is told where the time goes, by those who can tell: not by a
  /// library that does an operation as a whole, later, on a device.
  ///
  /// Errors    Aborted when another rank has failed · ProgramError when the ranks' calls do not
  ///           match · Error when the others do not answer in time
  void run(Lane lane, const Op& op, const RankMemory& memory, const Phase& phase = {},
           Mover& mover = host_mover(), ExchangeMeter* meter = nullptr) {
    static const Placement one_server;
    ExchangeMeter unasked{one_server};
    move({lane, op, phase, mover, meter != nullptr ? *meter : unasked}, memory);
  }
  /// Wakes every rank that waits, now and later, with Aborted: this rank has failed.
  virtual void abort(std::string_view why) noexcept = 0;
  /// Nobody gets at what this rank still exposes in stores when this returns: its memory goes.
  virtual void close_stores() noexcept {}
  /// Bytes that really came in so far, by the rank they are from; a broadcast counts as from its
  /// root, whatever way it took. An owner counts what it gets with pulls and pushes of others (see
  /// served_bytes), all of it by the time it passes Withdraw.
  virtual std::vector<std::int64_t> received_from() const {
    return {received_.begin(), received_.end()};
  }

 protected:
  struct Call {
    Lane lane;
    const Op& op;
    const Phase& phase;
    Mover& mover;
    ExchangeMeter& meter;
  };
  virtual void move(const Call& call, const RankMemory& memory) = 0;
  void count_received(int from, std::int64_t bytes) { received_[at(from)] += bytes; }

 private:
  std::vector<std::atomic<std::int64_t>> received_;
};

}  // namespace orrery
