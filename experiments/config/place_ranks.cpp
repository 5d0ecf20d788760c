#include "experiments/config/place_ranks.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <string>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "experiments/config/cluster_file.hpp"
#include "experiments/config/shipped.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

void require_one_way_to_count(const Json& keys) {
  const char* found = nullptr;
  for (const char* key : {"gpus", "gpus_per_server", "ranks", "ranks_per_server"}) {
    if (!keys.contains(key)) continue;
    if (found != nullptr)
      throw ConfigError("cluster", fmt::format("\"{}\" and \"{}\" exclude each other", found, key));
    found = key;
  }
}

void require_cpus(const Cluster& cluster, const char* key, const char* instead, int number) {
  if (!has_only_cpus(cluster))
    throw ConfigError(std::string("cluster.") + key,
                      fmt::format("the devices of {} have one rank each; write \"{}\": {} instead",
                                  cluster.name, instead, number));
}

/// `ranks` in `places` places: blocks of consecutive ranks, of equal size but for one.
std::vector<int> spread(int ranks, int places) {
  std::vector<int> place(static_cast<std::size_t>(ranks));
  for (int r = 0; r < ranks; ++r)
    place[at(r)] = ranks < places ? r : static_cast<int>(std::int64_t{r} * places / ranks);
  return place;
}

/// The same places in every server.
std::vector<int> in_each_server(const Cluster& cluster, const std::vector<int>& places) {
  const int per_server = static_cast<int>(cluster.devices.size()) / cluster.servers();
  std::vector<int> devices;
  for (int s = 0; s < cluster.servers(); ++s)
    for (const int place : places) devices.push_back(s * per_server + place);
  return devices;
}

std::vector<int> first(int number) {
  std::vector<int> list(static_cast<std::size_t>(number));
  std::iota(list.begin(), list.end(), 0);
  return list;
}

}  // namespace

const Cluster& cluster_of(Json& keys, const fs::path& folder, ClusterCache& cache) {
  std::string file = keys["file"];
  if (!kClusterFiles.look_up(file) && fs::path(file).is_relative() &&
      fs::is_regular_file(folder / file)) {
    file = fs::absolute(folder / file).lexically_normal().string();
    keys["file"] = file;
  }
  std::optional<int> servers;
  if (keys.contains("servers")) servers = keys["servers"].get<int>();
  const std::string key = fmt::format("{}\n{}", file, servers.value_or(0));
  const auto found = cache.find(key);
  if (found != cache.end()) return found->second;
  try {
    return cache.emplace(key, load_cluster(file, servers)).first->second;
  } catch (const ConfigError& error) {
    throw ConfigError("cluster.file", error.what());
  }
}

void scale_links(Cluster& cluster, const Json& factors) {
  for (const auto& [type, factor] : factors.items()) {
    bool found = false;
    std::set<std::string> types;
    for (ClusterLink& link : cluster.links) {
      types.insert(link.type);
      if (link.type != type) continue;
      link.bytes_per_second *= factor.get<double>();
      link.both_bytes_per_second *= factor.get<double>();
      found = true;
    }
    if (!found)
      throw ConfigError("cluster.link_factors",
                        fmt::format("found {}, but {} has links of {}", type, cluster.name,
                                    fmt::join(types, ", ")));
  }
}

std::vector<int> deal_ranks(const Cluster& cluster, Json& keys) {
  require_one_way_to_count(keys);
  const int all = static_cast<int>(cluster.devices.size()), servers = cluster.servers(),
            per_server = all / servers;
  if (keys.contains("gpus")) {
    const int gpus = keys["gpus"];
    if (gpus > all)
      throw ConfigError(
          "cluster.gpus",
          fmt::format("found {}, but {} has {} devices ({} server{} of {}); "
                      "cluster.servers gives it more servers",
                      gpus, cluster.name, all, servers, servers == 1 ? "" : "s", per_server));
    return first(gpus);
  }
  if (keys.contains("gpus_per_server")) {
    const int gpus = keys["gpus_per_server"];
    if (gpus > per_server)
      throw ConfigError("cluster.gpus_per_server",
                        fmt::format("found {}, but a server of {} has {} devices", gpus,
                                    cluster.name, per_server));
    return in_each_server(cluster, first(gpus));
  }
  if (keys.contains("ranks")) {
    const int ranks = keys["ranks"];
    require_cpus(cluster, "ranks", "gpus", ranks);
    return spread(ranks, all);
  }
  if (keys.contains("ranks_per_server")) {
    const int ranks = keys["ranks_per_server"];
    require_cpus(cluster, "ranks_per_server", "gpus_per_server", ranks);
    return in_each_server(cluster, spread(ranks, per_server));
  }
  if (keys.contains("servers"))
    keys["gpus_per_server"] = per_server;
  else
    keys["gpus"] = all;
  return first(all);
}

std::int64_t memory_of_a_rank(const Cluster& cluster, const std::vector<int>& devices) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const int device : devices) {
    const auto sharing = std::count(devices.begin(), devices.end(), device);
    least = std::min(least, cluster.devices[at(device)].memory_bytes / sharing);
  }
  return least;
}

bool has_only_cpus(const Cluster& cluster) {
  return std::all_of(cluster.devices.begin(), cluster.devices.end(),
                     [](const Device& device) { return device.cores > 0; });
}

}  // namespace orrery
