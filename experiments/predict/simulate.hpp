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
