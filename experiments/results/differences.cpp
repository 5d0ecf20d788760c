#include "experiments/results/differences.hpp"

#include <algorithm>

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

/// "model.hidden" for the pointer "/model/hidden".
std::string path_of(const std::string& pointer) {
  if (pointer.empty()) return "experiment";
  std::string path = pointer.substr(1);
  std::ranges::replace(path, '/', '.');
  return path;
}

std::string shown(const Json& file, const std::string& pointer) {
  return file.contains(pointer) ? file[pointer].dump() : "absent";
}

}  // namespace

std::vector<Difference> differences(const Json& kept, const Json& now) {
  const Json a = kept.flatten(), b = now.flatten();
  std::vector<Difference> found;
  const auto compare = [&](const std::string& pointer) {
    Difference one{path_of(pointer), shown(a, pointer), shown(b, pointer)};
    if (one.kept != one.now) found.push_back(std::move(one));
  };
  for (const auto& [pointer, value] : a.items()) compare(pointer);
  for (const auto& [pointer, value] : b.items())
    if (!a.contains(pointer)) compare(pointer);
  return found;
}

}  // namespace orrery
