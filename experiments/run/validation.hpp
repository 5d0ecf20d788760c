// The report of a validation: real, simulated and modelled times of the same experiments, and their
// differences.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/predict/interval.hpp"

namespace orrery {

/// Seconds of an epoch by class; they add up to it.
struct ClassSeconds {
  double spmm = 0, gemm = 0, other_compute = 0;
  double communication = 0;  ///< exposed communication, including that of gradients
  double other = 0;          ///< hosts, hand-overs, waiting for cores
};

/// From a result.json.
ClassSeconds class_seconds(const nlohmann::ordered_json& result);

/// A stage of an inference that both sides have.
struct StageSeconds {
  std::string name;
  double real = 0, simulated = 0;
  /// Nothing if the real one took no time.
  std::optional<double> error() const {
    return real > 0 ? std::optional(simulated / real - 1) : std::nullopt;
  }
};

/// The layers and the writing of the rows, in two results of orrery infer: what a simulation has
/// without files.
///
/// Errors    Error: the real one lacks a stage of the simulated one
std::vector<StageSeconds> stages_of(const nlohmann::ordered_json& real,
                                    const nlohmann::ordered_json& simulated);

/// Repeats agree if the longest takes at most this share longer than the shortest.
constexpr double kAgreement = 0.05;
/// A validation says something if the repeats of at least this share of its rows agree.
constexpr double kEnoughAgree = 0.8;

/// An epoch of a training, or (if it has stages) an inference.
struct ValidationRow {
  std::string file, label, backend;
  int ranks = 1;
  bool oversubscribed = false;       ///< more ranks than cores
  bool used_by_calibration = false;  ///< a number of the profile was fitted to it
  /// Other programs: the load average when the real run began, cores that they kept busy during it,
  /// and whether that is enough to make its times too long.
  double load_before = 0;
  std::optional<double> other_work_cores;
  bool disturbed = false;
  double real_seconds = 0, simulated_seconds = 0;
  std::vector<double> repeats;  ///< seconds of each real run, in their order; the median counts
  std::optional<double> model_seconds;  ///< nothing if no equations apply
  ClassSeconds real, simulated;         ///< zero for an inference
  std::vector<StageSeconds> stages;     ///< of an inference; they add up to its seconds
  std::optional<EpochErrors> errors;    ///< of the simulated epoch; nothing: it has no interval

  /// Signed and relative: positive if the simulation is slower.
  double error() const { return simulated_seconds / real_seconds - 1; }
  std::optional<double> model_error() const {
    return model_seconds ? std::optional(*model_seconds / real_seconds - 1) : std::nullopt;
  }
  /// Σ |simulated - real| over the classes of a training, relative to its real epoch: large where an epoch is
  /// right because its classes cancel. Nothing for an inference.
  std::optional<double> classes_off() const;
  /// How far the longest repeat is above the shortest, relative to it. Nothing for a single run.
  std::optional<double> spread() const;
  /// Whether the repeats agree well enough (kAgreement) for an error of the simulation to mean something.
  bool agrees() const { return spread() && *spread() <= kAgreement; }
  /// Whether the real epoch lies in the interval of the simulated one.
  bool covered() const;
  std::string setting() const;
};

/// Spearman's coefficient; equal values share the mean of their ranks. Nothing for fewer than two
/// pairs, or if all values of one side are equal.
std::optional<double> rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

/// Rows of one file that differ only in their strategy, in order of appearance.
std::vector<std::vector<ValidationRow>> strategy_groups(const std::vector<ValidationRow>& rows);

/// validate.json: "rows", each with "classes", or "stages" of an inference; "mean_abs_error" and "max_abs_error" of all rows and, under "by_class",
/// of those with enough cores, of oversubscribed ones, of those that calibration did not see, and of those
/// whose repeats agree;
/// "speedups" of strategies over the first of their group, real and simulated;
/// "rank_correlation" between strategies (mean over groups) and "winner": in how many groups the
/// simulated winner is the real one, in how many it cannot be told from another strategy, and in how
/// many others it is as fast as another. "repeats": of how many rows they agree, and whether these are enough;
/// null if nothing was repeated. "intervals": of how many rows they hold the real epoch, and
/// the median of their half widths, of all rows, of those with enough cores, and of those that
/// calibration did not see. Null where there is nothing to say.
nlohmann::ordered_json validation_json(const std::vector<ValidationRow>& rows);

/// The same as tables, for lines of at most `width` characters if that is not 0.
std::string validation_text(const std::vector<ValidationRow>& rows, int width = 0);

}  // namespace orrery
