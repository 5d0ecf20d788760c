// A simulation as plain data: what is replayed on what, and the result.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/cluster/cluster.hpp"
#include "core/runtime/timeline.hpp"
#include "sim/collectives/expansion.hpp"
#include "sim/replay/priced_program.hpp"

namespace orrery::sim {

/// Whether each rank has its own host process, or one issues for all ranks of a server.
enum class Hosts : std::uint8_t { per_rank, per_server };

/// The engine that simulates the network. The two agree to rounding.
enum class Engine : std::uint8_t { fluid, simgrid };

/// The terms that a kind of device adds to the prices of its operations (DeviceProfile has the
/// meanings).
struct DeviceBehaviour {
  double issue_seconds = 0, handover_seconds = 0, sync_seconds = 0;
  double communication_slowdown = 1;
  double variation = 0;
  double turn_seconds = 0;
  bool operator==(const DeviceBehaviour&) const = default;
};

/// Programs with prices, on a cluster.
struct Simulation {
  Cluster cluster;
  std::vector<int> devices;             ///< of each rank
  std::vector<PricedProgram> programs;  ///< for each rank; equal schedules may be one object
  DeviceBehaviour behaviour;
  Library library;
  CollectiveOptions collectives;
  Hosts hosts = Hosts::per_rank;
  /// The most ranks whose spans come back, besides the slowest rank's: all if they are no more, else
  /// the first, the middle and the last one of each kind.
  int timeline_ranks = kMostTracedRanks;
  EpochRange timeline_epochs{0, 1};
  Engine engine = Engine::fluid;

  int ranks() const { return static_cast<int>(devices.size()); }
};

/// One direction of a link (both, if they share its capacity), in the replayed epochs.
struct LinkUse {
  std::string name;  ///< "s0/gpu1 > s0/nvswitch"
  std::string type;
  double bytes_per_second = 0;
  double bytes = 0;         ///< that passed
  double busy_seconds = 0;  ///< seconds with at least one message under way
  bool operator==(const LinkUse&) const = default;
};

/// How often an algorithm was chosen for a kind of collective.
struct AlgorithmUse {
  CollectiveKind kind = CollectiveKind::broadcast;
  int ranks = 0;
  std::string algorithm;
  double least_bytes = 0, most_bytes = 0;
  std::int64_t calls = 0;
  bool operator==(const AlgorithmUse&) const = default;
};

struct Replay {
  std::vector<std::vector<EpochCost>> epochs;  ///< of each rank
  std::vector<double> setup_seconds;           ///< of each rank, before its first epoch
  std::vector<Timeline> timelines;             ///< of some ranks
  std::vector<LinkUse> links;                  ///< those that were used
  std::vector<AlgorithmUse> algorithms;
  std::int64_t messages = 0, operations = 0;
  double simulated_seconds = 0;  ///< set-up to tear-down
  double wall_seconds = 0;       ///< seconds that the replay took
  std::int64_t peak_rss_bytes = 0;
};

}  // namespace orrery::sim
