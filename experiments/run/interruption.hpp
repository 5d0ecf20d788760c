// What a signal does to a run, and to commands that have nothing to keep when they are stopped.
#pragma once

#include <atomic>

namespace orrery {

/// From now on SIGINT, SIGTERM and SIGUSR1 (a batch system's warning) ask for an end: training
/// stops after its epoch, a simulation at once. Everything else (reading, cutting, recording) ends
/// after a second, with status 1. A second signal ends the process at once, with status 130.
///
/// In a job over MPI there is no such second, because ranks end together. SIGTERM comes from
/// mpirun, which ends the others when one rank has died. `speaks`: whether this process reports the
/// signal.
void heed_signals(bool mpi, bool speaks);

/// From now on SIGINT and SIGTERM end the process within a second or so, with status 130 and a
/// line. Programs that it started are ended, and unfinished files
/// (core/base/removed_if_interrupted.hpp) are removed. A second signal ends it at once. For
/// commands that write their output at the end.
void end_on_signals();

/// Whether a signal has come.
const std::atomic<bool>& stop_requested();

/// Whether it was SIGTERM in a job over MPI.
const std::atomic<bool>& ended_from_outside();

/// While one lives, the present work is worth keeping and ends in order, however long it takes.
class EndsInOrder {
 public:
  /// `after`: what is waited for, reported to whoever asks for an end; null: no message.
  explicit EndsInOrder(const char* after = nullptr);
  ~EndsInOrder();
  EndsInOrder(const EndsInOrder&) = delete;
  EndsInOrder& operator=(const EndsInOrder&) = delete;

 private:
  const char* outer_;
};

}  // namespace orrery
