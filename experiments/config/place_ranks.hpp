// Which device of a cluster file each rank of an experiment runs on.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/cluster/cluster.hpp"

namespace orrery {

/// Multiplies the rates of links by type, {"ib-qdr": 0.5}.
///
/// Errors    ConfigError if the cluster has no link of a type
void scale_links(Cluster& cluster, const nlohmann::ordered_json& factors);

/// Clusters by their settings: the combinations of a sweep mostly share them.
using ClusterCache = std::map<std::string, Cluster>;

/// The cluster that cluster.file and cluster.servers name. A file in `folder` that is not found
/// otherwise is taken from there; `keys` then hold its whole path.
/// Errors    as load_cluster
const Cluster& cluster_of(nlohmann::ordered_json& keys, const std::filesystem::path& folder,
                          ClusterCache& cache);

/// The device of each rank. `keys` is the file's "cluster". gpus: this many devices, one server
/// filled before the next. gpus_per_server: this many of each server. ranks or ranks_per_server:
/// this many ranks on CPUs, spread evenly in blocks of consecutive ranks. Otherwise a rank for
/// every device, which is then written into `keys`.
///
/// Errors    ConfigError: more than the cluster has (both numbers), keys that exclude each other,
///           several ranks for an accelerator
std::vector<int> deal_ranks(const Cluster& cluster, nlohmann::ordered_json& keys);

/// Memory of each rank: that of its device, shared evenly by the ranks on it; the minimum over all
/// ranks.
std::int64_t memory_of_a_rank(const Cluster& cluster, const std::vector<int>& devices);

/// Whether every device is a CPU, on which ranks share cores.
bool has_only_cpus(const Cluster& cluster);

}  // namespace orrery
