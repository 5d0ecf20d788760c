// A rank waits eagerly at first, then so that the cores are free for those that compute.
#pragma once

#include <sched.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace orrery::mpi {

/// The pauses of one wait. Ranks often outnumber cores, so a wait yields from the start. A long one
/// sleeps for an eighth of its duration so far, up to a limit.
class Pause {
  using Clock = std::chrono::steady_clock;

 public:
  /// `longest`: with 200 us, waiting takes 3 % of a core (measured with eight ranks on two).
  explicit Pause(Clock::duration longest = std::chrono::microseconds(200)) : longest_(longest) {}
  /// Something has happened: be eager again.
  void reset() { began_ = {}; }
  /// Something may have happened: be eager for a few turns.
  void stir() { eager_turns_ = 8; }
  /// Yields or sleeps.
  void rest() {
    using namespace std::chrono_literals;
    const auto now = Clock::now();
    if (began_ == Clock::time_point{}) began_ = now;
    const auto waited = now - began_;
    if (waited < 60us || eager_turns_ > 0) {
      eager_turns_ = std::max(0, eager_turns_ - 1);
      ::sched_yield();
      return;
    }
    // By default the system wakes a sleeper up to 50 us late; the setting is the thread's own.
    static thread_local const int precise = ::prctl(PR_SET_TIMERSLACK, 1000UL);
    static_cast<void>(precise);
    std::this_thread::sleep_for(
        std::clamp<Clock::duration>(waited / 8, Clock::duration(20us), longest_));
  }

 private:
  Clock::duration longest_;
  Clock::time_point began_{};
  int eager_turns_ = 0;
};

}  // namespace orrery::mpi
