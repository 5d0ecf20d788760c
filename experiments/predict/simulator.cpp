#include "experiments/predict/simulator.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "core/base/error.hpp"
#include "sim/replay/wire.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;

/// Beside this program in the build folder.
fs::path simulator_program() {
  const fs::path build = fs::read_symlink("/proc/self/exe").parent_path().parent_path();
  for (const fs::path& folder : {build / "sim", build / ".." / "sim"})
    if (fs::exists(folder / "orrery-sim")) return folder / "orrery-sim";
  throw NotBuilt(
      "this build has no simulator: install SimGrid (apt-get install libsimgrid-dev), remove the "
      "build folder and start ./orrery again");
}

}  // namespace

Simulator::~Simulator() { stop(); }

void Simulator::start() {
  const std::string program = simulator_program().string();
  int in[2], out[2];
  if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0)
    throw Error("no pipe to the simulator");
  const pid_t parent = ::getpid();
  process_ = ::fork();
  if (process_ < 0) throw Error("no process for the simulator");
  if (process_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // no simulation outlives the program that asked for it
    if (::getppid() != parent) ::_exit(1);
    ::dup2(in[0], STDIN_FILENO);
    ::dup2(out[1], STDOUT_FILENO);
    ::execl(program.c_str(), program.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  ::close(in[0]);
  ::close(out[1]);
  to_ = in[1];
  from_ = out[0];
}

void Simulator::stop() {
  if (process_ < 0) return;
  ::close(to_);
  ::close(from_);
  int status = 0;
  ::waitpid(process_, &status, 0);
  process_ = -1;
}

sim::Replay Simulator::replay(const sim::Simulation& simulation) {
  if (process_ < 0) start();
  const auto former = ::signal(SIGPIPE, SIG_IGN);
  sim::Answer kind = sim::Answer::error;
  std::string bytes;
  const bool answered = sim::write_message(to_, sim::Answer::replay, sim::to_bytes(simulation)) &&
                        sim::read_message(from_, kind, bytes);
  ::signal(SIGPIPE, former);
  if (!answered) {
    stop();
    throw Error("the simulator ended before it had a result (was it interrupted?)");
  }
  if (kind == sim::Answer::config_error) throw ConfigError("", bytes);
  if (kind == sim::Answer::error) throw Error(bytes);
  return sim::replay_from(bytes);
}

}  // namespace orrery
