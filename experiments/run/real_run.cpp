#include "experiments/run/real_run.hpp"

#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "core/base/error.hpp"
#include "core/base/parallel.hpp"
#include "experiments/config/version.hpp"
#include "experiments/results/results.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

/// The program with MPI, which is built beside this one.
fs::path mpi_program() {
  const fs::path program = fs::read_symlink("/proc/self/exe").parent_path() / "orrery-mpi";
  for (const fs::path& at :
       {program, program.parent_path() / ".." / ".." / "experiments" / "orrery-mpi"})
    if (fs::exists(at)) return at;
  throw NotBuilt(
      "this build has no MPI: install it (apt-get install libopenmpi-dev openmpi-bin), remove the "
      "build folder and start ./orrery again");
}

/// Standard output of a shell command; its standard error goes to `errors`.
std::string output_of(const std::string& command, const fs::path& errors) {
  std::FILE* pipe = ::popen((command + " 2>" + quoted(errors.string())).c_str(), "r");
  if (pipe == nullptr) throw Error("no process can be started");
  std::string text;
  char part[4096];
  for (std::size_t n; (n = std::fread(part, 1, sizeof part, pipe)) > 0;) text.append(part, n);
  const int status = ::pclose(pipe);
  if (status == 0) return text;
  std::ifstream in(errors);
  std::string last;
  for (std::string line; std::getline(in, line);)
    if (!line.empty()) last = line;
  throw Error(fmt::format("the job failed with status {}: {}",
                          WIFEXITED(status) ? WEXITSTATUS(status) : status, last));
}

std::string netcluster(const Experiment& experiment) {
  const Json& cluster = experiment.resolved["cluster"];
  if (!cluster.contains("servers"))
    throw ConfigError("validate.netcluster", "needs cluster.servers and ranks_per_server");
  const int servers = cluster["servers"];
  return fmt::format("{} --servers {} --ranks-per-server {} --rate {}",
                     quoted(std::string(kSourceRoot) + "/experiments/netcluster"), servers,
                     experiment.ranks() / servers, quoted(experiment.netcluster));
}

/// Keeps each server on its share of the cores; ranks count server by server.
std::string on_own_cores(const Experiment& experiment) {
  const int servers = experiment.resolved["cluster"]["servers"];
  const int cores = std::max(1, available_cores() / servers);
  return fmt::format(
      "sh -c 'first=$((OMPI_COMM_WORLD_RANK / {} * {} % {})); exec taskset -c "
      "$first-$((first + {} - 1)) \"$0\" \"$@\"' ",
      experiment.ranks() / servers, cores, available_cores(), cores);
}

std::string mpirun(const Experiment& experiment) {
  const bool crowded = experiment.ranks() > available_cores();
  return fmt::format("mpirun -q {}--bind-to none {}-n {}",
                     ::geteuid() == 0 ? "--allow-run-as-root " : "",
                     crowded ? "--oversubscribe --mca mpi_yield_when_idle 1 " : "--oversubscribe ",
                     experiment.ranks());
}

}  // namespace

Json run_over_mpi(const Experiment& experiment, const fs::path& folder) {
  fs::create_directories(folder);
  const fs::path file = folder / "experiment.json", out = folder / "real";
  write_file(file, experiment.resolved.dump(2) + "\n");
  const std::string run =
      fmt::format("{} run {} --backend mpi --force --quiet --json --out {}",
                  quoted(mpi_program().string()), quoted(file.string()), quoted(out.string()));
  const std::string command =
      experiment.netcluster.empty()
          ? mpirun(experiment) + " " + run + " </dev/null"
          : netcluster(experiment) + " -- " + on_own_cores(experiment) + run;
  output_of(command, folder / "real.log");
  std::ifstream in(out / "result.json");
  return Json::parse(in);
}

NetclusterLinks measure_netcluster(const Experiment& experiment) {
  const fs::path log = fs::temp_directory_path() / fmt::format("orrery-links-{}.log", ::getpid());
  const Json measured = Json::parse(output_of(netcluster(experiment) + " --json </dev/null", log));
  fs::remove(log);
  const Json& external = measured["external"];
  return {external["bytes_per_second"], external["latency_seconds"],
          external.at("both_bytes_per_second")};
}

Json netcluster_file(Json machine, int servers, const NetclusterLinks& links) {
  const auto number = [](const auto& value, const char* source) {
    return Json{{"value", value}, {"source", source}};
  };
  std::string device;
  for (auto& [name, type] : machine["device_types"].items()) {
    const int cores = type["cores"]["value"];
    if (cores < servers)
      throw ConfigError("cluster.servers",
                        fmt::format("{} servers cannot share {} cores", servers, cores));
    type["cores"] = number(cores / servers, "derived: this server's share of the cores");
    type["memory_bytes"] = number(type["memory_bytes"]["value"].get<std::int64_t>() / servers,
                                  "derived: this server's share of the memory");
  }
  for (const auto& [name, what] : machine["server"]["nodes"].items())
    if (machine["device_types"].contains(what.get<std::string>())) device = name;
  machine["name"] = "netcluster";
  machine["servers"] = number(servers, "experiments/netcluster");
  machine["link_types"]["shaped"] = {
      {"bytes_per_second",
       number(links.bytes_per_second, "measured: ping-pong by experiments/netcluster")},
      {"latency_seconds",
       number(links.latency_seconds / 2, "measured: half of a message's, which passes two links")},
      {"both_bytes_per_second",
       number(std::clamp(links.both_bytes_per_second, links.bytes_per_second,
                         2 * links.bytes_per_second),
              "measured: messages in both directions at once, by experiments/netcluster")}};
  machine["network"] = {
      {"source", "experiments/netcluster: a bridge that joins the servers' shaped links"},
      {"switches", "bridge"},
      {"links", {{{"type", "shaped"}, {"from", "s*/" + device}, {"to", "bridge"}}}}};
  return machine;
}

}  // namespace orrery
