// Options of all commands for experiment files.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "experiments/config/experiment.hpp"

namespace orrery {

/// `--set KEY=VALUE`, in the form for load_experiments().
inline void add_overrides(CLI::App& command, std::vector<std::string>& overrides) {
  command
      .add_option("--set", overrides,
                  "Set a key of the file to a value; may be given several times")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
}

/// `FILE`, which is required, and `--set`.
inline void add_experiment_file(CLI::App& command, std::string& file,
                                std::vector<std::string>& overrides) {
  command.add_option("FILE", file, "The experiment file; - reads it from standard input")
      ->required();
  add_overrides(command, overrides);
}

/// The experiment of a file that has no sweep.
///
/// Errors    those of load_experiments(); ConfigError for a sweep
inline Experiment load_one_experiment(const std::string& file,
                                      const std::vector<std::string>& overrides) {
  auto experiments = load_experiments(file, overrides);
  if (!experiments.front().label.empty())
    throw ConfigError("sweep", "one experiment at a time: choose a combination with --set");
  return std::move(experiments.front());
}

}  // namespace orrery
