// How far a simulated epoch may be off: its interval, and whether two epochs can be told apart.
#pragma once

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
/// ranks. Nothing where the errors are not known.
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

/// Whether the interval of the ratio leaves 1 out, and the two differ by more than repeats of one
/// epoch do (1 %); never where the errors of one are not known.
bool can_tell(double a_seconds, const std::optional<EpochErrors>& a, double b_seconds,
              const std::optional<EpochErrors>& b);

/// result.json's "interval": "share", "half_width" (relative), "low_seconds" and "high_seconds" of
/// the epoch, "causes"; null where errors are not known.
nlohmann::ordered_json interval_json(double epoch_seconds,
                                     const std::optional<EpochErrors>& errors);

/// The causes in such an "interval" of a result.json.
std::optional<EpochErrors> errors_from(const nlohmann::ordered_json& interval);

/// "18.3 ms ± 6 %", or without the second half.
std::string with_interval(double seconds, const std::optional<EpochErrors>& errors);

}  // namespace orrery
