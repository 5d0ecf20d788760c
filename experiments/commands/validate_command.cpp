#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>

#include "core/base/error.hpp"
#include "core/base/json_reader.hpp"
#include "core/base/parallel.hpp"
#include "core/base/removed_if_interrupted.hpp"
#include "core/graph/files/bytes_of.hpp"
#include "core/terminal/activity.hpp"
#include "core/terminal/tell.hpp"
#include "experiments/calibrate/other_work.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/commands/experiment_file.hpp"
#include "experiments/infer/infer_session.hpp"
#include "experiments/predict/closed_forms.hpp"
#include "experiments/results/table.hpp"
#include "experiments/run/interruption.hpp"
#include "experiments/run/real_run.hpp"
#include "experiments/run/runner.hpp"
#include "experiments/run/validation.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct ValidateOptions {
  std::vector<std::string> files, overrides;
  std::string out;
  bool json = false, quiet = false;
  int repeats = 1;
};

/// Runs the three sides of experiments, keeping data sets and the simulator.
class Validator {
 public:
  Validator(fs::path out, const ValidateOptions& options)
      : out_(std::move(out)), options_(options) {}

  ValidationRow row(const Experiment& experiment, const std::string& file) {
    require_real(experiment, "orrery validate");
    const fs::path folder =
        out_ / file / (experiment.label.empty() ? "run" : as_file_name(experiment.label));
    ValidationRow row;
    row.file = file;
    row.label = experiment.label;
    row.backend = experiment.backend;
    if (!experiment.netcluster.empty()) row.backend += " on " + experiment.netcluster + " links";
    row.ranks = experiment.ranks();
    row.oversubscribed = experiment.ranks() > available_cores();
    row.used_by_calibration = experiment.used_by_calibration;
    // An interrupted row leaves nothing; a folder of an earlier start is not ours to remove.
    std::optional<RemovedIfInterrupted> under_way;
    if (!fs::exists(folder)) under_way.emplace(folder);
    // A single run comes after its forecasts: they take a moment, and what they lack is reported before.
    // Repeats run before and after them, so that a machine that changed its speed meanwhile shows.
    if (experiment.resolved.contains("inference")) {
      compare_inferences(row, experiment, folder);
      return row;
    }
    std::vector<Json> runs;
    const calibrate::WorkWatch watch;
    run(runs, options_.repeats / 2, experiment, folder);
    const Json simulated = forecast(experiment, "sim", folder);
    if (!why_no_equations(experiment.strategy, experiment.model))
      row.model_seconds = forecast(experiment, "model", folder)["epoch_seconds"].get<double>();
    run(runs, options_.repeats - options_.repeats / 2, experiment, folder);
    for (const Json& result : runs) row.repeats.push_back(result["epoch_seconds"]);
    const Json real = median_run(std::move(runs));
    // Ranks over links are no children of this process, so they say themselves what others did.
    const Json others = experiment.netcluster.empty() ? calibrate::other_work_json(watch.seen())
                                                      : real["other_work"];
    set_others(row, others);
    row.real_seconds = real["epoch_seconds"];
    row.simulated_seconds = simulated["epoch_seconds"];
    row.real = class_seconds(real);
    row.simulated = class_seconds(simulated);
    row.errors = errors_from(simulated.value("interval", Json()));
    return row;
  }

 private:
  /// Fills in the row of a file that has an inference: the median of the repeats by all of its
  /// stages together.
  void compare_inferences(ValidationRow& row, const Experiment& experiment,
                          const fs::path& folder) {
    const Json simulated = inferred(forecast_file(experiment, "sim", folder), folder / "sim");
    const Activity running(fmt::format("running {}", experiment.name));
    struct Repeat {
      std::vector<StageSeconds> stages;
      double seconds = 0;
      Json others;
    };
    std::vector<Repeat> repeats;
    for (int i = 0; i < options_.repeats; ++i) {
      const Json real = experiment.backend == "mpi"
                            ? infer_over_mpi(experiment, folder)
                            : inferred(experiment.resolved, folder / "real");
      Repeat& repeat =
          repeats.emplace_back(Repeat{stages_of(real, simulated), 0, real["other_work"]});
      for (const StageSeconds& stage : repeat.stages) repeat.seconds += stage.real;
    }
    for (const Repeat& repeat : repeats) row.repeats.push_back(repeat.seconds);
    std::sort(repeats.begin(), repeats.end(),
              [](const Repeat& a, const Repeat& b) { return a.seconds < b.seconds; });
    const Repeat& median = repeats[(repeats.size() - 1) / 2];
    set_others(row, median.others);
    row.stages = median.stages;
    row.real_seconds = median.seconds;
    for (const StageSeconds& stage : row.stages) row.simulated_seconds += stage.simulated;
  }

  /// The result of orrery infer on an experiment file.
  static Json inferred(const Json& file, const fs::path& folder) {
    const fs::path named = folder.string() + ".json";
    fs::create_directories(folder.parent_path());
    write_file(named, file.dump(2) + "\n");
    InferOptions options;
    options.file = named.string();
    options.out = folder.string();
    options.quiet = options.force = true;
    infer_session(options);
    end_on_signals();  // the inference heeded them its own way
    const fs::path result = folder / "result.json";
    return JsonReader(bytes_of(result), result.string()).json();
  }

  static void set_others(ValidationRow& row, const Json& others) {
    row.load_before = others["load_before"];
    if (!others["cores"].is_null()) row.other_work_cores = others["cores"].get<double>();
    row.disturbed = !others["note"].is_null();
  }

  void run(std::vector<Json>& results, int times, const Experiment& experiment,
           const fs::path& folder) {
    const Activity running(fmt::format("running {}", experiment.name));
    for (int i = 0; i < times; ++i) results.push_back(real_.run(experiment, folder));
  }

  static Json median_run(std::vector<Json> results) {
    std::sort(results.begin(), results.end(),
              [](const Json& a, const Json& b) { return a["epoch_seconds"] < b["epoch_seconds"]; });
    return results[(results.size() - 1) / 2];
  }

  Json forecast(const Experiment& experiment, const std::string& backend, const fs::path& folder) {
    const Experiment forecast =
        parse_experiments(forecast_file(experiment, backend, folder).dump(), backend, {}).front();
    return result_of(runner_, forecast, folder / backend);
  }

  /// The same experiment on a described cluster: the file's, else this machine.
  Json forecast_file(const Experiment& experiment, const std::string& backend,
                     const fs::path& folder) {
    Json file = experiment.resolved;
    file["backend"] = backend;
    DescribedHere here = real_.described(experiment, folder);
    file["simulation"]["library"] = here.library;
    if (!here.cluster.is_null()) file["cluster"] = std::move(here.cluster);
    return file;
  }

  fs::path out_;
  const ValidateOptions& options_;
  Job job_;
  Runner runner_{{.quiet = true}, job_};
  RealRuns real_{runner_};
};

/// An experiment that could not be validated, and the reason.
struct Failure {
  std::string file, label, error;
  std::string setting() const { return label.empty() ? file : file + ", " + label; }
};

/// Rows of all experiments that run. A failed one does not discard the results of the others.
struct Validated {
  std::vector<ValidationRow> rows;
  std::vector<Failure> failures;
};

Validated validate_all(Validator& validator, const ValidateOptions& options) {
  std::vector<std::pair<std::string, std::vector<Experiment>>> files;
  for (const std::string& file : options.files)
    files.emplace_back(fs::path(file).stem().string(), load_experiments(file, options.overrides));
  Validated all;
  for (const auto& [file, experiments] : files)
    for (const Experiment& experiment : experiments) {
      std::string told;
      try {
        const ValidationRow row = validator.row(experiment, file);
        told = fmt::format("{}: real {:.4g} s, simulated {:.4g} s ({:+.1f} %)", row.setting(),
                           row.real_seconds, row.simulated_seconds, 100 * row.error());
        all.rows.push_back(row);
      } catch (const Error& error) {
        all.failures.push_back({file, experiment.label, error.what()});
        told = fmt::format("{}: failed: {}", all.failures.back().setting(), error.what());
      }
      if (!options.quiet) tell("{}\n", told);
    }
  return all;
}

/// The exit code: 1 if an experiment failed.
int run_validate(const ValidateOptions& options) {
  const fs::path out =
      options.out.empty() ? default_result_folder("validate") : fs::path(options.out);
  tell_activities(!options.quiet);
  end_on_signals();
  Validator validator(out, options);
  const Validated all = validate_all(validator, options);
  if (all.rows.empty() && all.failures.size() == 1) throw Error(all.failures.front().error);
  Json result = validation_json(all.rows);
  result["failures"] = Json::array();
  for (const Failure& f : all.failures)
    result["failures"].push_back({{"file", f.file}, {"label", f.label}, {"error", f.error}});
  fs::create_directories(out);  // even if every experiment failed before it left anything
  write_file(out / "validate.json", result.dump(2) + "\n");
  if (!options.quiet) {
    std::FILE* to = options.json ? stderr : stdout;
    fmt::print(to, "\n{}\nResults: {}\n", validation_text(all.rows, room_on(to)), out.string());
  }
  for (const Failure& f : all.failures) tell("orrery: error: {}: {}\n", f.setting(), f.error);
  if (options.json) fmt::print("{}\n", result.dump());
  return all.failures.empty() ? 0 : 1;
}

}  // namespace

void add_validate_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ValidateOptions>();
  CLI::App* command = app.add_subcommand(
      "validate", "Compare real, simulated and modelled times of the same experiments");
  command->add_option("FILE", options->files, "Experiment files with backend threads or mpi")
      ->required();
  add_overrides(*command, options->overrides);
  command
      ->add_option("--out", options->out, "Write into this folder (default: results/validate-TIME)")
      ->type_name("DIR");
  command
      ->add_option("--repeats", options->repeats,
                   "Number of runs of each experiment; the median counts")
      ->check(CLI::Range(1, 1000));
  command->add_flag("--json", options->json,
                    "Print one JSON object as the last line of standard output");
  command->add_flag("--quiet", options->quiet, "Print only errors, and with --json the object");
  command->footer(
      "Examples: orrery calibrate; orrery validate configs/validation/*.json\n"
      "          orrery calibrate --kernels cuda; orrery validate configs/validation/gpu/*.json\n"
      "          orrery validate configs/quickstart.json --set cluster.ranks=2");
  command->callback([options, &exit_code] { exit_code = run_validate(*options); });
}

}  // namespace orrery
