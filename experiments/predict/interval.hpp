// How far a simulated epoch may be off: its interval, and what that says of two epochs.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/runtime/epoch_parts.hpp"
#include "experiments/config/experiment.hpp"
#include "sim/price/price_errors.hpp"

namespace orrery {

/// The share of real epochs whose time an interval is meant to hold.
inline constexpr double kIntervalShare = 0.9;

/// Relative standard deviations of an epoch's seconds by what they come from: the prices of a kind
/// of operation ("spmm"), of all of them together ("operations"), of communication. The error of
/// one cause is the same in every epoch of a device.
using EpochErrors = std::map<std::string, double>;

/// What the profile of the experiment's devices says of its prices (load_price_errors).
///
/// Errors    ConfigError: no such profile
sim::PriceErrors price_errors(const Experiment& experiment);

/// The errors of an epoch with these parts: each part's share of it times the error of its price. A
/// kind whose error is not known has the mean of those that are; waiting is for operations of other
/// ranks. Messages between servers are off as all operations are, for a library of
/// PriceErrors::moved_by_cores. Nothing where the errors are not known.
///
/// Departs   first order: communication that computation hides, and would not if it took longer,
///           has no part in it; rates of links are those of the cluster file
std::optional<EpochErrors> epoch_errors(const sim::PriceErrors& prices, const std::string& library,
                                        const Breakdown& epoch);

/// Half of the interval, relative, of independent and normal errors: seconds / exp(h) to seconds ·
/// exp(h).
double half_width(const EpochErrors& errors);

/// The same for the ratio of two epochs; errors that both have cancel out.
double half_width_of_ratio(const EpochErrors& a, const EpochErrors& b);

/// Two epochs that differ by less are as fast as each other: nobody minds which one it is.
inline constexpr double kMargin = 0.05;

/// What the interval of their ratio says of two epochs.
enum class Verdict : std::uint8_t {
  apart,       ///< it leaves 1 out: one is faster
  as_fast,     ///< it lies within kMargin of 1, on whichever side of it
  cannot_tell  ///< it holds 1, and reaches beyond the margin
};

/// Nothing where the errors of one are not known.
std::optional<Verdict> compare_epochs(double a_seconds, const std::optional<EpochErrors>& a,
                                      double b_seconds, const std::optional<EpochErrors>& b);

/// "apart", "as_fast", "cannot_tell" as JSON; null for nothing.
nlohmann::ordered_json verdict_json(const std::optional<Verdict>& verdict);

/// What to say before a difference: "as fast: ", "cannot tell: ", or nothing.
std::string verdict_words(const std::optional<Verdict>& verdict);

/// result.json's "interval": "share", "half_width" (relative), "low_seconds" and "high_seconds" of
/// the epoch, "measured" (PriceErrors), "causes"; null where errors are not known.
nlohmann::ordered_json interval_json(double epoch_seconds, const std::optional<EpochErrors>& errors,
                                     bool measured);

/// What "±" says, for errors that a calibration measured, or that a profile assumes.
std::string interval_words(bool measured);

/// The causes in such an "interval" of a result.json.
std::optional<EpochErrors> errors_from(const nlohmann::ordered_json& interval);

/// "18.3 ms ± 6 %", or without the second half.
std::string with_interval(double seconds, const std::optional<EpochErrors>& errors);

}  // namespace orrery
