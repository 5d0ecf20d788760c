// Runs experiments, alone or as one of the ranks of a job.
#pragma once

#include <atomic>
#include <optional>
#include <set>
#include <string>

#include "backends/comm_mpi/comm_mpi.hpp"
#include "experiments/calibrate/other_work.hpp"
#include "experiments/config/load_problem.hpp"
#include "experiments/predict/prepared.hpp"
#include "experiments/predict/simulator.hpp"
#include "experiments/results/epoch_log.hpp"
#include "experiments/results/results.hpp"
#include "experiments/results/resume.hpp"
#include "experiments/results/run_report.hpp"

namespace orrery {

/// This process among those that run the experiments: alone, or a rank of an MPI job.
struct Job {
  MpiWorld* world = nullptr;
  Communicator* communicator = nullptr;
  /// The one that prints and writes.
  bool leads() const { return world == nullptr || world->rank() == 0; }
  void share(std::string& bytes) const {
    if (world != nullptr) world->share(bytes);
  }
};

/// Work of other programs while all processes of a job were at their work, on the leading process:
/// each reports what it has `seen`.
calibrate::OtherWork others_beside(const Job& job, const calibrate::WorkReading& seen);

/// Runs experiments one after the other, and keeps the last loaded data set.
class Runner {
 public:
  struct Options {
    bool quiet = false;
    /// continue from the checkpoint in the folder, if any
    bool resume = false;
    bool anyway = false;                      ///< run even if this machine's memory is too small
    const std::atomic<bool>* stop = nullptr;  ///< set by a signal
    LogOptions log{};                         ///< of epochs
  };
  Runner(Options options, const Job& job)
      : options_(options), job_(job), simulator_(options.stop) {}

  /// The finished run on the leading process, which has a folder; nothing elsewhere.
  ///
  /// A combination of a sweep that needs more memory than a device has is a result like others,
  /// except in a job over MPI, whose ranks end together.
  ///
  /// Errors    those of loading, planning and running; what was written stays. A result that
  ///           cannot be written is no error: the run reports it (FinishedRun::not_written)
  std::optional<FinishedRun> run(const Experiment& experiment, const ResultFolder* results);

 private:
  Partition partition(const Experiment& experiment, const ProblemData& data) const;
  ExecuteOptions execute_options(const Experiment& experiment) const;
  std::shared_ptr<const Checkpoint> start_weights(const Experiment& experiment,
                                                  const std::vector<std::string>& relations) const;
  nlohmann::ordered_json scores(const Experiment& experiment, const ProblemData& data,
                                const ResultFolder& results) const;
  Outcome execute(const PreparedExperiment& prepared, const ExecuteOptions& options,
                  const ResultFolder* results, std::string& log_not_written) const;

  void announce(const PreparedExperiment& prepared);
  std::optional<FinishedRun> run_what_fits(const Experiment& experiment,
                                           const ResultFolder* results);
  FinishedRun simulated(const PreparedExperiment& prepared, const ResultFolder& results);
  FinishedRun modelled(const PreparedExperiment& prepared, const ResultFolder& results);

  Options options_;
  const Job& job_;
  Simulator simulator_;
  DatasetCache datasets_;
  std::set<std::string> announced_;  ///< lines
  /// Nothing was run before: times since the start of the process are meaningful.
  bool first_ = true;
};

}  // namespace orrery
