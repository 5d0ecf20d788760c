#include "experiments/config/sweep/combinations.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <set>

#include "core/base/error.hpp"
#include "core/terminal/plain_text.hpp"
#include "experiments/config/sweep/key_path.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxCombinations = 10000;
constexpr const char* kLabel = "label";

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

/// The name of a case: its label, else what it sets.
std::string name_of(const Json& one) {
  if (one.contains(kLabel)) return one[kLabel].get<std::string>();
  std::string name;
  for (const auto& [path, value] : one.items())
    name += (name.empty() ? "" : " ") + path + "=" + text_of(value);
  return name;
}

void check_cases(const Json& cases) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::string key = fmt::format("sweep.{}[{}]", kCases, i);
    const Json& one = cases[i];
    if (!one.is_object() || one.size() <= (one.contains(kLabel) ? 1U : 0U))
      throw ConfigError(key, fmt::format("found {}, expected an object of key paths and values, "
                                         "such as {{\"label\": \"DistGNN\", \"strategy.type\": "
                                         "\"vertex_cut\", \"partition.method\": \"dbh\"}}",
                                         one.dump()));
    for (const auto& [path, value] : one.items())
      if (keys_meet(path, "sweep"))
        throw ConfigError(key + "." + path, "a case cannot have a sweep");
    for (const auto& [path, value] : one.items())
      for (const auto& [other, unused] : one.items())
        if (path != other && path != kLabel && other != kLabel && keys_meet(path, other))
          throw ConfigError(key + "." + path, "undoes, or is undone by, " + other);
    const Json label = one.value(kLabel, Json("none"));
    if (!label.is_string() || label == "" ||
        label.get<std::string>().find('=') != std::string::npos ||
        has_control_characters(label.get<std::string>()))
      throw ConfigError(
          key + ".label",
          fmt::format("found {}, expected a line of text without \"=\"", label.dump()));
    if (!names.insert(name_of(one)).second)
      throw ConfigError(key, fmt::format("a second case {}", name_of(one)));
  }
}

void check_sweep(const Json& sweep) {
  if (!sweep.is_object())
    throw ConfigError(
        "sweep", fmt::format("found {}, expected key paths with lists of values", sweep.dump()));
  std::size_t combinations = 1;
  for (const auto& [path, values] : sweep.items()) {
    if (path == "sweep") throw ConfigError("sweep.sweep", "a sweep cannot be swept");
    if (!values.is_array() || values.empty())
      throw ConfigError("sweep." + path,
                        fmt::format("found {}, expected a list of values", values.dump()));
    std::set<std::string> seen;
    for (const Json& value : values)
      if (!seen.insert(value.dump()).second)
        throw ConfigError("sweep." + path, fmt::format("holds {} twice", value.dump()));
    combinations *= values.size();
    if (combinations > kMaxCombinations)
      throw ConfigError("sweep", fmt::format("more than {} combinations", kMaxCombinations));
  }
  if (!sweep.contains(kCases)) return;
  check_cases(sweep[kCases]);
  for (const auto& [path, values] : sweep.items())
    for (const Json& one : sweep[kCases])
      for (const auto& [key, value] : one.items())
        if (path != kCases && key != kLabel && keys_meet(path, key))
          throw ConfigError("sweep." + path,
                            fmt::format("a case sets {}, so it cannot be swept beside", key));
}

}  // namespace

std::vector<std::string> swept_keys(const Json& sweep) {
  std::vector<std::string> keys;
  for (const auto& [path, values] : sweep.items()) {
    if (path != kCases) keys.push_back(path);
    if (path != kCases || !values.is_array()) continue;
    for (const Json& one : values)
      for (const auto& [key, value] : one.items())
        if (key != kLabel && std::find(keys.begin(), keys.end(), key) == keys.end())
          keys.push_back(key);
  }
  return keys;
}

bool swept_by_case(const Json& sweep, const std::string& key) {
  const Json cases = sweep.value(kCases, Json::array());
  return std::any_of(cases.begin(), cases.end(),
                     [&](const Json& one) { return one.is_object() && one.contains(key); });
}

std::vector<Combination> combinations(const Json& base, const Json& sweep) {
  check_sweep(sweep);
  std::vector<Combination> list{{"", Json::object(), base}};
  for (const auto& [path, values] : sweep.items()) {
    std::vector<Combination> longer;
    for (const Combination& shorter : list)
      for (const Json& value : values) {
        Combination next = shorter;
        const bool is_case = path == kCases;
        if (is_case) {
          for (const auto& [key, set] : value.items())
            if (key != kLabel) set_path(next.file, key, set);
        } else {
          set_path(next.file, path, value);
        }
        const std::string key = is_case ? "case" : path;
        next.settings[key] = is_case ? Json(name_of(value)) : value;
        next.label += (next.label.empty() ? "" : ", ") + key + "=" + text_of(next.settings[key]);
        longer.push_back(std::move(next));
      }
    list = std::move(longer);
  }
  return list;
}

}  // namespace orrery
