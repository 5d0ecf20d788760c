// Turns the crank: records an experiment's programs, prices them and has them replayed on its
// cluster.
#pragma once

#include <nlohmann/json.hpp>

#include "experiments/execute/execute.hpp"
#include "experiments/predict/prepared.hpp"
#include "experiments/predict/simulator.hpp"
#include "sim/price/profile.hpp"

namespace orrery {

/// What a simulated run leaves behind: the same as a real one, and how it was simulated.
struct SimulatedOutcome {
  Outcome outcome;
  nlohmann::ordered_json simulation;  ///< result.json's "simulation"
  nlohmann::ordered_json links;       ///< result.json's "links": per epoch, the busiest first
};

/// The profile of the experiment's devices, with its scale: simulation.profile, else what the
/// cluster names. Its prices of host tasks are those of the profile that the cluster names for its
/// hosts, if it does.
///
/// Errors    ConfigError (none, several, unknown)
sim::DeviceProfile profile_of(const Experiment& experiment);

/// The library that the experiment's ranks communicate with, as the profile knows it.
/// Errors    ConfigError listing those that it knows
sim::Library library_of(const Experiment& experiment, const sim::DeviceProfile& profile);

/// Threads of one rank's kernels where a device is a CPU or a machine: its share of the cores.
int kernel_threads(const Experiment& experiment);

/// What the ranks of a body do, recorded, checked and priced: all that a replay needs.
struct PricedRun {
  Programs programs;
  sim::DeviceProfile profile;
  sim::Simulation simulation;
  int epochs = 0;
  double record_seconds = 0;
};

/// Records a body where the experiment places its ranks and prices its programs, for the experiment's
/// `simulation.epochs`.
///
/// Errors    as simulate(), but those of the replay
PricedRun price_run(const Body& body, const Experiment& experiment);
PricedRun price_run(const PreparedExperiment& prepared);

/// What no epoch after the first takes less than, however little its ranks wait: the operations of
/// the computing lane of the rank that has most of them, in the epoch in which these are least. They
/// run one after the other, and nothing makes one faster than it is alone. In seconds.
double least_epoch_seconds(const PricedRun& run);

/// Has a priced run of the body replayed.
///
/// Errors    ConfigError (routes), NotBuilt
SimulatedOutcome replay(const PricedRun& run, const Body& body, const Experiment& experiment,
                        Simulator& simulator);

/// Records a body where the experiment places its ranks, prices its programs and has them replayed,
/// for the experiment's `simulation.epochs`.
///
/// Errors    OutOfMemory (as the device would), ProgramError (the check), Uncalibrated,
///           NeedsStructure, ConfigError (what it does depends on values; a library the profile has
///           not; routes), NotBuilt
SimulatedOutcome simulate(const Body& body, const Experiment& experiment, Simulator& simulator);

/// The same of an experiment's training.
///
/// Errors    OutOfMemory (as the device would), ProgramError (the check), Uncalibrated,
///           NeedsStructure, ConfigError (a strategy that depends on values; a library the profile
///           has not; routes), NotBuilt
SimulatedOutcome simulate(const PreparedExperiment& prepared, Simulator& simulator);

}  // namespace orrery
