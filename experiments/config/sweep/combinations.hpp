// The combinations of a sweep: every value of each key with every one of the others. A case sets
// several keys at once, so that settings that only make sense together are one value.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace orrery {

/// The key of a sweep whose values are cases: {"label": text, "key.path": value, ...}.
inline constexpr const char* kCases = "cases";

struct Combination {
  std::string label;                ///< "strategy.type=spmm_1d, seed=3"; of a case its own label
  nlohmann::ordered_json settings;  ///< the swept keys with their values; of a case "case": label
  nlohmann::ordered_json file;      ///< without "sweep" and with the values in place
};

/// The combinations of the sweep of a file `base`, which has no sweep itself; the last key varies
/// fastest.
///
/// Errors    ConfigError: no lists of values; a value or a key twice; too many combinations
std::vector<Combination> combinations(const nlohmann::ordered_json& base,
                                      const nlohmann::ordered_json& sweep);

/// The paths of all keys that a sweep sets, those of its cases among them.
std::vector<std::string> swept_keys(const nlohmann::ordered_json& sweep);

/// Whether one of its cases sets this key.
bool swept_by_case(const nlohmann::ordered_json& sweep, const std::string& key);

}  // namespace orrery
