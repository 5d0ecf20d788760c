#include "experiments/predict/simulator.hpp"

#include <signal.h>

#include "core/base/error.hpp"
#include "sim/replay/wire.hpp"

namespace orrery {
namespace {

std::string simulator_program() {
  if (const auto program = program_beside("sim/orrery-sim")) return program->string();
  throw NotBuilt(
      "this build has no simulator: install SimGrid (apt-get install libsimgrid-dev), remove the "
      "build folder and start ./orrery again");
}

}  // namespace

sim::Replay Simulator::replay(const sim::Simulation& simulation) {
  if (!process_) process_.emplace(std::vector{simulator_program()});
  const auto former = ::signal(SIGPIPE, SIG_IGN);
  sim::Answer kind = sim::Answer::error;
  std::string bytes;
  const bool answered =
      sim::write_message(process_->input(), sim::Answer::replay, sim::to_bytes(simulation)) &&
      sim::read_message(process_->output(), kind, bytes);
  ::signal(SIGPIPE, former);
  if (!answered) {
    process_.reset();
    throw Error("the simulator ended before it had a result (was it interrupted?)");
  }
  if (kind == sim::Answer::config_error) throw ConfigError("", bytes);
  if (kind == sim::Answer::error) throw Error(bytes);
  return sim::replay_from(bytes);
}

}  // namespace orrery
