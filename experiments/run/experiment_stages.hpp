// The time of an experiment from its files to its last epoch, and when a partitioner pays.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "experiments/config/experiment.hpp"
#include "experiments/run/runner.hpp"

namespace orrery {

/// Seconds of the stages of an experiment, cut by one method. Files are read and written on this machine.
struct CutStages {
  std::string method;
  double partition = 0;  ///< once, always on this machine
  double save = 0;       ///< once: writing the parts to disk
  /// in every run: reading the part that takes longest, as each rank reads its own
  double load_parts = 0;
  double load_all_parts = 0;  ///< one after the other
  std::int64_t bytes = 0;     ///< bytes of the parts on disk
  /// save and load_parts over the storage of a simulated cluster: its first server writes all parts,
  /// then all ranks read theirs at once
  std::optional<double> storage_save, storage_load_parts;
  double epoch = 0;  ///< median without the first
  int epochs = 0;
  double communicated = 0;  ///< bytes that all ranks receive in an epoch
  std::optional<double> usd_per_epoch;

  double train() const { return epoch * epochs; }
};

struct ExperimentStages {
  double load = 0;  ///< loading the data set, in seconds
  /// Whether a run reads the whole data set, and no parts.
  bool reads_all = false;
  bool simulated = false;  ///< whether the training is simulated; cutting is always measured
  std::string cluster;     ///< the simulated one
  /// Over the storage of a simulated cluster: one server reads the data set, as it must to cut it, or
  /// every server does. Nothing: its file describes no storage.
  std::optional<double> storage_load, storage_load_everywhere;
  std::vector<CutStages> methods;

  /// Time that is taken once, before all runs, and time that every run takes. What is simulated
  /// counts the files of its own cluster, or none if these have no price.
  double once(const CutStages& of) const {
    return of.partition + (simulated ? of.storage_save.value_or(0) : of.save);
  }
  double each_run(const CutStages& of) const {
    if (!simulated) return (reads_all ? load : of.load_parts) + of.train();
    return (reads_all ? storage_load_everywhere : of.storage_load_parts).value_or(0) + of.train();
  }
};

/// The number of runs after which something that takes `once` and then `each` per run has taken
/// less in all than the other, and does so from then on: 0 if it is never behind; nothing if it
/// never happens, or only at first.
std::optional<double> pays_after(double once, double each, double other_once, double other_each);

/// Loads the experiment's data. Cuts it by each method, writes the parts below `folder`, reads them
/// and removes them. Trains for the experiment's epochs, for real on threads or simulated, and
/// leaves the runs there. Where the simulated cluster has storage, the same files pass it, too.
///
/// Errors    ConfigError: a backend that is neither threads nor sim, data that cannot be cut; those
///           of cutting, writing and running
ExperimentStages measure_stages(const Experiment& experiment,
                                const std::vector<std::string>& methods,
                                const std::filesystem::path& folder, Runner& runner);

}  // namespace orrery
