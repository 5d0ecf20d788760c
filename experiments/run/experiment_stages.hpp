// What an experiment takes from its files to its last epoch, and when a partitioner pays.
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
  double partition = 0;   ///< once
  double save = 0;        ///< once: the parts, onto the disk
  double load_parts = 0;  ///< in every run: of the part that takes longest, as ranks read theirs
  double load_all_parts = 0;  ///< one after the other
  std::int64_t bytes = 0;     ///< of the parts on the disk
  double epoch = 0;           ///< median without the first
  int epochs = 0;
  double communicated = 0;  ///< bytes that all ranks receive in an epoch

  double once() const { return partition + save; }
  double train() const { return epoch * epochs; }
};

struct ExperimentStages {
  double load = 0;  ///< of the data set, in seconds
  /// Whether a run reads the whole data set, and no parts.
  bool reads_all = false;
  bool simulated = false;  ///< the training; everything else is measured
  std::vector<CutStages> methods;

  /// What every run takes.
  double each_run(const CutStages& of) const {
    return (reads_all ? load : of.load_parts) + of.train();
  }
};

/// After how many runs what takes `once` and then `each` time in every run has taken less in all
/// than the other, and does from then on: 0 where it is never behind; nothing where it is not so, or
/// only at first.
std::optional<double> pays_after(double once, double each, double other_once, double other_each);

/// Loads the experiment's data; cuts it by each method, writes the parts below `folder`, reads them
/// and removes them; trains for the experiment's epochs, for real on threads or simulated, and
/// leaves the runs there.
///
/// Errors    ConfigError: a backend that is neither threads nor sim, data that cannot be cut; what
///           cutting, writing and running throw
ExperimentStages measure_stages(const Experiment& experiment,
                                const std::vector<std::string>& methods,
                                const std::filesystem::path& folder, Runner& runner);

}  // namespace orrery
