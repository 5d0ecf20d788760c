#include <algorithm>
#include <stdexcept>

#include "tests/fuzz/target.hpp"

namespace orrery::fuzz {

const std::vector<Target>& targets() {
  static const std::vector<Target> all = [] {
    std::vector<Target> list;
    for (const auto& kind : {graph_targets(), parts_targets(), inference_targets(), kept_targets(),
                             config_targets(), message_targets()})
      list.insert(list.end(), kind.begin(), kind.end());
    return list;
  }();
  return all;
}

const Target& target(const std::string& name) {
  const auto found = std::ranges::find(targets(), name, &Target::name);
  if (found != targets().end()) return *found;
  std::string known;
  for (const Target& t : targets()) known += " " + t.name;
  throw std::runtime_error("no target '" + name + "'; there are:" + known);
}

}  // namespace orrery::fuzz
