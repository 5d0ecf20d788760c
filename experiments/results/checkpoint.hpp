// Checkpoints on disk: written beside the old one and renamed, checksummed, and refused for another
// experiment.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/base/json_reader.hpp"
#include "core/runtime/body.hpp"

namespace orrery {

/// Columns of a model's input and output, which follow from the data set and from no key.
struct ModelWidths {
  std::int64_t features = 0, classes = 0;
};

/// Writes a checkpoint of the experiment `resolved`; the old file stays until the new one is
/// complete. `widths`: those of its model, if known.
///
/// Errors    Error (folder not writable, disk full)
void write_checkpoint(const std::filesystem::path& file, const Checkpoint& checkpoint,
                      const nlohmann::ordered_json& resolved,
                      const std::optional<ModelWidths>& widths = std::nullopt);

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
  std::optional<ModelWidths> widths{};
};

/// Reads a checkpoint file for a run that shares only the model with the one that left it: data
/// set, seed and training may differ.
///
/// Errors    DataError (truncated, damaged, of another version) · ConfigError (another model: the
///           first key that differs; local models)
ModelCheckpoint parse_checkpoint_of_model(const std::string& bytes, const std::string& origin,
                                          const nlohmann::ordered_json& resolved);

/// Reads a checkpoint file; `origin` names it in errors.
///
/// Errors    DataError (truncated, damaged, of another version) · ConfigError (another experiment:
///           the first key that differs)
Checkpoint parse_checkpoint(const std::string& bytes, const std::string& origin,
                            const nlohmann::ordered_json& resolved);

}  // namespace orrery
