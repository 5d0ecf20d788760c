#include "experiments/run/thin_timelines.hpp"

#include <algorithm>

namespace orrery {

std::vector<Timeline> thinned(std::vector<Timeline> all, int slowest, std::size_t most) {
  const auto size = [](const Timeline& t) { return t.spans.size() + t.memory.size(); };
  std::size_t room = most;
  for (const Timeline& t : all)
    if (t.rank == slowest) room -= std::min(room, size(t));
  bool full = false;
  std::erase_if(all, [&](const Timeline& t) {
    if (t.rank == slowest) return false;
    full = full || size(t) > room;
    if (!full) room -= size(t);
    return full;
  });
  return all;
}

}  // namespace orrery
