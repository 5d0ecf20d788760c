// The report of a run: JSON for programs, tables for readers.
#pragma once

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/json_reader.hpp"
#include "core/strategy/train/train.hpp"
#include "experiments/config/experiment.hpp"
#include "experiments/execute/execute.hpp"
#include "experiments/execute/measure.hpp"

namespace orrery {

/// One finished combination.
struct FinishedRun {
  Experiment experiment;
  Measurement measured;
  nlohmann::ordered_json result;  ///< the content of result.json
  /// Why a file of the run could not be written (a full disk), if so; the run itself is not lost.
  std::string not_written = {};
};

/// A line of epochs.jsonl.
nlohmann::ordered_json epoch_json(const EpochReport& report, double seconds);

/// result.json, without its "out_dir".
nlohmann::ordered_json result_json(const Experiment& experiment, const DataFacts& data,
                                   const Placement& placement, const Outcome& outcome,
                                   const Measurement& measured);

/// Checks that a result from a file holds what measurement_of() and the tables need: the keys,
/// their types, and lists that are not empty. `under` is the prefix of its keys: "result/" if it is
/// part of a line.
///
/// Errors    DataError naming file, key, what was expected and what was found
void require_result(const JsonReader& file, const std::string& under);

/// What ended the training of a diverged result: its epoch, layer and largest gradient; empty for
/// any other result.
std::string divergence_line(const nlohmann::ordered_json& result);

/// Time, bytes and memory from a result.json: the inverse, as far as the tables need it.
Measurement measurement_of(const nlohmann::ordered_json& result);

/// A combination that needs more memory than a device has: its result has no times, but
/// "out_of_memory".
FinishedRun does_not_fit(const Experiment& experiment, const DataFacts& data,
                         const OutOfMemory& error);

/// Which combinations were not run, and the error that caused it; without an error it was a signal.
struct Unfinished {
  std::size_t missing = 0;
  std::string failure = {};
};

/// A sweep as one object (sweep.json): the first combination's result, whose label names it, with
/// all results under "sweep" and the mean and deviation of the test accuracies. "missing"
/// combinations were not run, because of "failure" (null: a signal).
nlohmann::ordered_json sweep_json(const std::vector<FinishedRun>& runs, const std::string& folder,
                                  const Unfinished& unfinished);

/// Heading and text of a run's first column: the swept value if one key is swept, else the whole
/// label, else the strategy.
std::pair<std::string, std::string> row_name(const FinishedRun& run);

/// The tables with their legend, as wide as the terminal, and where the results are in `folder`.
/// Runs that were interrupted or not started are named above all numbers, and beside those of an
/// interrupted run.
void print_report(const std::vector<FinishedRun>& runs, const std::string& folder,
                  const Unfinished& unfinished, std::FILE* to);

}  // namespace orrery
