// orrery-sim: reads simulations from standard input, replays each in a child process of its own
// (SimGrid's engine belongs to a process), writes the results to standard output.
#include <fmt/core.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <string>

#include "core/base/error.hpp"
#include "core/base/units.hpp"
#include "core/terminal/tell.hpp"
#include "sim/network/fluid_interconnect.hpp"
#include "sim/network/simgrid_interconnect.hpp"
#include "sim/replay/replay.hpp"
#include "sim/replay/wire.hpp"

namespace orrery::sim {
namespace {

std::string words_of(const ReplayProgress& progress) {
  return fmt::format("epoch {}, {} messages, {} simulated", progress.epoch + 1,
                     human_count(static_cast<double>(progress.messages)),
                     human_seconds(progress.simulated_seconds));
}

std::string simulate(int to, const std::string& request) {
  const Simulation simulation = simulation_from(request);
  Traffic traffic(simulation.cluster, connected_pairs(simulation));
  const auto network = simulation.engine == Engine::simgrid
                           ? make_simgrid_interconnect(traffic.plan())
                           : make_fluid_interconnect(traffic.plan());
  return to_bytes(replay(simulation, traffic, *network, [to](const ReplayProgress& progress) {
    write_message(to, Answer::progress, words_of(progress));
  }));
}

/// In the child: one answer, and how far it is.
void answer(int to, const std::string& request) {
  Answer kind = Answer::replay;
  std::string bytes;
  try {
    bytes = simulate(to, request);
  } catch (const ConfigError& error) {
    kind = Answer::config_error;
    bytes = error.what();
  } catch (const std::exception& error) {
    kind = Answer::error;
    bytes = error.what();
  }
  write_message(to, kind, bytes);
}

std::string cause(int status) {
  if (WIFSIGNALED(status)) return fmt::format("signal {}", WTERMSIG(status));
  return fmt::format("exit code {}", WEXITSTATUS(status));
}

/// False when nobody listens any more.
bool serve(const std::string& request) {
  int pipe[2];
  if (::pipe(pipe) != 0) throw Error("no pipe for a simulation");
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) throw Error("no process for a simulation");
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // no replay outlives its server
    if (::getppid() != parent) ::_exit(1);
    // Else whoever waits for an answer would not see that the server is gone.
    ::close(STDIN_FILENO);
    ::close(STDOUT_FILENO);
    ::close(pipe[0]);
    answer(pipe[1], request);
    std::fflush(stderr);
    ::_exit(0);
  }
  ::close(pipe[1]);
  Answer kind = Answer::error;
  std::string bytes;
  bool whole = read_message(pipe[0], kind, bytes);
  while (whole && kind == Answer::progress && write_message(STDOUT_FILENO, kind, bytes))
    whole = read_message(pipe[0], kind, bytes);
  ::close(pipe[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!whole) {
    kind = Answer::error;
    bytes = fmt::format(
        "the simulation ended with {} before it had a result{}", cause(status),
        WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? "; was it out of memory?" : "");
  }
  return write_message(STDOUT_FILENO, kind, bytes);
}

}  // namespace
}  // namespace orrery::sim

int main() {
  try {
    std::signal(SIGPIPE, SIG_IGN);
    orrery::sim::Answer kind{};
    std::string request;
    while (orrery::sim::read_message(STDIN_FILENO, kind, request))
      if (!orrery::sim::serve(request)) break;
    return 0;
  } catch (const std::exception& error) {
    orrery::tell("orrery-sim: {}\n", error.what());
    return 1;
  }
}
