#include "experiments/score/predictions.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/graph/files/bytes_of.hpp"
#include "core/strategy/make_strategy.hpp"
#include "experiments/execute/execute.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// Number of columns of the embeddings() of a network.
std::int64_t embedding_width(const ModelConfig& model, std::int64_t features) {
  if (model.type == ModelType::sgc) return features;
  const bool one_layer =
      model.layers + model.dense_layers == 1 && !(model.type == ModelType::resgcn);
  return one_layer ? input_width(model, features) : model.hidden;
}

}  // namespace

Experiment forward_experiment(const Json& resolved, int ranks,
                              const std::vector<std::string>& overrides) {
  Json file = resolved;
  file["backend"] = "threads";
  file["strategy"] = {{"type", "full_graph"}};
  file["partition"] = {{"method", "block"}};
  file["cluster"] = {{"ranks", ranks}};
  for (const char* key :
       {"simulate_on", "simulation", "inference", "timeline", "validate", "sweep"})
    file.erase(key);
  for (const char* key :
       {"schedule", "class_weights", "weights", "patience", "best_by", "keep_best", "metrics",
        "checkpoint_every", "checkpoint_steps", "cuda_graph"})
    file["train"].erase(key);
  file["dataset"].erase("inductive");  // its model is for the whole graph
  file["model"].erase("sparse_input");
  if (file["model"]["type"] == "sgc") file["model"]["order"] = "aggregate_first";
  Experiment experiment =
      parse_experiments(file.dump(), file["name"].get<std::string>(), overrides).front();
  if (experiment.links)
    throw ConfigError(
        "links",
        "classes of vertices are predicted, and a model of links has none: its scores "
        "stand in the result of the run");
  if (!experiment.parts.empty() || experiment.statistics || experiment.dataset.edge_list)
    throw ConfigError("dataset",
                      "predictions need the whole graph with its features in memory: name one as "
                      "dataset.path (--set 'dataset={\"path\": \"NAME\"}')");
  return experiment;
}

Predicted predict(const Experiment& experiment, const ProblemData& data, const Checkpoint& model) {
  const Partition cut = make_partition(experiment, data);
  const Problem problem = make_problem(experiment, data, cut);
  const DataFacts facts = problem.facts();
  if (facts.features == 0)
    throw ConfigError("dataset.features", "'" + facts.name + "' has none to predict from");
  Predicted predicted;
  predicted.classes = facts.classes;
  predicted.width = embedding_width(problem.model, facts.features);
  predicted.logits.resize(at(facts.vertices * predicted.classes));
  predicted.embeddings.resize(at(facts.vertices * predicted.width));
  const auto strategy = make_strategy(problem);
  const PredictionBody body(*strategy, problem, model, predicted);
  ExecuteOptions options;
  options.kernels = experiment.kernels;
  options.placement = experiment.placement();
  execute_on_threads(body, options, {});
  return predicted;
}

std::pair<std::string, std::string> model_bytes(const fs::path& file_or_folder,
                                                const std::string& key) {
  fs::path file = file_or_folder;
  if (fs::is_directory(file)) file /= fs::exists(file / "best.bin") ? "best.bin" : "checkpoint.bin";
  if (std::error_code error; !fs::exists(file, error))
    throw ConfigError(key,
                      fmt::format("{} cannot be read: name a checkpoint, or the folder of a run "
                                  "with train.keep_best or train.checkpoint_every",
                                  file.string()));
  return {bytes_of(file), file.string()};
}

ModelCheckpoint read_model(const fs::path& file_or_folder, const Json& resolved,
                           const std::string& key) {
  const auto [bytes, origin] = model_bytes(file_or_folder, key);
  return parse_checkpoint_of_model(bytes, origin, resolved, key);
}

std::vector<std::int32_t> predicted_classes(const Predicted& predicted) {
  std::vector<std::int32_t> classes;
  const auto width = static_cast<std::ptrdiff_t>(predicted.classes);
  if (width == 0) return classes;
  for (auto row = predicted.logits.begin(); row != predicted.logits.end(); row += width)
    classes.push_back(static_cast<std::int32_t>(std::max_element(row, row + width) - row));
  return classes;
}

}  // namespace orrery
