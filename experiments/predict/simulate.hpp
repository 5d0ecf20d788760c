// Records an experiment's programs, prices them and has them replayed on its cluster.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "experiments/config/profile_file.hpp"
#include "experiments/execute/execute.hpp"
#include "experiments/predict/prepared.hpp"
#include "experiments/predict/simulator.hpp"
#include "sim/price/profile.hpp"

namespace orrery {

/// The result of a simulated run: the same as a real one, and how it was simulated.
struct SimulatedOutcome {
  Outcome outcome;
  nlohmann::ordered_json simulation;  ///< result.json's "simulation"
  nlohmann::ordered_json links;       ///< result.json's "links": per epoch, the busiest first
};

/// The profile of the experiment's devices, with its scale: simulation.profile, else the one that
/// the cluster names. Its prices of host tasks are those of the profile that the cluster names for
/// its hosts, if it names one.
///
/// Errors    ConfigError (none, several, unknown; as load_profile)
sim::DeviceProfile profile_of(const Experiment& experiment,
                              Efficiencies which = Efficiencies::stated);

/// The communication library of the experiment's ranks, from the profile.
/// Errors    ConfigError listing those that it has
sim::Library library_of(const Experiment& experiment, const sim::DeviceProfile& profile);

/// What the profile adds to the prices of operations.
sim::DeviceBehaviour behaviour_of(const sim::DeviceProfile& profile);

/// For a command that replays more than the epochs of one training.
///
/// Errors    ConfigError: simulation.sensitivity is asked for
void refuse_sensitivity(const Experiment& experiment, std::string_view command);

/// Threads of one rank's kernels if a device is a CPU or a machine: its share of the cores.
int kernel_threads(const Experiment& experiment);

/// What the ranks of a body do, recorded, checked and priced: all that a replay needs.
struct PricedRun {
  Programs programs;
  sim::DeviceProfile profile;
  sim::Simulation simulation;
  int epochs = 0;
  double record_seconds = 0;
};

/// Records a body with the experiment's placement and prices its programs, for the experiment's
/// `simulation.epochs`.
///
/// Errors    as simulate(), without those of the replay
PricedRun price_run(const Body& body, const Experiment& experiment);
PricedRun price_run(const PreparedExperiment& prepared);

/// A lower bound of every epoch after the first, however little its ranks wait: the operations of
/// the computing lane of the rank with most of them, in the epoch with fewest. They run one after
/// the other, and nothing makes one faster than it is alone. In seconds.
double least_epoch_seconds(const PricedRun& run);

/// Has a priced run of the body replayed.
///
/// Errors    ConfigError (routes), NotBuilt
SimulatedOutcome replay(const PricedRun& run, const Body& body, const Experiment& experiment,
                        Simulator& simulator);

/// Records a body with the experiment's placement, prices its programs and has them replayed, for
/// the experiment's `simulation.epochs`. With simulation.sensitivity they are replayed with both ends
/// of the profile's efficiencies, too: "sensitivity" of the result's `simulation`.
///
/// Errors    OutOfMemory (as the device would), ProgramError (the check), Uncalibrated,
///           NeedsStructure, ConfigError (what it does depends on values; a library the profile has
///           not; routes), NotBuilt
SimulatedOutcome simulate(const Body& body, const Experiment& experiment, Simulator& simulator);

/// The same for an experiment's training.
///
/// Errors    OutOfMemory (as the device would), ProgramError (the check), Uncalibrated,
///           NeedsStructure, ConfigError (a strategy that depends on values; a library the profile
///           has not; routes), NotBuilt
SimulatedOutcome simulate(const PreparedExperiment& prepared, Simulator& simulator);

}  // namespace orrery
