#include "experiments/predict/interval.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/base/index.hpp"
#include "core/base/units.hpp"
#include "experiments/config/profile_file.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

/// The normal distribution: its middle nine tenths lie within kDeviations standard deviations, and
/// its standard deviation is kOfMeanError times its mean absolute deviation.
constexpr double kDeviations = 1.6449, kOfMeanError = 1.2533;

double mean(const std::map<std::string, double>& values) {
  double sum = 0;
  for (const auto& [name, value] : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

double value_or(const std::map<std::string, double>& values, const std::string& name,
                double other) {
  const auto found = values.find(name);
  return found == values.end() ? other : found->second;
}

}  // namespace

sim::PriceErrors price_errors(const Experiment& experiment) {
  const std::string& named = experiment.simulation.profile;
  return load_price_errors(
      named.empty() ? experiment.cluster->devices[at(experiment.devices.front())].profile : named);
}

std::optional<EpochErrors> epoch_errors(const sim::PriceErrors& prices, const std::string& library,
                                        const Breakdown& epoch) {
  const double seconds = epoch.total();
  if (!prices.known() || !(seconds > 0)) return std::nullopt;
  const double usual = mean(prices.by_kind);
  double communication = 0;
  for (const EpochPart& part : kEpochParts)
    if (part.in_sum && part.communication) communication += epoch.*part.seconds;
  if (prices.moved_by_cores.contains(library)) communication -= epoch.external;
  EpochErrors errors;
  for (const auto& [kind, busy] : epoch.compute_by_kind)
    errors[kind] = kOfMeanError * value_or(prices.by_kind, kind, usual) * busy / seconds;
  errors["operations"] = kOfMeanError * prices.operations * (seconds - communication) / seconds;
  errors["communication"] =
      kOfMeanError *
      value_or(prices.communication, library,
               prices.communication.empty() ? usual : mean(prices.communication)) *
      communication / seconds;
  return errors;
}

double half_width(const EpochErrors& errors) { return half_width_of_ratio(errors, {}); }

double half_width_of_ratio(const EpochErrors& a, const EpochErrors& b) {
  std::set<std::string> causes;
  for (const EpochErrors* errors : {&a, &b})
    for (const auto& [cause, error] : *errors) causes.insert(cause);
  double squares = 0;
  for (const std::string& cause : causes) {
    const double difference = value_or(a, cause, 0) - value_or(b, cause, 0);
    squares += difference * difference;
  }
  return kDeviations * std::sqrt(squares);
}

std::optional<Verdict> compare_epochs(double a_seconds, const std::optional<EpochErrors>& a,
                                      double b_seconds, const std::optional<EpochErrors>& b) {
  if (!a || !b) return std::nullopt;
  const double difference = std::abs(std::log(a_seconds / b_seconds));
  const double half = half_width_of_ratio(*a, *b);
  if (difference + half <= std::log1p(kMargin)) return Verdict::as_fast;
  return difference > half ? Verdict::apart : Verdict::cannot_tell;
}

Json verdict_json(const std::optional<Verdict>& verdict) {
  if (!verdict) return nullptr;
  return *verdict == Verdict::apart     ? "apart"
         : *verdict == Verdict::as_fast ? "as_fast"
                                        : "cannot_tell";
}

std::string verdict_words(const std::optional<Verdict>& verdict) {
  if (verdict == Verdict::as_fast) return "as fast: ";
  return verdict == Verdict::cannot_tell ? "cannot tell: " : "";
}

Json interval_json(double epoch_seconds, const std::optional<EpochErrors>& errors, bool measured) {
  if (!errors) return nullptr;
  const double half = half_width(*errors);
  Json causes = Json::object();
  for (const auto& [cause, error] : *errors) causes[cause] = error;
  return {{"share", kIntervalShare},
          {"half_width", half},
          {"low_seconds", epoch_seconds * std::exp(-half)},
          {"high_seconds", epoch_seconds * std::exp(half)},
          {"measured", measured},
          {"causes", causes}};
}

std::string interval_words(bool measured) {
  return measured ? fmt::format("±: {:.0f} % of real epochs are meant to lie within",
                                100 * kIntervalShare)
                  : "±: what the device profile is assumed to be off by; nobody measured it";
}

std::optional<EpochErrors> errors_from(const Json& interval) {
  if (!interval.is_object()) return std::nullopt;
  return interval["causes"].get<EpochErrors>();
}

std::string with_interval(double seconds, const std::optional<EpochErrors>& errors) {
  if (!errors) return human_seconds(seconds);
  return fmt::format("{} ± {:.0f} %", human_seconds(seconds), 100 * half_width(*errors));
}

}  // namespace orrery
