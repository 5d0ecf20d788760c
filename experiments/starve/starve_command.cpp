#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "backends/comm_mpi/comm_mpi.hpp"
#include "core/base/error.hpp"
#include "core/terminal/activity.hpp"
#include "core/terminal/tell.hpp"
#include "experiments/calibrate/other_work.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/commands/experiment_file.hpp"
#include "experiments/commands/python_script.hpp"
#include "experiments/execute/launch.hpp"
#include "experiments/predict/simulate.hpp"
#include "experiments/run/interruption.hpp"
#include "experiments/run/job_script.hpp"
#include "experiments/starve/starve_report.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kChart = "starve_chart.py";

struct StarveOptions {
  std::string file, backend, svg;
  std::vector<std::string> overrides;
  int epochs = 3;
  bool now = false, json = false;
};

/// Why a file cannot be put into its place; none if it can. A pipe or a device is written to, any
/// other file gets a neighbour that is renamed, as analysis/whole_file.py does it.
std::error_code obstacle(const std::filesystem::path& file) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_status there = fs::status(file, error);
  if (fs::is_directory(there)) return std::make_error_code(std::errc::is_a_directory);
  const bool replaced = !fs::exists(there) || fs::is_regular_file(there);
  // What stands for a pipe has no other path.
  const fs::path target = replaced ? fs::weakly_canonical(fs::absolute(file), error) : file;
  if (replaced && error) return error;
  // the dot asks whether it is a folder
  const fs::path written = replaced ? target.parent_path() / "." : target;
  if (::access(written.c_str(), W_OK) == 0) return {};
  return {errno, std::generic_category()};
}

/// A picture that cannot be drawn is an error before minutes have passed.
void require_drawable(const std::string& svg) {
  if (const std::error_code why = obstacle(svg))
    throw Error(fmt::format("{}: cannot be written: {}", svg, why.message()));
  python_command(kChart, {svg}, {});
}

void draw(const Json& told, const std::string& svg) {
  run_python_script(kChart, {svg}, told);
  tell("drew {}\n", svg);
}

/// What the ranks of the experiment measure, on the leading process: they are the processes of this job.
std::optional<Fed> measured_by_job(const Experiment& experiment, const StarveOptions& options,
                                   const Launch& launch, DatasetCache& datasets) {
  heed_signals(true, launch.rank == 0);
  MpiOptions mpi;
  mpi.ending = &ended_from_outside();
  mpi.processes = launch.size;
  MpiWorld world(mpi);
  std::optional<Fed> measured;
  world.run([&](Communicator& communicator) {
    measured = measure_over_mpi(experiment, options.epochs, datasets, {&world, &communicator});
  });
  return measured;
}

/// Whether this process is a rank of the experiment.
///
/// Errors    ConfigError: other processes were started than it has ranks
bool measures_over_mpi(const Experiment& experiment, const Launch& launch) {
  if (experiment.backend != "mpi" || launch.size == 1) return false;
  if (launch.size != experiment.ranks())
    throw ConfigError("cluster", fmt::format("{} ranks in the experiment, but {} processes were "
                                             "started: start as many, or one, which simulates them",
                                             experiment.ranks(), launch.size));
  return true;
}

void run_starve(const StarveOptions& options) {
  const Launch launch = launch_from_environment();
  if (launch.rank == 0 && !options.svg.empty()) require_drawable(options.svg);
  std::vector<std::string> overrides = options.overrides;
  if (!options.backend.empty()) overrides.push_back("backend=" + options.backend);
  const Experiment experiment = load_one_experiment(options.file, overrides);
  const bool over_mpi = measures_over_mpi(experiment, launch);
  if (launch.rank > 0 && !over_mpi) return;  // the first process does it alone
  tell_activities(launch.rank == 0);
  if (!over_mpi) end_on_signals();
  refuse_sensitivity(experiment, "orrery starve");
  DatasetCache datasets;
  Simulator simulator;
  const calibrate::WorkWatch watch;
  std::optional<Fed> measured;
  if (over_mpi) measured = measured_by_job(experiment, options, launch, datasets);
  if (launch.rank > 0) return;
  StarveStudy study =
      study_starving(experiment, options.epochs, !options.now, datasets, simulator, measured);
  if (experiment.backend == "mpi" && !over_mpi) {
    JobRequest job;
    job.file = options.file;
    job.overrides = options.overrides;
    job.command = "starve";
    study.not_measured = mpirun_line(experiment, job);
  }
  const calibrate::OtherWork others = watch.seen();
  if (!options.json) print_starving(experiment.name, study);
  if (study.measured && others.disturbs()) tell("note: {}\n", others.words("the experiment"));
  Json told = starving_json(experiment.name, study);
  told["other_work"] = study.measured ? calibrate::other_work_json(others) : Json();
  if (options.json) fmt::print("{}\n", told.dump());
  if (!options.svg.empty()) draw(told, options.svg);  // last: if it fails, the numbers are told
}

}  // namespace

void add_starve_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<StarveOptions>();
  CLI::App* command = app.add_subcommand("starve",
                                         "Say which stage keeps the trainers of sampled training "
                                         "waiting, and which settings would be enough");
  add_experiment_file(*command, options->file, options->overrides);
  command
      ->add_option("--epochs", options->epochs,
                   "Epochs to run; the first, or with few batches the first few, do not count")
      ->capture_default_str()
      ->type_name("N");
  command->add_option("--backend", options->backend, "As the key backend of the file")
      ->type_name("NAME");
  command->add_flag("--now", options->now, "Report only the present settings, and try no others");
  command->add_option("--svg", options->svg, "Draw the stages into this file")->type_name("FILE");
  command->add_flag("--json", options->json,
                    "Print one JSON object as the last line of standard output");
  command->footer(
      "Example: orrery starve configs/sampled/quickstart.json --set sweep={} \\\n"
      "           --set strategy.type=mini_batch --set 'strategy.fanouts=[10,5]' \\\n"
      "           --svg fed.svg");
  command->callback([options, &exit_code] {
    run_starve(*options);
    exit_code = 0;
  });
}

}  // namespace orrery
