// Values of an experiment file in C++, after the schema has checked them.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace orrery {

template <class Enum>
Enum pick(const nlohmann::ordered_json& value, const std::map<std::string, Enum>& names) {
  return names.at(value.get<std::string>());
}

template <class T>
std::optional<T> optional(const nlohmann::ordered_json& object, const char* key) {
  return object.contains(key) ? std::optional(object[key].get<T>()) : std::nullopt;
}

}  // namespace orrery
