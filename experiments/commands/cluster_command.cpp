#include <fmt/core.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/units.hpp"
#include "core/cluster/routes.hpp"
#include "core/terminal/activity.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/commands/python_script.hpp"
#include "experiments/config/cluster_file.hpp"
#include "experiments/config/profile_file.hpp"
#include "experiments/config/version.hpp"
#include "experiments/results/table.hpp"
#include "experiments/run/interruption.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostColumns = 16;      // for a readable matrix
constexpr std::size_t kMostInMatrices = 256;  // for one in JSON: 65,536 pairs

struct ClusterOptions {
  std::string file, svg;
  int servers = 0;
  bool json = false;
};

std::vector<int> ranks_of_first_server(const Cluster& cluster) {
  std::vector<int> ranks;
  for (int r = 0; r < static_cast<int>(cluster.devices.size()); ++r)
    if (cluster.server_of(r) == cluster.server_of(0)) ranks.push_back(r);
  return ranks;
}

std::vector<int> all_ranks(const Cluster& cluster) {
  std::vector<int> ranks(cluster.devices.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

/// "pcie4-x16, ib-qdr x2": the types of a route's links in order, with counts.
std::string links_of(const Cluster& cluster, const Route& route) {
  std::vector<std::pair<std::string, int>> runs;
  for (const Hop& hop : route.hops) {
    const ClusterLink& link = cluster.links[at(hop.link)];
    const std::string type =
        link.count == 1 ? link.type : fmt::format("{} ({} cables)", link.type, link.count);
    if (!runs.empty() && runs.back().first == type)
      ++runs.back().second;
    else
      runs.emplace_back(type, 1);
  }
  std::string text;
  for (const auto& [type, times] : runs)
    text += (text.empty() ? "" : ", ") + type + (times == 1 ? "" : fmt::format(" x{}", times));
  return text;
}

/// Pairs of devices whose routes have the same types of links.
struct PairClass {
  std::string example;
  bool same_server;
  std::string links;
  double bytes_per_second, latency_seconds;
  int pairs = 0;
};

/// Classes of the pairs with one device in the first server, in order of appearance.
std::vector<PairClass> pair_classes(const Cluster& cluster) {
  const Router router(cluster);
  std::vector<PairClass> classes;
  std::map<std::string, std::size_t> known;
  for (const int rank : ranks_of_first_server(cluster)) {
    const auto routes = router.from(rank);
    for (int other = 0; other < static_cast<int>(routes.size()); ++other) {
      const Route& route = routes[at(other)];
      const bool inside = cluster.server_of(other) == cluster.server_of(rank);
      if (other == rank || (inside && other < rank)) continue;  // each pair once
      const std::string links = links_of(cluster, route);
      const std::string key = fmt::format("{}|{}|{}", inside, links, route.bytes_per_second);
      const auto [at, is_new] = known.try_emplace(key, classes.size());
      if (is_new)
        classes.push_back({cluster.name_of(rank) + " - " + cluster.name_of(other), inside, links,
                           route.bytes_per_second, route.latency_seconds});
      ++classes[at->second].pairs;
    }
  }
  return classes;
}

/// A line for each profile that cannot be loaded, so that a simulation would fail.
std::string missing_profiles(const Cluster& cluster) {
  std::string notes;
  std::set<std::string> seen;
  for (const Device& device : cluster.devices) {
    if (!seen.insert(device.profile).second) continue;
    try {
      load_profile(device.profile);
    } catch (const ConfigError& error) {
      notes += fmt::format("note: nothing can be simulated on {}: {}\n", device.type, error.what());
    }
  }
  return notes;
}

std::string device_table(const Cluster& cluster) {
  std::map<std::string, int> count;
  for (const Device& device : cluster.devices) ++count[device.type];
  Table table({"device type", "devices", "memory", "memory rate", "FP32 peak", "profile"});
  std::set<std::string> told;
  for (const Device& d : cluster.devices)
    if (told.insert(d.type).second)
      table.add({d.type, std::to_string(count[d.type]), human_bytes(d.memory_bytes),
                 human_rate(d.memory_bytes_per_second), human_count(d.flops_per_second) + "FLOP/s",
                 d.profile});
  return table.text(room_on(stdout));
}

/// "full", "shared", or "full, 1.9 GB/s both ways" if directions slow each other down.
std::string duplex_text(const ClusterLink& link) {
  if (link.duplex == Duplex::kShared) return "shared";
  return directions_meet(link)
             ? fmt::format("full, {} both ways", human_rate(both_directions(link)))
             : "full";
}

/// Links of the first server and of the network; links of one kind between the same ends share a
/// row.
std::string link_table(const Cluster& cluster) {
  std::map<std::string, std::size_t> known;
  std::vector<std::pair<std::string, const ClusterLink*>> rows;
  std::vector<int> counts;
  for (const ClusterLink& link : cluster.links) {
    const auto& from = cluster.nodes[at(link.from)];
    const auto& to = cluster.nodes[at(link.to)];
    const std::string ends = to_string(from.kind) + " - " + to_string(to.kind);
    const std::string key =
        fmt::format("{}|{}|{}|{}", link.type, ends, link.bytes_per_second, both_directions(link));
    const auto [at, is_new] = known.try_emplace(key, rows.size());
    if (is_new) {
      rows.emplace_back(ends, &link);
      counts.push_back(0);
    }
    ++counts[at->second];
  }
  Table table({"link type", "links", "between", "cables each", "rate", "duplex", "latency"});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const ClusterLink& link = *rows[i].second;
    table.add({link.type, std::to_string(counts[i]), rows[i].first, std::to_string(link.count),
               human_rate(link.bytes_per_second), duplex_text(link),
               human_seconds(link.latency_seconds)});
  }
  return table.text(room_on(stdout));
}

using Matrix = std::vector<std::vector<double>>;

std::string matrix_text(const Cluster& cluster, const std::string& title, const Matrix& values,
                        const std::vector<int>& ranks, double unit) {
  std::vector<std::string> header{title};
  for (const int r : ranks) header.push_back(std::to_string(r));
  Table table(header);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    std::vector<std::string> row{fmt::format("{} {}", ranks[i], cluster.name_of(ranks[i]))};
    for (std::size_t j = 0; j < ranks.size(); ++j)
      row.push_back(i == j ? "-" : fmt::format("{:.4g}", values[i][j] / unit));
    table.add(row);
  }
  return table.text(room_on(stdout));
}

std::string class_table(const std::vector<PairClass>& classes) {
  Table table({"pairs like", "pairs", "rate", "latency", "servers", "links on the route"});
  for (const PairClass& c : classes)
    table.add({c.example, std::to_string(c.pairs), human_rate(c.bytes_per_second),
               human_seconds(c.latency_seconds), c.same_server ? "same" : "two", c.links});
  return table.text(room_on(stdout));
}

std::string storage_text(const FileStorage& storage) {
  if (!storage.has_rate()) return "";
  std::string text =
      fmt::format("storage: a server reads at {}", human_rate(storage.server_bytes_per_second));
  if (storage.shared_bytes_per_second > 0)
    text +=
        fmt::format(", all servers together at {}", human_rate(storage.shared_bytes_per_second));
  if (storage.latency_seconds > 0)
    text += fmt::format(", each read after {}", human_seconds(storage.latency_seconds));
  return text + "\n\n";
}

/// The description of a server's host.
std::string host_text(const ServerHost& host) {
  std::vector<std::string> parts;
  if (host.cores > 0)
    parts.push_back(fmt::format("{} core{}", host.cores, host.cores == 1 ? "" : "s"));
  if (host.memory_bytes > 0)
    parts.push_back(fmt::format("{} of main memory", human_bytes(host.memory_bytes)));
  if (host.memory_bytes_per_second > 0)
    parts.push_back(fmt::format("which moves {}", human_rate(host.memory_bytes_per_second)));
  if (host.pinned_bytes > 0)
    parts.push_back(fmt::format("{} of it pinned at most", human_bytes(host.pinned_bytes)));
  return parts.empty() ? "" : fmt::format("host of a server: {}\n\n", fmt::join(parts, ", "));
}

void print_cluster(const Cluster& cluster) {
  const bool all = cluster.devices.size() <= kMostColumns;
  const auto ranks = all ? all_ranks(cluster) : ranks_of_first_server(cluster);
  std::optional<Activity> finding;
  finding.emplace("finding the routes between devices");
  const PairMatrices matrices = pair_matrices(cluster, ranks);
  const std::vector<PairClass> classes = pair_classes(cluster);
  finding.reset();
  fmt::print("{}: {} server{}, {} device{}\n{}\n\n", cluster.name, cluster.servers(),
             cluster.servers() == 1 ? "" : "s", cluster.devices.size(),
             cluster.devices.size() == 1 ? "" : "s", cluster.description);
  fmt::print("{}{}\n", device_table(cluster), missing_profiles(cluster));
  fmt::print("{}", host_text(cluster.host));
  fmt::print("{}", storage_text(cluster.storage));
  fmt::print("{}\n", link_table(cluster));
  fmt::print("rate of the route from rank (row) to rank (column){}\n",
             all ? "" : ", in the first server");
  fmt::print("{}\n", matrix_text(cluster, "GB/s", matrices.bytes_per_second, ranks, 1e9));
  fmt::print("its latency\n{}\n",
             matrix_text(cluster, "µs", matrices.latency_seconds, ranks, 1e-6));
  fmt::print("kinds of pairs{}\n{}\n",
             cluster.servers() > 1 ? ", one device of each in the first server" : "",
             class_table(classes));
  fmt::print(
      "1 GB/s is 1e9 bytes per second, in each direction where duplex is full; a route has the "
      "rate of its slowest link.\n");
}

Json matrix_json(const Matrix& values) {
  Json rows = Json::array();
  for (const auto& row : values) {
    Json cells = Json::array();
    for (const double v : row) cells.push_back(std::isinf(v) ? Json(nullptr) : Json(v));
    rows.push_back(std::move(cells));
  }
  return rows;
}

/// Nodes and links, without routes.
Json parts_json(const Cluster& cluster) {
  Json out{{"schema_version", kSchemaVersion},
           {"name", cluster.name},
           {"description", cluster.description},
           {"servers", cluster.servers()},
           {"relay_through_devices", cluster.relay_through_devices},
           {"devices", Json::array()},
           {"nodes", Json::array()},
           {"links", Json::array()}};
  const ServerHost& host = cluster.host;
  if (host.cores > 0) out["host_cores"] = host.cores;
  if (host.memory_bytes > 0) out["host_memory_bytes"] = host.memory_bytes;
  if (host.memory_bytes_per_second > 0)
    out["host_memory_bytes_per_second"] = host.memory_bytes_per_second;
  if (host.pinned_bytes > 0) out["host_pinned_bytes"] = host.pinned_bytes;
  const FileStorage& storage = cluster.storage;
  if (storage.has_rate()) {
    out["storage"] = {{"bytes_per_second", storage.server_bytes_per_second},
                      {"latency_seconds", storage.latency_seconds}};
    if (storage.shared_bytes_per_second > 0)
      out["storage"]["shared_bytes_per_second"] = storage.shared_bytes_per_second;
  }
  const auto name = [&](int n) { return cluster.nodes[at(n)].name; };
  for (const Device& d : cluster.devices)
    out["devices"].push_back({{"rank", out["devices"].size()},
                              {"name", name(d.node)},
                              {"server", cluster.nodes[at(d.node)].server},
                              {"type", d.type},
                              {"profile", d.profile},
                              {"memory_bytes", d.memory_bytes},
                              {"memory_bytes_per_second", d.memory_bytes_per_second},
                              {"flops_per_second", d.flops_per_second}});
  for (const ClusterNode& n : cluster.nodes)
    out["nodes"].push_back({{"name", n.name},
                            {"kind", to_string(n.kind)},
                            {"server", n.server == kNoServer ? Json(nullptr) : Json(n.server)}});
  for (const ClusterLink& link : cluster.links)
    out["links"].push_back({{"type", link.type},
                            {"from", name(link.from)},
                            {"to", name(link.to)},
                            {"count", link.count},
                            {"bytes_per_second", link.bytes_per_second},
                            {"latency_seconds", link.latency_seconds},
                            {"duplex", link.duplex == Duplex::kFull ? "full" : "shared"},
                            {"both_bytes_per_second", both_directions(link)}});
  return out;
}

Json to_json(const Cluster& cluster) {
  Json out = parts_json(cluster);
  out["pairs"] = Json::array();
  for (const PairClass& c : pair_classes(cluster))
    out["pairs"].push_back({{"like", c.example},
                            {"pairs", c.pairs},
                            {"same_server", c.same_server},
                            {"links", c.links},
                            {"bytes_per_second", c.bytes_per_second},
                            {"latency_seconds", c.latency_seconds}});
  const auto ranks = cluster.devices.size() <= kMostInMatrices ? all_ranks(cluster)
                                                               : ranks_of_first_server(cluster);
  const PairMatrices matrices = pair_matrices(cluster, ranks);
  out["matrix_ranks"] = ranks;
  out["bytes_per_second"] = matrix_json(matrices.bytes_per_second);
  out["latency_seconds"] = matrix_json(matrices.latency_seconds);
  return out;
}

void show(const ClusterOptions& options) {
  tell_activities(true);
  end_on_signals();
  std::optional<Activity> reading;
  reading.emplace("reading the cluster " + options.file);
  const auto servers = options.servers == 0 ? std::nullopt : std::optional(options.servers);
  const Cluster cluster = load_cluster(options.file, servers);
  if (!options.svg.empty()) run_python_script("cluster.py", {options.svg}, parts_json(cluster));
  reading.reset();
  if (!options.json) print_cluster(cluster);
  if (!options.svg.empty())
    fmt::print(options.json ? stderr : stdout, "drawing: {}\n",
               std::filesystem::absolute(options.svg).string());
  if (options.json) {
    Json out = to_json(cluster);
    if (!options.svg.empty()) out["svg"] = std::filesystem::absolute(options.svg).string();
    fmt::print("{}\n", out.dump());
  }
}

}  // namespace

void add_cluster_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ClusterOptions>();
  CLI::App* group =
      app.add_subcommand("cluster", "Show described clusters: servers, devices, links");
  group->require_subcommand(1);
  group->footer("Example: orrery cluster show dgx-1");
  CLI::App* command =
      group->add_subcommand("show", "Print and draw a cluster with the routes between devices");
  command
      ->add_option("FILE", options->file,
                   "A cluster file, or the name of one that ships, such as dgx-1")
      ->required();
  command
      ->add_option("--servers", options->servers,
                   "Take another number of servers than the file says")
      ->check(CLI::Range(1, kMostServers));
  command->add_option("--svg", options->svg, "Draw the cluster into this file")->type_name("FILE");
  command->add_flag("--json", options->json,
                    "Print one JSON object as the last line of standard output");
  command->footer("Example: orrery cluster show a6000-4x4-nvlink --svg a6000.svg");
  command->callback([options, &exit_code] {
    show(*options);
    exit_code = 0;
  });
}

}  // namespace orrery
