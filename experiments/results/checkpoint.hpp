// Checkpoints on disk: written beside the old one and renamed, checksummed, refused where the
// experiment is another.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "core/base/json_reader.hpp"
#include "core/runtime/body.hpp"

namespace orrery {

/// Writes a checkpoint of the experiment `resolved`; the old file stays whole until the new one is.
/// Errors    Error (folder not writable, disk full)
void write_checkpoint(const std::filesystem::path& file, const Checkpoint& checkpoint,
                      const nlohmann::ordered_json& resolved);

/// Whether a run of one experiment may go on as another: strategy, partition, cluster and number of
/// epochs may differ, whatever the learned weights depend on may not (see LearnsFrom).
///
/// Errors    ConfigError naming the first key that differs; `origin` holds what was kept. DataError:
///           what was kept is no experiment
void require_same_experiment(const JsonReader& kept, const nlohmann::ordered_json& now,
                             const std::string& origin);

/// Reads the contents of a checkpoint file for a run that has only the model in common with the one
/// that left it: another data set, seed and training.
///
/// Errors    DataError (truncated, damaged, of another version) · ConfigError (another model: the
///           first key that differs; local models)
Checkpoint parse_checkpoint_of_model(const std::string& bytes, const std::string& origin,
                                     const nlohmann::ordered_json& resolved);

/// Reads the contents of a checkpoint file; `origin` names it in errors.
///
/// Errors    DataError (truncated, damaged, of another version) · ConfigError (another experiment:
///           the first key that differs)
Checkpoint parse_checkpoint(const std::string& bytes, const std::string& origin,
                            const nlohmann::ordered_json& resolved);

}  // namespace orrery
