// Paths of keys such as "strategy.type".
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace orrery {

/// Sets "a.b.c" in nested objects. Below "sweep" the rest of the path is one key.
///
/// Errors    ConfigError: not the path of a key
void set_path(nlohmann::ordered_json& root, const std::string& path,
              const nlohmann::ordered_json& value);

/// Whether one of two paths is the other or lies below it, so that setting one undoes the other.
bool keys_meet(const std::string& a, const std::string& b);

}  // namespace orrery
