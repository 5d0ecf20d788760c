// Bytes between processes of one build: simulations, their results, what ranks leave behind. They
// come from programs of ours, which may be killed in the middle of a message.
#include <unistd.h>

#include <stdexcept>

#include "core/base/error.hpp"
#include "experiments/config/cluster_file.hpp"
#include "experiments/config/validate_json.hpp"
#include "experiments/execute/outcome_bytes.hpp"
#include "sim/replay/wire.hpp"
#include "tests/fuzz/folder_input.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/support/made_up_run.hpp"

namespace orrery::fuzz {
namespace {

/// A message that is read, written, read and written again is the same both times.
template <class Read>
void there_and_back(std::string_view input, const Read& read) {
  const std::string once = to_bytes(read(std::string(input)));
  if (to_bytes(read(once)) != once) throw std::logic_error("a message changes on its way");
}

sim::Simulation simulation() {
  sim::Simulation s;
  s.cluster.name = "two";
  s.cluster.nodes = {{"a", NodeKind::kDevice, 0}, {"b", NodeKind::kDevice, 0}};
  s.cluster.links = {{0, 1, 1e9, 1e-6, Duplex::kFull, "link", 1}};
  s.cluster.devices = {{0, "gpu", "gpu", 1, 1, 1}, {1, "gpu", "gpu", 1, 1, 1}};
  s.devices = {0, 1};
  auto schedule = std::make_shared<sim::RankSchedule>();
  schedule->works = {{0, 1, 0.5, 1e6, 8}};
  schedule->kinds = {"gemm", "all_reduce"};
  schedule->calls = {{sim::CollectiveKind::all_reduce, 1, 0, -1, -1, 64, 64}};
  schedule->lanes[0] = {{sim::LaneItem::Type::work, Lane::compute, 0, 0, {1, 0}}};
  schedule->phases = {{Stage::forward, 0, 1}};
  schedule->parts = {{1, 2}};
  schedule->device_bytes = {5};
  const sim::GroupTable groups{{Lane::comm, {0, 0, 2, 1}}};
  s.programs = {{schedule, groups}, {schedule, groups}};
  return s;
}

sim::Replay replay() {
  return {{{test::made_up_cost(1)}, {test::made_up_cost(2)}},
          {0.5, 0.75},
          {test::made_up_timeline(0)},
          {{"a > b", "link", 1e9, 5, 0.5}},
          {{sim::CollectiveKind::all_reduce, 2, "ring", 1, 2, 3}},
          1,
          2,
          0.5,
          0.25,
          100};
}

RankOutcome outcome() {
  return {{test::made_up_cost(1)},
          test::made_up_timeline(3),
          test::made_up_summary(),
          {},
          {0, 1000},
          0.25,
          3000,
          4000};
}

/// A stream as it comes out of a pipe that may have ended.
void read_stream(std::string_view input) {
  int ends[2];
  if (input.size() > 60000 || ::pipe(ends) != 0) return;
  const bool written =
      ::write(ends[1], input.data(), input.size()) == static_cast<ssize_t>(input.size());
  ::close(ends[1]);
  sim::Answer kind{};
  std::string bytes;
  const auto read_on = [&] { return written && sim::read_message(ends[0], kind, bytes); };
  try {
    while (read_on()) {
    }
  } catch (...) {
    ::close(ends[0]);
    throw;
  }
  ::close(ends[0]);
}

std::string stream() {
  int ends[2];
  if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
  sim::write_message(ends[1], sim::Answer::replay, "abc");
  sim::write_message(ends[1], sim::Answer::error, "");
  ::close(ends[1]);
  std::string bytes(1000, '\0');
  bytes.resize(static_cast<std::size_t>(::read(ends[0], bytes.data(), bytes.size())));
  ::close(ends[0]);
  return bytes;
}

}  // namespace

std::vector<Target> message_targets() {
  return {{"simulation", [](std::string_view in) { there_and_back(in, sim::simulation_from); },
           [] { return std::vector<std::string>{sim::to_bytes(simulation())}; }},
          {"replay", [](std::string_view in) { there_and_back(in, sim::replay_from); },
           [] { return std::vector<std::string>{sim::to_bytes(replay())}; }},
          {"outcome", [](std::string_view in) { there_and_back(in, outcome_from_bytes); },
           [] { return std::vector<std::string>{to_bytes(outcome())}; }},
          {"pipe", read_stream, [] { return std::vector<std::string>{stream()}; }}};
}

}  // namespace orrery::fuzz
