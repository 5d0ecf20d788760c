#include "experiments/run/forecast.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "core/base/units.hpp"
#include "core/terminal/tell.hpp"
#include "core/terminal/terminal.hpp"
#include "experiments/calibrate/calibrate.hpp"
#include "experiments/config/cluster_file.hpp"
#include "experiments/config/installed.hpp"
#include "experiments/config/shipped.hpp"
#include "experiments/config/this_machine.hpp"
#include "experiments/predict/interval.hpp"
#include "experiments/predict/servers/price.hpp"
#include "experiments/results/results.hpp"
#include "experiments/results/table.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

/// Why the difference between a run and its simulation on this machine has another cause: other
/// programs were at work when one of the two was measured. Empty if they were not.
std::string disturbance(const Json& real, const Json& simulated) {
  // absent in results of older versions
  const Json others = real.value("other_work", Json::object());
  if (const Json note = others.value("note", Json()); note.is_string())
    return note.get<std::string>();
  const double cores = simulated["simulation"].value("profile_other_work_cores", 0.0);
  if (cores == 0) return "";
  return fmt::format(
      "this machine was at work while it was calibrated: other programs kept {:.1f} cores busy",
      cores);
}

/// Why a simulation on this machine would not represent the run: this machine is one server without
/// links to others. Empty if it would.
std::string not_of_this_machine(const FinishedRun& run) {
  if (const int machines = run.result.value("machines", 1); machines > 1)
    return fmt::format(
        "the ranks ran on {} servers with links between them, but this-machine is one server: "
        "orrery validate measures the links of a netcluster, and a cluster file describes others",
        machines);
  const int servers = run.experiment.placement().servers();
  if (info_of(run.experiment.strategy).by_server && servers > 1)
    return fmt::format(
        "{} depends on the {} servers of the experiment, but this-machine is one: name a cluster "
        "with as many",
        info_of(run.experiment.strategy).name, servers);
  return {};
}

Json simulate_on(FinishedRun& run, const std::string& cluster, Runner& runner) {
  const std::filesystem::path folder = run.result["out_dir"].get<std::string>();
  const ResultFolder results(folder / ("simulated-on-" + as_file_name(cluster)),
                             Existing::overwrite);
  Experiment there = on_cluster(run.experiment, cluster);
  if (there.label.empty()) there.label = cluster;  // out of memory is a result, as in a sweep
  const auto simulated = runner.run(there, &results);
  if (run.not_written.empty()) run.not_written = simulated->not_written;
  return compared(run, cluster, simulated->result);
}

/// If the cluster cannot run it (too few devices, an operation without a price), that is reported;
/// the run itself is done.
Json simulate_if_possible(FinishedRun& run, const std::string& cluster, Runner& runner,
                          bool quiet) {
  try {
    if (cluster == kThisMachine && run.experiment.kernels != "cuda") measure_this_machine(quiet);
    return simulate_on(run, cluster, runner);
  } catch (const std::exception& error) {  // the run is done: its result is kept in any case
    return {{"epoch_seconds", nullptr}, {"not_simulated", error.what()}};
  }
}

std::string limit_text(const Json& simulated) {
  if (simulated.contains("not_simulated")) return simulated["not_simulated"];
  return simulated["limited_by"].is_null() ? "-" : simulated["limited_by"]["sentence"];
}

}  // namespace

Experiment on_cluster(const Experiment& experiment, const std::string& asked) {
  Json file = experiment.resolved;
  const std::string cluster =
      asked == kThisMachine ? calibrated_machine(experiment.kernels, experiment.ranks()) : asked;
  const bool shared = load_cluster(cluster).devices.front().cores > 0;
  file["cluster"] = {{"file", cluster}, {shared ? "ranks" : "gpus", experiment.ranks()}};
  file["backend"] = "sim";
  file.erase("simulate_on");
  if (file.contains("simulation"))  // the library and the profile are the cluster's own
    for (const char* key : {"library", "profile"}) file["simulation"].erase(key);
  if (asked == kThisMachine && experiment.backend == "mpi")  // as it ran
    file["simulation"]["library"] = "mpi";
  Experiment there = parse_experiments(file.dump(), cluster, {}).front();
  there.label = experiment.label;
  return there;
}

void measure_this_machine(bool quiet) {
  if (kClusterFiles.look_up(kThisMachine) && kDeviceFiles.look_up(kThisMachine)) return;
  if (!quiet)
    tell(
        "measuring this machine coarsely for its simulation (once; one to three minutes; `orrery "
        "calibrate` is more exact)\n");
  const auto folder = machine_configs().string();
  calibrate::require_place_for_files(folder);
  const calibrate::Calibration made =
      calibrate::calibrate(calibrate::Effort::quick, calibrate::find_probe());
  calibrate::write(made, folder);
  if (!quiet && made.other_work.disturbs())
    tell("  note: {}; run `orrery calibrate` when it is idle\n", made.other_work.words("it was"));
}

void require_clusters(const Experiment& experiment) {
  for (const std::string& cluster : experiment.simulate_on)
    if (cluster != kThisMachine) kClusterFiles.find(cluster);
}

Json compared(const FinishedRun& run, const std::string& cluster, const Json& simulated) {
  Json told{{"epoch_seconds", simulated["epoch_seconds"]},
            {"interval", simulated.value("interval", Json())},
            {"limited_by", simulated["limited_by"]}};
  if (simulated.contains("usd_per_epoch")) told["usd_per_epoch"] = simulated["usd_per_epoch"];
  if (cluster != kThisMachine || simulated["epoch_seconds"].is_null()) return told;
  told["error"] = simulated["epoch_seconds"].get<double>() / run.measured.epoch_seconds - 1;
  if (const std::string why = disturbance(run.result, simulated); !why.empty())
    told["disturbed"] = why;
  return told;
}

void forecast(std::vector<FinishedRun>& runs, bool quiet, const std::atomic<bool>* stop) {
  const Job alone;
  Runner runner({.quiet = true, .stop = stop}, alone);
  for (FinishedRun& run : runs) {
    const auto& clusters = run.experiment.simulate_on;
    if (clusters.empty() || !run.experiment.trains() || run.result.contains("out_of_memory"))
      continue;
    Json told = Json::object();
    for (const std::string& cluster : clusters) {
      if (cluster == kThisMachine)
        if (const std::string why = not_of_this_machine(run); !why.empty()) {
          told[cluster] = {{"epoch_seconds", nullptr}, {"not_simulated", why}};
          continue;
        }
      told[cluster] = simulate_if_possible(run, cluster, runner, quiet);
    }
    run.result["simulated_on"] = std::move(told);
    try {
      write_file(std::filesystem::path(run.result["out_dir"].get<std::string>()) / "result.json",
                 run.result.dump(2) + "\n");
    } catch (const Error& error) {
      run.not_written = error.what();
    }
  }
}

void print_forecasts(const std::vector<FinishedRun>& runs, std::FILE* to) {
  const bool priced = std::ranges::any_of(runs, [](const FinishedRun& run) {
    const Json clusters = run.result.value("simulated_on", Json::object());
    return std::ranges::any_of(
        clusters, [](const Json& simulated) { return simulated.contains("usd_per_epoch"); });
  });
  std::vector<std::string> header{"run",       "simulated on", "measured here",
                                  "simulated", "error",        "limited there by"};
  if (priced) header.insert(header.end() - 1, "price of an epoch");
  Table table(header, 2, true);
  bool any = false;
  std::set<std::string> disturbed;
  std::map<std::string, std::set<std::string>> intervals;  // what "±" says, and of which clusters
  for (const FinishedRun& run : runs) {
    if (!run.result.contains("simulated_on")) continue;
    const std::string name = row_name(run).second;
    std::string measured = human_seconds(run.measured.epoch_seconds);
    for (const auto& [cluster, simulated] : run.result["simulated_on"].items()) {
      std::string error = "-";
      if (simulated.contains("error"))
        error = fmt::format("{:+.0f} %", 100 * simulated["error"].get<double>());
      if (simulated.contains("disturbed")) {
        error += " (*)";
        disturbed.insert(simulated["disturbed"].get<std::string>());
      }
      const Json& seconds = simulated["epoch_seconds"];
      const Json interval = simulated.value("interval", Json());
      if (!interval.is_null())
        intervals[interval_words(interval.value("measured", true))].insert(cluster);
      std::vector<std::string> row{
          name, cluster, measured,
          seconds.is_null() ? "-" : with_interval(seconds, errors_from(interval)), error};
      if (priced)
        row.push_back(simulated.contains("usd_per_epoch") ? dollars(simulated["usd_per_epoch"])
                                                          : "-");
      row.push_back(limit_text(simulated));
      table.add(row);
      any = true;
    }
  }
  if (!any) return;
  const int width = room_on(to);
  const auto say = [&](const std::string& text) {
    fmt::print(to, "{}", wrapped(text, paragraph_on(to)));
  };
  say("\n"
      "The same operations simulated. error: simulation of this machine "
      "against the measurement\n"
      "\n");
  fmt::print(to, "{}", table.text(width));
  for (const auto& [words, clusters] : intervals)
    say(words + (intervals.size() > 1 ? fmt::format(" ({})", fmt::join(clusters, ", ")) : "") +
        '\n');
  for (const std::string& why : disturbed)
    say(
        fmt::format("(*) {}; measured times are then too long, and this difference says little "
                    "about the simulation: repeat it on an idle machine\n",
                    why));
}

}  // namespace orrery
