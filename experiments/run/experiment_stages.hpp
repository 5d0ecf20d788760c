// The time of an experiment from its files to its last epoch, and when a partitioner pays.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "experiments/config/experiment.hpp"
#include "experiments/run/runner.hpp"

namespace orrery {

/// Seconds of the stages of an experiment, cut by one method.
struct CutStages {
  std::string method;
  double partition = 0;  ///< once
  double save = 0;       ///< once: writing the parts to disk
  /// in every run: reading the part that takes longest, as each rank reads its own
  double load_parts = 0;
  double load_all_parts = 0;  ///< one after the other
  std::int64_t bytes = 0;     ///< bytes of the parts on disk
  double epoch = 0;           ///< median without the first
  int epochs = 0;
  double communicated = 0;  ///< bytes that all ranks receive in an epoch

  double once() const { return partition + save; }
  double train() const { return epoch * epochs; }
};

struct ExperimentStages {
  double load = 0;  ///< loading the data set, in seconds
  /// Whether a run reads the whole data set, and no parts.
  bool reads_all = false;
  bool simulated = false;  ///< whether the training is simulated; everything else is measured
  std::vector<CutStages> methods;

  /// Time that every run takes.
  double each_run(const CutStages& of) const {
    return (reads_all ? load : of.load_parts) + of.train();
  }
};

/// The number of runs after which something that takes `once` and then `each` per run has taken
/// less in all than the other, and does so from then on: 0 if it is never behind; nothing if it
/// never happens, or only at first.
std::optional<double> pays_after(double once, double each, double other_once, double other_each);

/// Loads the experiment's data. Cuts it by each method, writes the parts below `folder`, reads them
/// and removes them. Trains for the experiment's epochs, for real on threads or simulated, and
/// leaves the runs there.
///
/// Errors    ConfigError: a backend that is neither threads nor sim, data that cannot be cut; those
///           of cutting, writing and running
ExperimentStages measure_stages(const Experiment& experiment,
                                const std::vector<std::string>& methods,
                                const std::filesystem::path& folder, Runner& runner);

}  // namespace orrery
