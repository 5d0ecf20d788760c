// Checkpoints on disk: written beside the old one and renamed, checksummed, and refused for another
// experiment.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/base/json_reader.hpp"
#include "core/model/network/network.hpp"
#include "core/runtime/body.hpp"

namespace orrery {

/// What follows from the data set and from no key.
struct FromData {
  std::int64_t features = 0, classes = 0;  ///< columns of a model's input and output
  std::string fingerprint{};               ///< fingerprint_of() it; empty: not known
};

/// What a file holds: all that a training goes on from, or a model alone (RunObserver::keep_best).
enum class Kept : std::uint8_t { training, model };

/// Writes a checkpoint of the experiment `resolved`; the old file stays whole until the new one is.
/// `data`: of its data set, where it is known; with it and `model` the file says what its weights are
/// called, and their shapes.
///
/// Errors    Error (folder not writable, disk full)
void write_checkpoint(const std::filesystem::path& file, const Checkpoint& checkpoint,
                      const nlohmann::ordered_json& resolved,
                      const std::optional<FromData>& data = std::nullopt,
                      const ModelConfig* model = nullptr, Kept kept = Kept::training);

/// Checks that a run of one experiment may continue as another. Strategy, partition, cluster and
/// number of epochs may differ; what the learned weights depend on may not (see LearnsFrom).
///
/// Errors    ConfigError naming the first key that differs; `origin` names the stored one.
///           DataError:
///           what was stored is no experiment
void require_same_experiment(const JsonReader& kept, const nlohmann::ordered_json& now,
                             const std::string& origin);

/// A checkpoint whose weights are used for something else than resuming.
struct ModelCheckpoint {
  Checkpoint checkpoint;
  /// empty in files that were written before they were stored
  std::optional<FromData> data{};
  /// That its weights are of, in their order (TypedGraph::texts()); empty: of none.
  std::vector<std::string> relations{};
};

/// `now`: the relations of the data at hand. `key` names in errors who asked for the weights.
///
/// Errors    ConfigError: the weights are of others, or of these in another order
void require_same_relations(const ModelCheckpoint& kept, const std::vector<std::string>& now,
                            const std::string& key);

/// `now`: of the data at hand. A file that does not say how wide its model is fits any.
///
/// Errors    ConfigError: the model has another width than their features, or other classes
void require_same_widths(const ModelCheckpoint& kept, const FromData& now, const std::string& key);

/// Reads the contents of a checkpoint file for a run that has only the model in common with the one
/// that left it: another data set, seed and training. `key` names in errors who asked for it.
///
/// Errors    DataError (truncated, damaged, of another version) · ConfigError (another model: the
///           first key that differs; local models)
ModelCheckpoint parse_checkpoint_of_model(const std::string& bytes, const std::string& origin,
                                          const nlohmann::ordered_json& resolved,
                                          const std::string& key = "inference.weights");

/// Reads a checkpoint file; `origin` names it in errors. `fingerprint`: of the data at hand; empty: not known.
///
/// Errors    DataError (truncated, damaged, of another version) · ConfigError (another experiment:
///           the first key that differs; other data)
Checkpoint parse_checkpoint(const std::string& bytes, const std::string& origin,
                            const nlohmann::ordered_json& resolved,
                            const std::string& fingerprint = "");

}  // namespace orrery
