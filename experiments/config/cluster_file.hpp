// Cluster files: JSON with a template server, turned into the plain data of core/cluster.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/cluster/cluster.hpp"

namespace orrery {

/// Largest number of servers that a file may give.
inline constexpr int kMostServers = 1024;

/// Builds the cluster that a parsed file describes; `servers` replaces the file's number. Nodes are
/// called "s0/gpu3" and, for the network, as in the file. Ranks count server by server, in each in
/// the order of the file's devices. With one server the network is left out.
///
/// Errors    ConfigError with the key's path: unknown keys and names (with the nearest), bad
///           values, duplicates, and the findings of core's validate()
Cluster make_cluster(const nlohmann::ordered_json& file, std::optional<int> servers = {});

/// Reads FILE, or the shipped configs/clusters/NAME.json.
/// Errors    as make_cluster, each naming the file; ConfigError for an unknown name
Cluster load_cluster(const std::string& file_or_name, std::optional<int> servers = {});

/// Names of the shipped clusters, sorted.
std::vector<std::string> shipped_clusters();

}  // namespace orrery
