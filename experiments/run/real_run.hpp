// Real runs of an experiment for orrery validate and orrery advise --measure: ranks as threads of this
// process, or over MPI as a separate job, also on servers made of network namespaces.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "experiments/config/experiment.hpp"
#include "experiments/run/runner.hpp"

namespace orrery {

/// Refuses what does not run for real on this machine. `command` asks: "orrery validate".
///
/// Errors    ConfigError: another backend than threads and mpi, GPUs on a netcluster; NotBuilt (MPI)
void require_real(const Experiment& experiment, const std::string& command);

/// The result of a run by this process, real or simulated, in `folder`.
///
/// Errors    those of Runner::run(); Error: a file cannot be written
nlohmann::ordered_json result_of(Runner& runner, const Experiment& experiment,
                                 const std::filesystem::path& folder);

/// Links between the servers of a netcluster; `both`: in both directions at once. core: for a byte, at each
/// end; 0: not measured, because there is one core.
struct NetclusterLinks {
  double bytes_per_second = 0, latency_seconds = 0, both_bytes_per_second = 0,
         core_seconds_per_byte = 0;
};

/// What a simulation of a real run has where the experiment has nothing.
struct DescribedHere {
  nlohmann::ordered_json cluster;  ///< null: the experiment names a cluster file
  std::string library;             ///< of its collectives
};

/// Runs experiments on this machine one after the other, and describes it for their simulations.
class RealRuns {
 public:
  explicit RealRuns(Runner& runner) : runner_(runner) {}

  /// The machine as orrery calibrate has measured it or, for an experiment with a netcluster,
  /// servers with its links, which are measured (once for each rate and number of servers), and a
  /// profile with what they cost the cores; both are written into `folder`.
  ///
  /// Errors    ConfigError: not calibrated, servers without a netcluster; those of
  ///           measure_netcluster()
  DescribedHere described(const Experiment& experiment, const std::filesystem::path& folder);

  /// The result of a run, whose files are in `folder`/real.
  ///
  /// Errors    those of result_of() and run_over_mpi()
  nlohmann::ordered_json run(const Experiment& experiment, const std::filesystem::path& folder);

 private:
  Runner& runner_;
  std::map<std::string, NetclusterLinks> links_;
};

/// Starts the experiment's ranks with mpirun, on this machine's cores or (experiment.netcluster) on
/// servers with a share of them each, and returns the result that they leave in `folder`.
///
/// Errors    ConfigError (netcluster without cluster.servers); NotBuilt (no program with MPI beside
///           this one); Error with the job's exit code and its last words
nlohmann::ordered_json run_over_mpi(const Experiment& experiment,
                                    const std::filesystem::path& folder);

/// The same for the experiment's inference (orrery infer), with its stages.
///
/// Errors    those of run_over_mpi()
nlohmann::ordered_json infer_over_mpi(const Experiment& experiment,
                                      const std::filesystem::path& folder);

/// The measurement of experiments/netcluster on its links. Its messages go to links.log in `folder`,
/// which must exist.
///
/// Errors    ConfigError (netcluster without cluster.servers); Error with its exit code and last words
NetclusterLinks measure_netcluster(const Experiment& experiment,
                                   const std::filesystem::path& folder);

/// A cluster file like `machine` (one server, one CPU) but with several servers, each with its
/// share of the cores and of the memory, joined by one switch; a message passes two links. If there
/// are more servers than cores, each has one, which several share. Both directions together are
/// assumed to have at least the rate of one and at most twice that; more is noise.
/// Errors    ConfigError if servers cannot share the cores evenly
nlohmann::ordered_json netcluster_file(nlohmann::ordered_json machine, int servers,
                                       const NetclusterLinks& links);

/// The profile of this machine's device with what its cores work for messages over these links: shaping costs
/// them several times what messages inside the machine do.
nlohmann::ordered_json netcluster_profile(nlohmann::ordered_json profile,
                                          const NetclusterLinks& links);

}  // namespace orrery
