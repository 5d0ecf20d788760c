// An experiment made ready, from its data to its strategy, and the programs that its ranks would
// run.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "core/cluster/placement.hpp"
#include "core/runtime/summary.hpp"
#include "core/strategy/strategy.hpp"
#include "core/strategy/train/record.hpp"
#include "core/strategy/train/train.hpp"
#include "experiments/config/experiment.hpp"

namespace orrery {

/// What running, simulating and recording an experiment start from.
struct PreparedExperiment {
  Experiment experiment;  ///< with numbers where its file says "fit"
  std::shared_ptr<const Problem> problem;
  std::unique_ptr<const Strategy> strategy;

  /// The work of its ranks; this must outlive it.
  TrainingBody body() const { return {*strategy, *problem}; }
  /// The number of epochs after which the programs repeat themselves.
  int period() const { return body().period(); }
};

/// The most that a rank holds of each kind of memory.
std::array<std::int64_t, kSpaces> peaks_of(const Programs& programs);

/// Bound of a rank's memory for any batch; nothing if no bound is known.
std::optional<std::array<std::int64_t, kSpaces>> bound_of_memory(
    const PreparedExperiment& prepared);

/// What one batch in a billion takes more than, at most, of each kind of a rank's memory: not above the bound.
/// Nothing if steps have no drawn batches.
std::optional<std::array<std::int64_t, kSpaces>> likely_memory(const PreparedExperiment& prepared);

/// Whether each epoch works on something else that is drawn for it, so that the memory of the recorded
/// epochs bounds nobody's.
bool draws_anew(const PreparedExperiment& prepared);

/// Prepares the experiment on a cut of its data.
///
/// Errors    ConfigError, OutOfMemory and NeedsStructure of require_trainable, fit_to_memory and
///           make_strategy
PreparedExperiment prepare(const Experiment& asked, const ProblemData& data, Partition cut);

/// Cuts the data by the experiment's settings, and prepares it.
///
/// Errors    also those of make_partition
PreparedExperiment prepare(const Experiment& asked, const ProblemData& data);

/// Records and checks the programs of all ranks for the first epochs (epochs_to_record).
///
/// Errors    ProgramError; OutOfMemory
Programs record_checked(const Body& body, const Capacities& capacities);

/// The same for an experiment. For statistics, ranks of equal structure share their programs, and
/// the order of collectives is not checked.
///
/// Errors    ProgramError; OutOfMemory
Programs record_checked(const PreparedExperiment& prepared, const Capacities& capacities = {});

/// Records and checks the programs of all ranks for this many epochs. Ranks of equal structure
/// always share theirs, which are checked once. Orders of collectives that deadlock are left to the
/// replay.
///
/// Errors    ProgramError; OutOfMemory
Programs record_checked_shared(const Body& body, int epochs, const Capacities& capacities);

/// Sums of each rank's program over this many epochs.
std::vector<Summary> summaries(const Programs& programs, const Body& body,
                               const Placement& placement, int epochs);

/// Sums over one period of each rank's program, with the experiment's placement.
std::vector<Summary> summaries(const Programs& programs, const PreparedExperiment& prepared);

}  // namespace orrery
