#include <algorithm>

#include "core/base/index.hpp"
#include "sim/collectives/algorithms.hpp"
#include "sim/collectives/message_list.hpp"
#include "sim/collectives/ring_rounds.hpp"

namespace orrery::sim {
namespace {

enum class Phases { all_gather, reduce_scatter, both };

/// Every channel moves its share of every slice around its ring. Piece c·p + i: the share of
/// channel c in the slice of member i.
Expansion around(const Task& task, Phases phases, const std::vector<double>& slices) {
  const int p = task.shape.ranks, channels = task.layout.channel_count();
  MessageList list(p, p * channels);
  list.reserve((phases == Phases::both ? 2u : 1u) * static_cast<std::size_t>(channels) *
               static_cast<std::size_t>(p) * static_cast<std::size_t>(p - 1));
  for (int c = 0; c < channels; ++c) {
    RingRounds rounds(list, task.layout.channels[at(c)], [&](int member) {
      return RingRounds::Block{slices[at(member)] / channels, {c * p + member}};
    });
    if (phases != Phases::all_gather) rounds.reduce_scatter();
    if (phases != Phases::reduce_scatter) rounds.all_gather();
  }
  return list.take("ring" + channels_text(static_cast<std::size_t>(channels)));
}

}  // namespace

Expansion ring_all_gather(const Task& task) {
  return around(task, Phases::all_gather, task.slices());
}

Expansion ring_reduce_scatter(const Task& task) {
  return around(task, Phases::reduce_scatter, task.slices());
}

Expansion ring_all_reduce(const Task& task) {
  const auto p = static_cast<std::size_t>(task.shape.ranks);
  return around(task, Phases::both, std::vector(p, task.shape.bytes / static_cast<double>(p)));
}

}  // namespace orrery::sim
