#include "experiments/config/sweep/key_path.hpp"

#include <algorithm>
#include <cstddef>

#include "core/base/error.hpp"

namespace orrery {

using Json = nlohmann::ordered_json;

constexpr std::ptrdiff_t kDeepestKey = 20;  // dots in a key's path; far above those of the schema

void set_path(Json& root, const std::string& path, const Json& value) {
  Json* at = &root;
  std::size_t begin = 0;
  if (path.rfind("sweep.", 0) == 0) {
    at = &root["sweep"];
    if (at->is_object() || at->is_null()) (*at)[path.substr(6)] = value;
    return;
  }
  if (std::count(path.begin(), path.end(), '.') > kDeepestKey)
    throw ConfigError(path, "is no key path such as strategy.type");
  for (;;) {
    const std::size_t dot = path.find('.', begin);
    const std::string key = path.substr(begin, dot - begin);
    if (key.empty() || !(at->is_object() || at->is_null()))
      throw ConfigError(path, "is no key path such as strategy.type");
    at = &(*at)[key];
    if (dot == std::string::npos) break;
    begin = dot + 1;
  }
  *at = value;
}

bool keys_meet(const std::string& a, const std::string& b) {
  return a == b || a.rfind(b + ".", 0) == 0 || b.rfind(a + ".", 0) == 0;
}

}  // namespace orrery
