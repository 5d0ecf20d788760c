// Turns the crank: replays priced programs on a cluster.
#pragma once

#include <cstdint>
#include <functional>

#include "sim/network/interconnect.hpp"
#include "sim/replay/simulation.hpp"
#include "sim/replay/traffic.hpp"

namespace orrery::sim {

/// The pairs of ends (Traffic) between which messages of the simulation travel over links.
///
/// Errors    ConfigError (ranks on one device whose library cannot copy within it, algorithms)
std::vector<Traffic::Pair> connected_pairs(const Simulation& simulation);

/// How far a replay is: the epoch (from 0) that the first rank is in, messages that were sent, and
/// simulated seconds.
struct ReplayProgress {
  int epoch = 0;
  std::int64_t messages = 0;
  double simulated_seconds = 0;
};

/// Replays on a network that was made from traffic.plan(). `progress`, where there is one, is called
/// now and then, about twice a second.
///
/// Model     A rank's host issues in program order, `issue_seconds` a submit (times the ranks of
///           its server where one host serves them all), and blocks where the program reads back.
///           An operation starts when it was issued, its lane's last one has ended and what it
///           waits for has passed. Kernels share a device by Processor; a collective's rank is in
///           it from the moment its lane comes to it until its last message has ended. Tasks of a
///           host share its cores and its memory (Host); where a server has a host beside its
///           devices, those who issue take one of the same cores each, and slow down with the
///           tasks when more threads are busy than there are cores. Rows of a store are asked for
///           by a message to each owner, served by a thread of its host whatever its lanes do, and
///           answered.
/// Errors    ProgramError (ranks that wait for each other for ever), ConfigError (host tasks on a
///           cluster that says nothing of its hosts)
Replay replay(const Simulation& simulation, Traffic& traffic, Interconnect& network,
              const std::function<void(const ReplayProgress&)>& progress = {});

}  // namespace orrery::sim
