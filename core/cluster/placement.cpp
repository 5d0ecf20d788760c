#include "core/cluster/placement.hpp"

#include <map>

#include "core/base/index.hpp"

namespace orrery {

Placement::Placement(const std::vector<int>& server_of) {
  servers_ = 0;
  std::map<int, int> number;  // by label
  std::vector<int> ranks_on;  // by number
  for (const int label : server_of) {
    const auto [at, is_new] = number.try_emplace(label, servers_);
    if (is_new) {
      ++servers_;
      ranks_on.push_back(0);
    }
    server_of_.push_back(at->second);
    place_of_.push_back(ranks_on[orrery::at(at->second)]++);
  }
}

Placement Placement::uniform(int servers, int ranks_per_server) {
  std::vector<int> labels;
  for (int r = 0; r < servers * ranks_per_server; ++r) labels.push_back(r / ranks_per_server);
  return Placement(labels);
}

bool Placement::crosses_servers(const Group& group) const {
  for (int i = 1; i < group.size; ++i)
    if (!same_server(group.rank_of(0), group.rank_of(i))) return true;
  return false;
}

}  // namespace orrery
