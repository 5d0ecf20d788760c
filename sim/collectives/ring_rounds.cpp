#include "sim/collectives/ring_rounds.hpp"

#include "core/base/index.hpp"

namespace orrery::sim {

RingRounds::RingRounds(MessageList& list, const Ring& ring,
                       const std::function<Block(int member)>& block_of)
    : list_(list), ring_(ring), last_sent_(ring.size(), -1) {
  for (const int member : ring) blocks_.push_back(block_of(member));
}

void RingRounds::rounds(int shift, Arrival arrival) {
  const int p = static_cast<int>(ring_.size());
  for (int k = 0; k + 1 < p; ++k)
    for (int x = 0; x < p; ++x) {
      const auto at = static_cast<std::size_t>(x);
      const Block& block = blocks_[orrery::at((x - k + shift + 2 * p) % p)];
      const int to = ring_[orrery::at((x + 1) % p)];
      last_sent_[at] =
          list_.send(ring_[at], to, block.bytes, block.pieces, arrival, last_sent_[at]);
    }
}

}  // namespace orrery::sim
