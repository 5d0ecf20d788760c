#include "experiments/predict/simulator.hpp"

#include <poll.h>
#include <signal.h>

#include <chrono>
#include <thread>
#include <vector>

#include "core/base/error.hpp"
#include "core/terminal/activity.hpp"
#include "sim/replay/wire.hpp"

namespace orrery {
namespace {

std::string simulator_program() {
  if (const auto program = program_beside("sim/orrery-sim")) return program->string();
  throw NotBuilt(
      "this build has no simulator: install SimGrid (apt-get install libsimgrid-dev), remove the "
      "build folder and start ./orrery again");
}

/// Blocks SIGINT in whatever is started while it lives, and only there. Ctrl-C goes to all programs
/// of a terminal, and SimGrid answers it with "Segmentation fault.".
class WithoutInterrupts {
 public:
  WithoutInterrupts() {
    sigset_t interrupt;
    ::sigemptyset(&interrupt);
    ::sigaddset(&interrupt, SIGINT);
    ::pthread_sigmask(SIG_BLOCK, &interrupt, &before_);
  }
  ~WithoutInterrupts() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  WithoutInterrupts(const WithoutInterrupts&) = delete;
  WithoutInterrupts& operator=(const WithoutInterrupts&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

void Simulator::wait_for_answer() const {
  pollfd answer{process_->output(), POLLIN, 0};
  while (!stopped() && ::poll(&answer, 1, 50) <= 0) {
  }
}

void Simulator::give_up() {
  // A signal to all processes of a job may end the simulator before this process receives it.
  for (int i = 0; i < 20 && !stopped() && stop_ != nullptr; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  process_->kill();  // the replaying process ends with it
  process_.reset();
  throw SimulatorFailed(stopped() ? "interrupted before the simulation had a result"
                                  : "the simulator ended before it had a result");
}

void Simulator::start() {
  if (process_) return;
  const WithoutInterrupts started;
  process_.emplace(std::vector{simulator_program()});
}

sim::Replay Simulator::replay(const sim::Simulation& simulation, const std::string& what) {
  Activity replaying(what);
  start();
  const auto former = ::signal(SIGPIPE, SIG_IGN);
  sim::Answer kind = sim::Answer::error;
  std::string bytes;
  bool answered =
      sim::write_message(process_->input(), sim::Answer::replay, sim::to_bytes(simulation));
  while (answered) {
    wait_for_answer();
    answered = !stopped() && sim::read_message(process_->output(), kind, bytes);
    if (!answered || kind != sim::Answer::progress) break;
    replaying.update({what + ": " + bytes, bytes});
  }
  ::signal(SIGPIPE, former);
  if (!answered) give_up();
  if (kind == sim::Answer::config_error) throw ConfigError("", bytes);
  if (kind == sim::Answer::error) throw SimulatorFailed(bytes);
  return sim::replay_from(bytes);
}

}  // namespace orrery
