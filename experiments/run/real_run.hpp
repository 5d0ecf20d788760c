// Real runs of an experiment for orrery validate: ranks over MPI as a separate job, also on servers
// made of network namespaces.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "experiments/config/experiment.hpp"

namespace orrery {

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

/// The measurement of experiments/netcluster on its links; `both`: in both directions at once. Its
/// messages go to links.log in `folder`, which must exist.
///
/// Errors    ConfigError (netcluster without cluster.servers); Error with its exit code and last words
struct NetclusterLinks {
  double bytes_per_second = 0, latency_seconds = 0, both_bytes_per_second = 0;
};
NetclusterLinks measure_netcluster(const Experiment& experiment,
                                   const std::filesystem::path& folder);

/// A cluster file like `machine` (one server, one CPU) but with several servers, each with its
/// share of the cores and of the memory, joined by one switch; a message passes two links. If there
/// are more servers than cores, each has one, which several share. Both directions together are
/// assumed to have at least the rate of one and at most twice that; more is noise.
/// Errors    ConfigError if servers cannot share the cores evenly
nlohmann::ordered_json netcluster_file(nlohmann::ordered_json machine, int servers,
                                       const NetclusterLinks& links);

}  // namespace orrery
