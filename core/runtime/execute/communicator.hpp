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
/// lane of the mover. Several lanes may be inside at the same time. What a rank exposes in a store
/// is served to the others, whatever its lanes do meanwhile.
///
/// Placement operands: on this rank; the others' are in the calls of the other ranks
class Communicator {
 public:
  explicit Communicator(int size) : received_(static_cast<std::size_t>(size)) {}
  virtual ~Communicator() = default;
  virtual std::string_view name() const = 0;
  /// `phase`: the phase of the operation, for messages. `mover` reaches what is in `memory`, in the
  /// order of the lane. `meter` gets the division of the time from those who know it; not from a
  /// library that does an operation as a whole, later, on a device.
  ///
  /// Errors    Aborted if another rank has failed · ProgramError if the ranks' calls do not
  ///           match · Error if the others do not answer in time
  void run(Lane lane, const Op& op, const RankMemory& memory, const Phase& phase = {},
           Mover& mover = host_mover(), ExchangeMeter* meter = nullptr) {
    static const Placement one_server;
    ExchangeMeter unasked{one_server};
    move({lane, op, phase, mover, meter != nullptr ? *meter : unasked}, memory);
  }
  /// Wakes every rank that waits, now and later, with Aborted: this rank has failed.
  virtual void abort(std::string_view why) noexcept = 0;
  /// After it returns nobody reaches what this rank exposes in stores: its memory is freed.
  virtual void close_stores() noexcept {}
  /// Where memory of Space::server_host comes from.
  virtual Storage& server_storage() { return host_storage(); }
  /// Bytes really received so far, by the sending rank; a broadcast counts as from its root,
  /// whatever its route. An owner counts what it receives with pulls and pushes of others (see
  /// served_bytes), all of it before it passes Withdraw.
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
