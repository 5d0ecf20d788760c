// Real runs of an experiment for orrery validate: ranks over MPI as a job of their own, also on
// servers made of network namespaces.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "experiments/config/experiment.hpp"

namespace orrery {

/// Starts the experiment's ranks with mpirun, on this machine's cores or (experiment.netcluster) on
/// servers that each have their share of them, and returns the result that they leave in `folder`.
///
/// Errors    ConfigError (netcluster without cluster.servers); NotBuilt (no program with MPI beside
///           this one); Error with the job's exit code and its last words
nlohmann::ordered_json run_over_mpi(const Experiment& experiment,
                                    const std::filesystem::path& folder);

/// What experiments/netcluster measures on its links; `both`: in both directions at once. What it
/// says meanwhile goes to links.log in `folder`, which is there.
///
/// Errors    ConfigError (netcluster without cluster.servers); Error with its exit code and last words
struct NetclusterLinks {
  double bytes_per_second = 0, latency_seconds = 0, both_bytes_per_second = 0;
};
NetclusterLinks measure_netcluster(const Experiment& experiment,
                                   const std::filesystem::path& folder);

/// A cluster file like `machine` (one server, one CPU) but of so many servers, each with its share
/// of the cores and of the memory, joined by one switch; a message passes two links. What both
/// directions pass together is taken for at least the rate of one and at most twice that, beyond
/// which it is noise.
/// Errors    ConfigError where there are fewer cores than servers
nlohmann::ordered_json netcluster_file(nlohmann::ordered_json machine, int servers,
                                       const NetclusterLinks& links);

}  // namespace orrery
