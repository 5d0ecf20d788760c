#include "experiments/run/interruption.hpp"

#include <unistd.h>

#include <csignal>
#include <cstring>

namespace orrery {
namespace {

constexpr unsigned kSecondsToStop = 1;

// What handlers of signals may touch: atomics without locks, write(), alarm() and _exit().
std::atomic<bool> stop{false}, from_outside{false}, in_mpi{false}, speaking{false};
std::atomic<int> in_order{0};
std::atomic<const char*> awaited{nullptr};
static_assert(std::atomic<bool>::is_always_lock_free &&
              std::atomic<const char*>::is_always_lock_free);

void say(const char* text) {
  if (speaking && ::write(STDERR_FILENO, text, std::strlen(text)) < 0) return;  // nobody listens
}

extern "C" void on_signal(int) {
  if (stop.exchange(true)) ::_exit(130);
  if (const char* after = awaited.load(); after != nullptr) {
    say("\nstopping after ");
    say(after);
    say("; once more to stop now\n");
  }
  if (in_order == 0 && !in_mpi) ::alarm(kSecondsToStop);
}

extern "C" void on_end(int) {
  stop = true;
  from_outside = true;
}

extern "C" void on_alarm(int) {
  if (in_order > 0) return;
  say("\norrery: error: interrupted\n");
  ::_exit(1);
}

}  // namespace

void heed_signals(bool mpi, bool speaks) {
  in_mpi = mpi;
  speaking = speaks;
  std::signal(SIGALRM, on_alarm);
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, mpi ? on_end : on_signal);
  std::signal(SIGUSR1, on_signal);
}

const std::atomic<bool>& stop_requested() { return stop; }
const std::atomic<bool>& ended_from_outside() { return from_outside; }

EndsInOrder::EndsInOrder(const char* after) : outer_(awaited.exchange(after)) { ++in_order; }
EndsInOrder::~EndsInOrder() {
  awaited = outer_;
  // Whoever was asked to stop in here has a second for what is left.
  if (--in_order == 0 && stop && !in_mpi) ::alarm(kSecondsToStop);
}

}  // namespace orrery
