// Reduce-scatter and all-gather around one ring, with a block of the data for each member.
#pragma once

#include <functional>

#include "sim/collectives/message_list.hpp"
#include "sim/collectives/rings.hpp"

namespace orrery::sim {

/// Rounds around a ring. In each round every member sends one block to the next member, after its
/// block of the round before.
class RingRounds {
 public:
  /// The block of a member: all of it ends there (reduce_scatter) or comes from there.
  struct Block {
    double bytes = 0;
    Pieces pieces;
  };
  RingRounds(MessageList& list, const Ring& ring, const std::function<Block(int member)>& block_of);

  void reduce_scatter() { rounds(-1, Arrival::adds); }
  void all_gather() { rounds(0, Arrival::replaces); }

 private:
  /// In round k = 0, 1, ... place x sends the block of place x − k + shift.
  void rounds(int shift, Arrival arrival);

  MessageList& list_;
  const Ring& ring_;
  std::vector<Block> blocks_;   // by place in the ring
  std::vector<int> last_sent_;  // by place
};

}  // namespace orrery::sim
