// Continuing a run that was stopped or killed: its checkpoint and its earlier reports.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/runtime/body.hpp"
#include "experiments/results/results.hpp"

namespace orrery {

/// What a result folder holds of an earlier start of the run.
struct Earlier {
  std::string checkpoint;           ///< the file's bytes; empty if there is none
  std::vector<EpochReport> epochs;  ///< epochs that the checkpoint has seen
  std::vector<double> seconds;      ///< of each
};

/// Reads them, and removes the lines of epochs.jsonl after the checkpoint, which will be written
/// again. `fingerprint`: of the data at hand; empty: not known.
///
/// Errors    DataError · ConfigError (a checkpoint of another experiment, or of other data)
Earlier take_up(const ResultFolder& folder, const nlohmann::ordered_json& resolved,
                const std::string& fingerprint = "");

/// Whether the folder holds the result of this experiment with all its epochs.
///
/// Errors    DataError: a result or settings that no run wrote · ConfigError: the result of
///           another experiment, one with more epochs, or one that is complete with fewer and left
///           no checkpoint to go on from · Error: training diverged there
bool is_complete(const std::filesystem::path& folder, const nlohmann::ordered_json& resolved);

}  // namespace orrery
