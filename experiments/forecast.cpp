#include "experiments/forecast.hpp"

#include <fmt/core.h>

#include <cmath>
#include <filesystem>

#include "core/base/units.hpp"
#include "experiments/calibrate/calibrate.hpp"
#include "experiments/cluster_file.hpp"
#include "experiments/results.hpp"
#include "experiments/shipped.hpp"
#include "experiments/table.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

/// The same experiment on a cluster: its devices take as many ranks.
Experiment on_cluster(const Experiment& experiment, const std::string& cluster) {
  Json file = experiment.resolved;
  const bool shared = load_cluster(cluster).devices.front().cores > 0;
  file["cluster"] = {{"file", cluster}, {shared ? "ranks" : "gpus", experiment.ranks()}};
  file["backend"] = "sim";
  file.erase("simulate_on");
  if (file.contains("simulation"))  // the library and the profile are the cluster's own
    for (const char* key : {"library", "profile"}) file["simulation"].erase(key);
  if (cluster == kThisMachine && experiment.backend == "mpi")  // as it ran, and not as it might
    file["simulation"] = {{"library", "mpi"}};
  Experiment there = parse_experiments(file.dump(), cluster, {}).front();
  there.label = experiment.label;
  return there;
}

void measure_this_machine(bool quiet) {
  if (kClusterFiles.look_up(kThisMachine) && kDeviceFiles.look_up(kThisMachine)) return;
  if (!quiet)
    fmt::print(stderr,
               "measuring this machine coarsely for its simulation (a minute, once; `orrery "
               "calibrate` does it well)\n");
  const auto folder = std::filesystem::path(kDeviceFiles.path()).parent_path().string();
  calibrate::write(calibrate::calibrate(calibrate::Effort::quick, calibrate::find_probe(),
                                        [](double, const std::string&) {}),
                   folder);
}

Json simulate_on(const FinishedRun& run, const std::string& cluster, Runner& runner) {
  const std::filesystem::path folder = run.result["out_dir"].get<std::string>();
  const ResultFolder results(folder / ("simulated-on-" + as_file_name(cluster)),
                             Existing::overwrite);
  const auto simulated = runner.run(on_cluster(run.experiment, cluster), &results);
  const Json& result = simulated->result;
  Json told{{"epoch_seconds", result["epoch_seconds"]}, {"limited_by", result["limited_by"]}};
  if (cluster == kThisMachine)
    told["error"] = result["epoch_seconds"].get<double>() / run.measured.epoch_seconds - 1;
  return told;
}

}  // namespace

void forecast(std::vector<FinishedRun>& runs, bool quiet) {
  const Job alone;
  Runner runner({.quiet = true}, alone);
  for (FinishedRun& run : runs) {
    const auto& clusters = run.experiment.simulate_on;
    const std::string& backend = run.experiment.backend;
    const bool measured = backend == "threads" || backend == "mpi";
    if (clusters.empty() || !measured || run.result.contains("out_of_memory")) continue;
    Json told = Json::object();
    try {
      for (const std::string& cluster : clusters) {
        if (cluster == kThisMachine) measure_this_machine(quiet);
        told[cluster] = simulate_on(run, cluster, runner);
      }
    } catch (const NotBuilt& error) {
      told = {{"not_simulated", error.what()}};
    }
    run.result["simulated_on"] = std::move(told);
    write_file(std::filesystem::path(run.result["out_dir"].get<std::string>()) / "result.json",
               run.result.dump(2) + "\n");
  }
}

void print_forecasts(const std::vector<FinishedRun>& runs, std::FILE* to) {
  Table table({"measured here", "epoch", "simulated on", "epoch", "error", "limited there by"});
  bool any = false;
  for (const FinishedRun& run : runs) {
    if (!run.result.contains("simulated_on")) continue;
    const Json& told = run.result["simulated_on"];
    if (told.contains("not_simulated")) {
      fmt::print(to, "\nnot simulated: {}\n", told["not_simulated"].get<std::string>());
      return;
    }
    std::string name = row_name(run).second, measured = human_seconds(run.measured.epoch_seconds);
    for (const auto& [cluster, simulated] : told.items()) {
      const std::string error =
          simulated.contains("error")
              ? fmt::format("{:+.0f} %", 100 * simulated["error"].get<double>())
              : "-";
      table.add({name, measured, cluster, human_seconds(simulated["epoch_seconds"]), error,
                 simulated["limited_by"].is_null()
                     ? "-"
                     : simulated["limited_by"]["sentence"].get<std::string>()});
      name = measured = "";
      any = true;
    }
  }
  if (any)
    fmt::print(to,
               "\nThe same files simulated (the same operations, replayed by SimGrid); error: of "
               "the simulation\nof this machine against what was measured above\n\n{}",
               table.text());
}

}  // namespace orrery
