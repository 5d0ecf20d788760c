#include "experiments/run/interruption.hpp"

#include <semaphore.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>
#include <vector>

#include "core/base/removed_if_interrupted.hpp"
#include "core/terminal/activity.hpp"
#include "core/terminal/terminal.hpp"

namespace orrery {
namespace {

constexpr unsigned kSecondsToStop = 1;
constexpr int kInterrupted = 130;  // the exit status of shells after SIGINT

// What signal handlers may touch: atomics without locks, write(), alarm() and _exit().
std::atomic<bool> stop{false}, from_outside{false}, in_mpi{false}, speaking{false}, draws{false};
std::atomic<int> in_order{0};
std::atomic<const char*> awaited{nullptr};
static_assert(std::atomic<bool>::is_always_lock_free &&
              std::atomic<const char*>::is_always_lock_free);

void say(const char* text) {
  if (speaking && ::write(STDERR_FILENO, text, std::strlen(text)) < 0) return;  // nobody listens
}

/// A line of its own, which replaces the one that shows the phase.
void begin_line() {
  if (draws) say("\r\033[K");
}

extern "C" void on_signal(int) {
  if (stop.exchange(true)) ::_exit(kInterrupted);
  begin_line();
  say("stopping");
  if (const char* after = awaited.load(); after != nullptr) {
    say(" after ");
    say(after);
  }
  say("; once more to stop now\n");
  if (in_order == 0 && !in_mpi) ::alarm(kSecondsToStop);
}

extern "C" void on_end(int) {
  stop = true;
  from_outside = true;
}

extern "C" void on_alarm(int) {
  if (in_order > 0) return;
  begin_line();
  say("orrery: error: interrupted\n");
  ::_exit(1);
}

sem_t signalled;

/// For handlers: may be called anywhere.
extern "C" void on_end_signal(int) {
  if (stop.exchange(true)) ::_exit(kInterrupted);
  ::sem_post(&signalled);
}

/// The programs that threads of this process have started.
std::vector<pid_t> children() {
  std::vector<pid_t> found;
  std::error_code error;
  for (std::filesystem::directory_iterator task("/proc/self/task", error), end;
       !error && task != end; task.increment(error)) {
    std::ifstream in(task->path() / "children");
    for (pid_t child = 0; in >> child;) found.push_back(child);
  }
  return found;
}

/// Asks them to end, and waits for at most a second: they may write into what must be removed.
void end_children() {
  const auto asked = children();
  for (const pid_t child : asked) ::kill(child, SIGTERM);
  for (int i = 0; i < 50 && !children().empty(); ++i) {
    for (const pid_t child : asked) ::waitpid(child, nullptr, WNOHANG);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

void end_after_signal() {
  while (::sem_wait(&signalled) != 0 && errno == EINTR) {
  }
  tell_last("orrery: interrupted\n");
  end_children();
  remove_unfinished();
  ::_exit(kInterrupted);
}

}  // namespace

void heed_signals(bool mpi, bool speaks) {
  in_mpi = mpi;
  speaking = speaks;
  draws = draws_over(STDERR_FILENO);
  std::signal(SIGALRM, on_alarm);
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, mpi ? on_end : on_signal);
  std::signal(SIGUSR1, on_signal);
}

void end_on_signals() {
  ::sem_init(&signalled, 0, 0);
  std::thread(end_after_signal).detach();
  std::signal(SIGINT, on_end_signal);
  std::signal(SIGTERM, on_end_signal);
}

const std::atomic<bool>& stop_requested() { return stop; }
const std::atomic<bool>& ended_from_outside() { return from_outside; }

EndsInOrder::EndsInOrder(const char* after) : outer_(awaited.exchange(after)) { ++in_order; }
EndsInOrder::~EndsInOrder() {
  awaited = outer_;
  // Whoever was asked to stop here has a second to finish.
  if (--in_order == 0 && stop && !in_mpi) ::alarm(kSecondsToStop);
}

}  // namespace orrery
