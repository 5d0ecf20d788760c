#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "core/base/units.hpp"
#include "core/base/whole_file.hpp"
#include "core/graph/files/folder_in_progress.hpp"
#include "core/terminal/activity.hpp"
#include "core/terminal/terminal.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/commands/experiment_file.hpp"
#include "experiments/config/load_problem.hpp"
#include "experiments/config/version.hpp"
#include "experiments/predict/simulate.hpp"
#include "experiments/results/results.hpp"
#include "experiments/results/table.hpp"
#include "experiments/run/interruption.hpp"
#include "sim/traces/chakra.hpp"
#include "sim/traces/goal.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct TraceCommandOptions {
  std::string file, out, format = "chakra", collectives = "messages";
  std::vector<std::string> overrides;
  int epoch = -1;
  bool force = false, json = false;
};

std::string not_only_a_trace(const fs::path& folder) {
  if (!fs::exists(folder / "trace.json")) return "it holds no trace (trace.json)";
  return more_than(folder, [](const std::string& name) {
    return name == "trace.json" || name == "comm_group.json" || name.ends_with(".et") ||
           name.ends_with(".goal");
  });
}

/// The name of the trace's files.
std::string file_name(const std::string& experiment) {
  std::string name = experiment;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '_') c = '_';
  return name.empty() ? "trace" : name;
}

std::int64_t write_trace(const sim::ExecutionTrace& trace, const TraceCommandOptions& options,
                         const fs::path& folder, const std::string& name) {
  if (options.format == "chakra") return sim::write_chakra(trace, folder, name);
  const std::string text = sim::goal_text(trace);
  write_file(folder / (name + ".goal"), text);
  return static_cast<std::int64_t>(text.size());
}

void run_trace(const TraceCommandOptions& options) {
  tell_activities(true);
  end_on_signals();
  const Experiment experiment = load_one_experiment(options.file, options.overrides);
  if (!experiment.cluster)
    throw ConfigError("cluster.file",
                      "a trace has the times of a described cluster: name its file");
  if (options.format == "goal" && options.collectives == "whole")
    throw ConfigError("--collectives", "GOAL has no collectives: leave it at messages");
  const fs::path out = options.out.empty() ? default_result_folder("trace") : fs::path(options.out);
  FolderInProgress folder(out, options.force, not_only_a_trace);

  DatasetCache datasets;
  const PreparedExperiment prepared = prepare(experiment, datasets.load(experiment));
  const PricedRun run = price_run(prepared);
  const int epoch = options.epoch < 0 ? run.epochs - 1 : options.epoch;
  if (epoch >= run.epochs)
    throw ConfigError("--epoch", fmt::format("epochs 0 to {} are recorded: raise "
                                             "simulation.epochs or train.epochs",
                                             run.epochs - 1));
  sim::ExecutionTrace trace;
  {
    const Activity tracing(fmt::format("tracing epoch {} of {} ranks", epoch, experiment.ranks()));
    trace = sim::trace_of(run.simulation, {{epoch, 1}, options.collectives == "whole"});
  }
  const sim::TraceSums sums = sim::sums_of(trace);
  const std::string name = file_name(experiment.name);
  std::int64_t bytes = 0;
  {
    const Activity writing("writing " + out.string());
    bytes = write_trace(trace, options, folder.path(), name);
  }
  const Json told{{"schema_version", kSchemaVersion},
                  {"name", experiment.name},
                  {"format", options.format},
                  {"cluster", experiment.cluster->name},
                  {"ranks", experiment.ranks()},
                  {"epoch", epoch},
                  {"nodes", sums.nodes},
                  {"messages", sums.messages},
                  {"message_bytes", sums.message_bytes},
                  {"whole_collectives", sums.collectives},
                  {"most_computation_seconds", sums.most_seconds},
                  {"file_bytes", bytes},
                  {"out_dir", out.string()}};
  write_file(folder.path() / "trace.json", told.dump(2) + "\n");
  folder.commit();
  if (options.json) return fmt::print("{}\n", told.dump());
  Table table({"format", "ranks", "epoch", "nodes", "messages", "sent", "computation", "files"});
  table.add({options.format, std::to_string(experiment.ranks()), std::to_string(epoch),
             std::to_string(sums.nodes), std::to_string(sums.messages),
             human_bytes(sums.message_bytes), human_seconds(sums.most_seconds),
             human_bytes(bytes)});
  fmt::print("{}\n{}", table.text(room_on(stdout)),
             wrapped(fmt::format("sent: bytes of all messages. computation: of the rank with most, "
                                 "simulated for {}. The trace is in {}.\n",
                                 experiment.cluster->name, out.string()),
                     paragraph_on(stdout)));
}

}  // namespace

void add_trace_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<TraceCommandOptions>();
  CLI::App* command = app.add_subcommand(
      "trace",
      "Write an epoch of a simulated experiment for ASTRA-sim (Chakra) or LogGOPSim (GOAL)");
  add_experiment_file(*command, options->file, options->overrides);
  command->add_option("--format", options->format, "The format of the trace")
      ->check(CLI::IsMember({"chakra", "goal"}))
      ->capture_default_str();
  command
      ->add_option("--collectives", options->collectives,
                   "As the messages that a simulation would send, or whole where all ranks have "
                   "equal parts (chakra alone)")
      ->check(CLI::IsMember({"messages", "whole"}))
      ->capture_default_str();
  command->add_option("--epoch", options->epoch, "The epoch, from 0 (default: the last recorded)")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N");
  command->add_option("--out", options->out, "Write into this folder (default: results/trace-TIME)")
      ->type_name("DIR");
  command->add_flag("--force", options->force, "Replace a trace that is there");
  command->add_flag("--json", options->json,
                    "Print one JSON object as the last line of standard output");
  command->footer(
      "Example: orrery trace configs/granndis/reddit.json --set sweep={} --format goal");
  command->callback([options, &exit_code] {
    run_trace(*options);
    exit_code = 0;
  });
}

}  // namespace orrery
