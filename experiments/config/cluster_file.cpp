#include "experiments/config/cluster_file.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <regex>
#include <set>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/terminal/words.hpp"
#include "experiments/config/schema.hpp"
#include "experiments/config/shipped.hpp"
#include "experiments/config/validate_json.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMostNodesOfARange = 4096;
constexpr std::size_t kLongestName = 256;  // std::regex recurses for every letter

std::vector<std::string> keys_of(const Json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, unused] : object.items()) keys.push_back(key);
  return keys;
}

[[noreturn]] void fail_unknown(const std::string& path, const std::string& what,
                               const std::string& word, const std::vector<std::string>& known) {
  const std::string close = nearest(word, known);
  throw ConfigError(path, fmt::format("unknown {} \"{}\".{} Known: {}", what, word,
                                      close.empty() ? "" : " Did you mean \"" + close + "\"?",
                                      fmt::join(known, ", ")));
}

void require_short(const std::string& name, const std::string& path) {
  if (name.size() > kLongestName)
    throw ConfigError(path, fmt::format("found \"{}...\", expected a name of at most {} letters",
                                        name.substr(0, 40), kLongestName));
}

/// "gpu0..gpu3" to its four names, "cpu0" to itself.
std::vector<std::string> names_in_range(const std::string& text, const std::string& path) {
  require_short(text, path.substr(0, 60));
  static const std::regex form(
      R"(([A-Za-z][A-Za-z0-9_]*?)(\d*)(?:\.\.([A-Za-z][A-Za-z0-9_]*?)(\d+))?)");
  std::smatch part;
  if (!std::regex_match(text, part, form))
    throw ConfigError(path,
                      fmt::format("found \"{}\", expected a name of letters, digits and _, or "
                                  "a range like gpu0..gpu3",
                                  text));
  if (!part[3].matched) return {text};
  const bool numbers = part[2].length() > 0 && part[2].length() < 8 && part[4].length() < 8;
  const int first = numbers ? std::stoi(part[2]) : 0, last = numbers ? std::stoi(part[4]) : -1;
  if (part[1] != part[3] || last < first || last - first >= kMostNodesOfARange)
    throw ConfigError(path, fmt::format("found \"{}\", expected a range like gpu0..gpu3 of at most "
                                        "{} names",
                                        text, kMostNodesOfARange));
  std::vector<std::string> names;
  for (int i = first; i <= last; ++i) names.push_back(part[1].str() + std::to_string(i));
  return names;
}

/// Whether `name` matches a pattern in which * represents any letters. After a mismatch only the
/// last star takes more letters: those of earlier stars need no second try.
bool matches(const std::string& pattern, const std::string& name) {
  constexpr std::size_t kNone = std::string::npos;
  std::size_t p = 0, n = 0, star = kNone, after_star = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      after_star = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (star != kNone) {
      p = star + 1;
      n = ++after_star;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == kNone;
}

/// The nodes that a link may name, in order.
using Scope = std::vector<std::pair<std::string, int>>;

std::vector<int> select(const Scope& scope, const std::string& pattern, const std::string& path) {
  require_short(pattern, path);
  std::vector<std::string> known;
  for (const auto& [name, node] : scope) known.push_back(name);
  std::vector<int> found;
  const bool literal = pattern.find_first_of("*/") != std::string::npos;
  for (const std::string& wanted : literal ? std::vector{pattern} : names_in_range(pattern, path)) {
    const std::size_t before = found.size();
    for (const auto& [name, node] : scope)
      if (matches(wanted, name)) found.push_back(node);
    if (found.size() > before) continue;
    if (known.size() > 40) known.resize(40);  // enough to show the form of names
    fail_unknown(path, "node", wanted, known);
  }
  return found;
}

/// Builds a cluster from a file that its schema allows.
class Builder {
 public:
  Builder(const Json& file, std::optional<int> servers)
      : file_(file), servers_(servers.value_or(file["servers"]["value"].get<int>())) {}

  Cluster build() {
    cluster_.name = file_["name"];
    cluster_.description = file_["description"];
    cluster_.relay_through_devices = file_.value("relay_through_devices", false);
    read_sourced(file_, "servers_per_machine", cluster_.servers_per_machine);
    const Json& server = file_["server"];
    cluster_.host = host_of(server);
    if (file_.contains("storage")) cluster_.storage = storage_of(file_["storage"]);
    const auto names = expanded_nodes(server["nodes"]);
    for (int s = 0; s < servers_; ++s) add_server(s, names);
    if (servers_ > 1) add_network();
    return std::move(cluster_);
  }

 private:
  using Names = std::vector<std::pair<std::string, std::string>>;  // name, kind

  Names expanded_nodes(const Json& nodes) const {
    Names list;
    std::set<std::string> seen;
    std::vector<std::string> known{"host", "nic", "switch"};
    for (const std::string& type : keys_of(file_["device_types"])) known.push_back(type);
    for (const auto& [key, what] : nodes.items()) {
      const std::string path = "server.nodes." + key;
      if (std::find(known.begin(), known.end(), what.get<std::string>()) == known.end())
        fail_unknown(path, "kind of node", what, known);
      for (const std::string& name : names_in_range(key, path)) {
        if (!seen.insert(name).second) throw ConfigError(path, "duplicate name: " + name);
        list.emplace_back(name, what);
      }
    }
    return list;
  }

  /// Reads the value of a key that has its source beside it; without the key, `value` stays.
  template <class Number>
  static void read_sourced(const Json& object, const char* key, Number& value) {
    if (object.contains(key)) object[key]["value"].get_to(value);
  }

  static FileStorage storage_of(const Json& said) {
    FileStorage storage;
    read_sourced(said, "bytes_per_second", storage.server_bytes_per_second);
    read_sourced(said, "shared_bytes_per_second", storage.shared_bytes_per_second);
    read_sourced(said, "latency_seconds", storage.latency_seconds);
    return storage;
  }

  static ServerHost host_of(const Json& server) {
    ServerHost host;
    read_sourced(server, "host_cores", host.cores);
    read_sourced(server, "host_memory_bytes", host.memory_bytes);
    read_sourced(server, "host_memory_bytes_per_second", host.memory_bytes_per_second);
    read_sourced(server, "host_pinned_bytes", host.pinned_bytes);
    host.profile = server.value("host_profile", "");
    return host;
  }

  int add_node(const std::string& name, NodeKind kind, int server) {
    cluster_.nodes.push_back({name, kind, server});
    return static_cast<int>(cluster_.nodes.size()) - 1;
  }

  void add_server(int server, const Names& names) {
    static const std::map<std::string, NodeKind> kinds{
        {"host", NodeKind::kHost}, {"nic", NodeKind::kNic}, {"switch", NodeKind::kLocalSwitch}};
    Scope scope;
    for (const auto& [name, what] : names) {
      const auto kind = kinds.find(what);
      const int node = add_node(fmt::format("s{}/{}", server, name),
                                kind == kinds.end() ? NodeKind::kDevice : kind->second, server);
      if (kind == kinds.end()) add_device(node, what);
      scope.emplace_back(name, node);
      everywhere_.emplace_back(cluster_.nodes.back().name, node);
    }
    add_links(file_["server"]["links"], scope, "server.links");
  }

  void add_device(int node, const std::string& type) {
    const Json& numbers = file_["device_types"][type];
    cluster_.devices.push_back(
        {node, type, numbers.value("profile", type),
         numbers["memory_bytes"]["value"].get<std::int64_t>(),
         numbers["memory_bytes_per_second"]["value"].get<double>(),
         numbers["flops_per_second"]["value"].get<double>(),
         numbers.contains("cores") ? numbers["cores"]["value"].get<int>() : 0});
  }

  const Json& link_type(const std::string& type, const std::string& path) const {
    if (!file_["link_types"].contains(type))
      fail_unknown(path, "type of link", type, keys_of(file_["link_types"]));
    return file_["link_types"][type];
  }

  /// A link `wide` times as wide as one cable of this type.
  static ClusterLink link_between(int from, int to, const Json& numbers, const std::string& type,
                                  double wide) {
    const auto value = [&](const char* key) {
      return numbers.contains(key) ? numbers[key]["value"].get<double>() : 0.0;
    };
    const bool full = numbers.value("duplex", "full") == "full";
    return {from,
            to,
            value("bytes_per_second") * wide,
            value("latency_seconds"),
            full ? Duplex::kFull : Duplex::kShared,
            type,
            1,
            value("both_bytes_per_second") * wide};
  }

  void add_link(int from, int to, const std::string& type, int count, const std::string& path) {
    const Json& numbers = link_type(type, path + ".type");
    if (!linked_.insert({std::min(from, to), std::max(from, to), type}).second)
      throw ConfigError(
          path, fmt::format("{} and {} are linked twice by {}; parallel cables are a "
                            "\"count\"",
                            cluster_.nodes[at(from)].name, cluster_.nodes[at(to)].name, type));
    cluster_.links.push_back(link_between(from, to, numbers, type, count));
    cluster_.links.back().count = count;
  }

  void add_links(const Json& links, const Scope& scope, const std::string& path) {
    for (std::size_t i = 0; i < links.size(); ++i) {
      const Json& link = links[i];
      const std::string here = fmt::format("{}[{}]", path, i), type = link["type"];
      const int count = link.value("count", 1);
      if (link.contains("pairs"))
        add_pairs(link["pairs"], scope, type, count, here);
      else if (link.contains("from"))
        add_fan(link, scope, type, count, here);
      else
        throw ConfigError(here, "needs \"from\" and \"to\", or \"pairs\"");
    }
  }

  void add_pairs(const Json& pairs, const Scope& scope, const std::string& type, int count,
                 const std::string& path) {
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const std::string pair = pairs[i], here = fmt::format("{}.pairs[{}]", path, i);
      const auto dash = pair.find('-');
      if (dash == std::string::npos)
        throw ConfigError(here,
                          fmt::format("found \"{}\", expected two names like gpu0-gpu1", pair));
      const auto from = select(scope, pair.substr(0, dash), here),
                 to = select(scope, pair.substr(dash + 1), here);
      if (from.size() != 1 || to.size() != 1)
        throw ConfigError(here, "a pair has one name on each side");
      add_link(from[0], to[0], type, count, path);
    }
  }

  /// Equal runs of `from` share one of `to`.
  void add_fan(const Json& link, const Scope& scope, const std::string& type, int count,
               const std::string& path) {
    const auto from = select(scope, link["from"], path + ".from"),
               to = select(scope, link["to"], path + ".to");
    if (from.size() % to.size() != 0)
      throw ConfigError(path,
                        fmt::format("{} nodes of \"from\" cannot be shared out evenly among {} "
                                    "of \"to\"",
                                    from.size(), to.size()));
    for (std::size_t i = 0; i < from.size(); ++i)
      add_link(from[i], to[i / (from.size() / to.size())], type, count, path);
  }

  void add_network() {
    if (!file_.contains("network"))
      throw ConfigError("network", fmt::format("is required with {} servers", servers_));
    const Json& network = file_["network"];
    if (network.contains("fat_tree")) return add_fat_tree(network["fat_tree"]);
    if (!network.contains("switches"))
      throw ConfigError("network", "needs \"switches\" and \"links\", or a \"fat_tree\"");
    if (!network.contains("links")) throw ConfigError("network.links", "is required");
    for (const std::string& name : names_in_range(network["switches"], "network.switches"))
      everywhere_.emplace_back(name, add_node(name, NodeKind::kNetworkSwitch, kNoServer));
    add_links(network["links"], everywhere_, "network.links");
  }

  void add_fat_tree(const Json& tree) {
    const std::string path = "network.fat_tree", type = tree["link"], pattern = tree["nics"];
    const int pods = tree["pods"];
    if (servers_ % pods != 0)
      throw ConfigError(
          path + ".pods",
          fmt::format("found {}, expected a divisor of the {} servers", pods, servers_));
    const Json& numbers = link_type(type, path + ".link");
    const int core = pods > 1 ? add_node("core", NodeKind::kNetworkSwitch, kNoServer) : -1;
    for (int pod = 0; pod < pods; ++pod) {
      const int leaf = add_node(fmt::format("leaf{}", pod), NodeKind::kNetworkSwitch, kNoServer);
      int nics = 0;
      for (int s = pod * (servers_ / pods); s < (pod + 1) * (servers_ / pods); ++s)
        for (const int nic : select(server_scope(s), pattern, path + ".nics")) {
          add_link(nic, leaf, type, 1, path);
          ++nics;
        }
      if (core < 0) continue;
      const double wide = nics / tree.value("oversubscription", 1.0);
      cluster_.links.push_back(link_between(leaf, core, numbers, type + " uplink", wide));
    }
  }

  /// A server's nodes by their short names.
  Scope server_scope(int server) const {
    Scope scope;
    const std::string prefix = fmt::format("s{}/", server);
    for (const auto& [name, node] : everywhere_)
      if (cluster_.nodes[at(node)].server == server)
        scope.emplace_back(name.substr(prefix.size()), node);
    return scope;
  }

  const Json& file_;
  int servers_;
  Cluster cluster_;
  Scope everywhere_;                                    // all nodes by their full names
  std::set<std::tuple<int, int, std::string>> linked_;  // ends and type
};

}  // namespace

Cluster make_cluster(const Json& file, std::optional<int> servers) {
  validate_against(kClusterSchema, file);
  if (servers && (*servers < 1 || *servers > kMostServers))
    throw ConfigError("--servers",
                      fmt::format("found {}, expected 1 to {}", *servers, kMostServers));
  Cluster cluster = Builder(file, servers).build();
  validate(cluster);
  return cluster;
}

Cluster load_cluster(const std::string& file_or_name, std::optional<int> servers) {
  const std::string path = kClusterFiles.find(file_or_name);
  const Json file = parse_json(read_settings(path, "a cluster file"), path);
  try {
    return make_cluster(file, servers);
  } catch (ConfigError& error) {
    error.add_context(path);
    throw;
  }
}

std::vector<std::string> shipped_clusters() { return kClusterFiles.names(); }

}  // namespace orrery
