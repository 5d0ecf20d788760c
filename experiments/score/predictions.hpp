// The predictions of a kept model for the vertices of a data set.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/strategy/train/predict.hpp"
#include "experiments/config/experiment.hpp"
#include "experiments/config/load_problem.hpp"
#include "experiments/results/checkpoint.hpp"

namespace orrery {

/// The experiment whose whole graph a model of this one is evaluated on: full_graph on threads of
/// this machine, without the keys that only training needs. `overrides` as load_experiments() takes
/// them.
///
/// Errors    ConfigError: parts, statistics, edge lists
Experiment forward_experiment(const nlohmann::ordered_json& resolved, int ranks,
                              const std::vector<std::string>& overrides = {});

/// One exact forward pass over all vertices of `data`, which `experiment` (a forward one) names.
///
/// Errors    ConfigError: weights of another model, or of data of other widths
Predicted predict(const Experiment& experiment, const ProblemData& data, const Checkpoint& model);

/// Contents and name of `file`, or of a folder's best.bin, else checkpoint.bin. `key` names in errors
/// who asked.
///
/// Errors    ConfigError: nothing there
std::pair<std::string, std::string> model_bytes(const std::filesystem::path& file_or_folder,
                                                const std::string& key);

/// The checkpoint in model_bytes().
///
/// Errors    also ConfigError: another model; DataError: damaged
ModelCheckpoint read_model(const std::filesystem::path& file_or_folder,
                           const nlohmann::ordered_json& resolved, const std::string& key);

/// The class of each vertex, the first with the largest logit.
std::vector<std::int32_t> predicted_classes(const Predicted& predicted);

}  // namespace orrery
