#include "experiments/run/real_run.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <vector>

#include "core/base/child_process.hpp"
#include "core/base/error.hpp"
#include "core/base/json_reader.hpp"
#include "core/base/parallel.hpp"
#include "core/terminal/activity.hpp"
#include "experiments/config/installed.hpp"
#include "experiments/config/shipped.hpp"
#include "experiments/config/this_machine.hpp"
#include "experiments/config/validate_json.hpp"
#include "experiments/results/results.hpp"
#include "experiments/results/run_report.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

using Words = std::vector<std::string>;

void append(Words& words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
}

/// The program with MPI, which is built beside this one.
std::string mpi_program() {
  if (const auto program = program_beside("experiments/orrery-mpi")) return program->string();
  throw NotBuilt(
      "this build has no MPI: install it (apt-get install libopenmpi-dev openmpi-bin), remove the "
      "build folder and start ./orrery again");
}

std::string last_line(const fs::path& file) {
  std::ifstream in(file);
  std::string last;
  for (std::string line; std::getline(in, line);)
    if (!line.empty()) last = line;
  return last;
}

/// Standard output of a program; its standard error goes to `errors`.
std::string output_of(const Words& words, const fs::path& errors) {
  const auto run = run_program(words, errors);
  if (!run) throw Error("no process can be started");
  if (!run->succeeded())
    throw Error(fmt::format("the job failed with {}: {}", run->ending(), last_line(errors)));
  return run->output;
}

Words netcluster(const Experiment& experiment) {
  const Json& cluster = experiment.resolved["cluster"];
  if (!cluster.contains("servers"))
    throw ConfigError("validate.netcluster", "needs cluster.servers and ranks_per_server");
  const int servers = cluster["servers"];
  return {(shipped_root() / "experiments/netcluster").string(),
          "--servers",
          std::to_string(servers),
          "--ranks-per-server",
          std::to_string(experiment.ranks() / servers),
          "--rate",
          experiment.netcluster};
}

/// Keeps each server on its share of the cores; ranks count server by server. Only the shell of a
/// rank knows its number.
Words on_own_cores(const Experiment& experiment) {
  const int servers = experiment.resolved["cluster"]["servers"];
  const int cores = std::max(1, available_cores() / servers);
  return {"sh", "-c",
          fmt::format("first=$((OMPI_COMM_WORLD_RANK / {} * {} % {})); exec taskset -c "
                      "$first-$((first + {} - 1)) \"$0\" \"$@\"",
                      experiment.ranks() / servers, cores, available_cores(), cores)};
}

Words mpirun(const Experiment& experiment) {
  return mpirun_words(experiment.ranks(), experiment.ranks() > available_cores());
}

/// What starts the experiment's ranks; the program and its arguments follow.
Words launcher(const Experiment& experiment) {
  if (experiment.netcluster.empty()) return mpirun(experiment);
  Words words = netcluster(experiment);
  words.emplace_back("--");
  append(words, on_own_cores(experiment));
  return words;
}

/// The result.json that a command leaves in `folder`/real.
JsonReader started_over_mpi(const Experiment& experiment, const std::string& command,
                            const fs::path& folder) {
  fs::create_directories(folder);
  const fs::path file = folder / "experiment.json", out = folder / "real";
  write_file(file, experiment.resolved.dump(2) + "\n");
  Words words = launcher(experiment);
  append(words, {mpi_program(), command, file.string(), "--backend", "mpi", "--force", "--quiet",
                 "--json", "--out", out.string()});
  output_of(words, folder / "real.log");
  const fs::path result = out / "result.json";
  std::ifstream in(result, std::ios::binary);
  return JsonReader(std::string(std::istreambuf_iterator<char>(in), {}), result.string());
}

Json calibrated_cluster() {
  const std::string path = kClusterFiles.find(kThisMachine);
  return parse_json(read_settings(path, "a cluster file"), path);
}

}  // namespace

void require_real(const Experiment& experiment, const std::string& command) {
  if (experiment.backend != "threads" && experiment.backend != "mpi")
    throw ConfigError(
        "backend", fmt::format("found \"{}\", but {} needs a backend that runs for real: threads "
                               "or mpi",
                               experiment.backend, command));
  if (experiment.kernels == "cuda" && !experiment.netcluster.empty())
    throw ConfigError("validate.netcluster",
                      "its servers share the cores of this machine, and kernels cuda run on a GPU");
  if (experiment.backend == "mpi") mpi_program();
}

Json result_of(Runner& runner, const Experiment& experiment, const fs::path& folder) {
  const ResultFolder results(folder, Existing::overwrite);
  const FinishedRun done = *runner.run(experiment, &results);
  if (!done.not_written.empty()) throw Error(done.not_written);
  return done.result;
}

DescribedHere RealRuns::described(const Experiment& experiment, const fs::path& folder) {
  const Json& asked = experiment.resolved["cluster"];
  DescribedHere here{nullptr, experiment.resolved["simulation"]["library"]};
  if (here.library == "auto") here.library = experiment.backend == "mpi" ? "mpi" : "threads";
  if (asked.contains("file")) return here;
  if (experiment.netcluster.empty()) {
    if (experiment.placement().servers() > 1)
      throw ConfigError("cluster.servers",
                        "ranks are grouped into servers that share this machine, and its "
                        "simulation has one server: set validate.netcluster (servers with links "
                        "of their own), or cluster.ranks");
    here.cluster = {{"file", calibrated_machine(experiment.kernels, experiment.ranks())},
                    {"ranks", experiment.ranks()}};
    return here;
  }
  Json machine = calibrated_cluster();
  fs::create_directories(folder);
  const std::string key = fmt::format("{} {}", experiment.netcluster, asked.value("servers", 0));
  if (!links_.contains(key)) {
    const Activity measuring("measuring the links of the netcluster");
    links_[key] = measure_netcluster(experiment, folder);
  }
  const NetclusterLinks& links = links_.at(key);
  const fs::path file = folder / "netcluster.json",
                 profile = fs::absolute(folder / "netcluster-profile.json");
  if (links.core_seconds_per_byte > 0)
    for (auto& [name, type] : machine["device_types"].items()) {
      const std::string of_machine = kDeviceFiles.find(type["profile"]);
      const Json read = parse_json(read_settings(of_machine, "a device profile"), of_machine);
      write_file(profile, netcluster_profile(read, links).dump(1));
      type["profile"] = profile.string();
    }
  write_file(file, netcluster_file(std::move(machine), asked["servers"], links).dump(2));
  here.cluster = {{"file", file.string()},
                  {"servers", asked["servers"]},
                  {"ranks_per_server", asked["ranks_per_server"]}};
  return here;
}

Json RealRuns::run(const Experiment& experiment, const fs::path& folder) {
  return experiment.backend == "mpi" ? run_over_mpi(experiment, folder)
                                     : result_of(runner_, experiment, folder / "real");
}

Json run_over_mpi(const Experiment& experiment, const fs::path& folder) {
  const JsonReader read = started_over_mpi(experiment, "run", folder);
  require_result(read, "");
  return read.json();
}

Json infer_over_mpi(const Experiment& experiment, const fs::path& folder) {
  return started_over_mpi(experiment, "infer", folder).json();
}

NetclusterLinks measure_netcluster(const Experiment& experiment, const fs::path& folder) {
  Words words = netcluster(experiment);
  words.emplace_back("--json");
  const JsonReader measured(output_of(words, folder / "links.log"), words.front(), "its output");
  return {measured.get<double>("external/bytes_per_second"),
          measured.get<double>("external/latency_seconds"),
          measured.get<double>("external/both_bytes_per_second"),
          measured.get("external/core_seconds_per_byte", 0.0)};
}

Json netcluster_profile(Json profile, const NetclusterLinks& links) {
  profile["libraries"]["mpi"]["core_seconds_per_byte"] = {
      {"value", links.core_seconds_per_byte},
      {"source",
       "measured: what a core has left beside messages in both directions, by "
       "experiments/netcluster"}};
  return profile;
}

Json netcluster_file(Json machine, int servers, const NetclusterLinks& links) {
  const auto number = [](const auto& value, const char* source) {
    return Json{{"value", value}, {"source", source}};
  };
  std::string device;
  for (auto& [name, type] : machine["device_types"].items()) {
    const int cores = type["cores"]["value"];
    if (cores < servers && servers % cores != 0)
      throw ConfigError("cluster.servers",
                        fmt::format("{} servers cannot share {} cores evenly: choose a multiple",
                                    servers, cores));
    type["cores"] =
        number(std::max(1, cores / servers), "derived: this server's share of the cores");
    if (cores < servers)
      machine["servers_per_machine"] =
          number(servers / cores, "derived: servers on each core, as orrery validate places them");
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
