#include "experiments/infer/trained_weights.hpp"

#include <fmt/core.h>

#include <filesystem>

#include "core/base/error.hpp"
#include "core/graph/files/bytes_of.hpp"
#include "core/graph/files/checksum.hpp"
#include "experiments/results/checkpoint.hpp"
#include "experiments/results/results.hpp"
#include "experiments/results/resume.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;

/// The bytes of a checkpoint, read by the leading process.
std::string checkpoint_bytes(const fs::path& asked, const Job& job) {
  std::string bytes;
  if (job.leads()) {
    const fs::path file = fs::is_directory(asked) ? asked / "checkpoint.bin" : asked;
    std::error_code unknown;
    if (!fs::exists(file, unknown))
      throw ConfigError("inference.weights",
                        fmt::format("{}: no such file; name a checkpoint, or the folder of a run "
                                    "with train.checkpoint_every",
                                    file.string()));
    bytes = bytes_of(file);
  }
  job.share(bytes);
  return bytes;
}

/// A training's state: the weights come first, running averages last, moments between.
std::shared_ptr<const TrainedWeights> weights_of(ModelCheckpoint kept, const ModelConfig& model,
                                                 const std::string& origin) {
  Checkpoint& checkpoint = kept.checkpoint;
  const bool averages = model.batch_norm && model.layers > 1;  // the last layer has no norm
  const std::size_t least = averages ? 2 : 1;
  if (checkpoint.state.size() < least)
    throw DataError(origin, "",
                    fmt::format("expected at least {} rows of numbers, found {}", least,
                                checkpoint.state.size()));
  TrainedWeights weights;
  weights.weights = std::move(checkpoint.state.front());
  if (averages) weights.averages = std::move(checkpoint.state.back());
  if (kept.data) {
    weights.features = kept.data->features;
    weights.classes = kept.data->classes;
  }
  return std::make_shared<const TrainedWeights>(std::move(weights));
}

}  // namespace

std::shared_ptr<const TrainedWeights> read_weights(const Experiment& experiment, const Job& job) {
  const std::string bytes = checkpoint_bytes(experiment.weights, job);
  return weights_of(parse_checkpoint_of_model(bytes, experiment.weights, experiment.resolved),
                    experiment.model, experiment.weights);
}

std::string checksum_of(const TrainedWeights& weights) {
  const auto bytes = [](const std::vector<float>& values) {
    return std::string_view(reinterpret_cast<const char*>(values.data()),
                            values.size() * sizeof(float));
  };
  return checksum(bytes(weights.weights)) + checksum(bytes(weights.averages));
}

std::shared_ptr<const TrainedWeights> train_weights(const Experiment& experiment,
                                                    const fs::path& folder,
                                                    const Runner::Options& options,
                                                    const Job& job) {
  nlohmann::ordered_json file = experiment.resolved;
  file.erase("inference");
  file.erase("simulate_on");
  // The last epoch must leave one.
  const int every = experiment.checkpoint_every;
  if (every == 0 || experiment.train.epochs % every != 0)
    file["train"]["checkpoint_every"] = file["train"]["epochs"];
  const Experiment training = parse_experiments(file.dump(), experiment.name, {}).front();
  std::string complete =
      job.leads() && options.resume && is_complete(folder, training.resolved) ? "complete" : "";
  job.share(complete);
  std::string failed;
  // A run that was killed behind its result may have left its timeline half-written.
  if (job.leads() && !complete.empty()) remove_unfinished(folder);
  if (complete.empty()) {
    std::optional<ResultFolder> results;
    if (job.leads())
      results.emplace(folder, options.resume ? Existing::resume : Existing::overwrite);
    const auto run = Runner(options, job).run(training, results ? &*results : nullptr);
    if (run && run->result["interrupted"].get<bool>()) failed = "the training was interrupted";
    if (run && !run->result["diverged_at_epoch"].is_null()) failed = "the training diverged";
    if (run && failed.empty()) failed = run->not_written;
  }
  job.share(failed);
  if (!failed.empty()) throw Error(failed + ": there are no weights to infer with");
  const std::string origin = (folder / "checkpoint.bin").string();
  return weights_of({parse_checkpoint(checkpoint_bytes(folder, job), origin, training.resolved)},
                    training.model, origin);
}

}  // namespace orrery
