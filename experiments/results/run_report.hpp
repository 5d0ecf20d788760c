// What a run says about itself: as JSON for machines, as tables for people.
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
  nlohmann::ordered_json result;  ///< as result.json holds it
  /// Why a file of the run could not be written (a full disk), where that is so: the run itself is
  /// not lost with it.
  std::string not_written = {};
};

/// A line of epochs.jsonl.
nlohmann::ordered_json epoch_json(const EpochReport& report, double seconds);

/// result.json, but for its "out_dir".
nlohmann::ordered_json result_json(const Experiment& experiment, const DataFacts& data,
                                   const Placement& placement, const Outcome& outcome,
                                   const Measurement& measured);

/// Checks that a result from a file holds what measurement_of() and the tables take from it: the
/// keys, their types, and lists that are not empty. `under` begins its keys: "result/" where it is
/// part of a line.
///
/// Errors    DataError naming file, key, what was expected and what was found
void require_result(const JsonReader& file, const std::string& under);

/// What ended the training of a result that diverged: its epoch, layer and largest gradient; empty of
/// any other result.
std::string divergence_line(const nlohmann::ordered_json& result);

/// What a result.json says of time, bytes and memory: its inverse as far as the tables need it.
Measurement measurement_of(const nlohmann::ordered_json& result);

/// A combination that needs more memory than a device has: its result has no times, but
/// "out_of_memory".
FinishedRun does_not_fit(const Experiment& experiment, const DataFacts& data,
                         const OutOfMemory& error);

/// What of all combinations was not run, and which error was the reason; without one a signal was.
struct Unfinished {
  std::size_t missing = 0;
  std::string failure = {};
};

/// A sweep as one object (sweep.json): the first combination's result, whose label names it, with
/// all of them under "sweep" and the mean and deviation of the test accuracies; "missing"
/// combinations were not run, because of "failure" (null: a signal).
nlohmann::ordered_json sweep_json(const std::vector<FinishedRun>& runs, const std::string& folder,
                                  const Unfinished& unfinished);

/// Heading and text of a run's first column: the swept value alone where one key is swept, else the
/// whole label, else the strategy.
std::pair<std::string, std::string> row_name(const FinishedRun& run);

/// The tables with their legend, as wide as the terminal, and where the results are in `folder`. What
/// was interrupted or not run stands above all numbers, and beside those of a run that was
/// interrupted.
void print_report(const std::vector<FinishedRun>& runs, const std::string& folder,
                  const Unfinished& unfinished, std::FILE* to);

}  // namespace orrery
