// The cost of collectives beside the data that they move, over any communicator.
#pragma once

#include "core/runtime/execute/communicator.hpp"
#include "core/runtime/execute/rank_device.hpp"

namespace orrery::calibrate {

/// Times of the ranks of one communicator, as the slowest rank sees them.
struct CollectiveTimes {
  double small_exchange_seconds = 0;    ///< an all-to-all of 4 bytes: one round of messages
  double small_all_reduce_seconds = 0;  ///< of 4 bytes: two rounds of messages
  /// An all-to-all in which every rank receives this many bytes from each other rank, all at once.
  double exchange_seconds = 0, exchange_bytes = 0;
  /// A broadcast from rank 0 of the same bytes.
  double broadcast_seconds = 0;
  double all_reduce_seconds = 0, all_reduce_bytes = 0;  ///< of the operand
  /// The same of a sixteenth of the bytes: these make no prices; prices are tested against them.
  double part_exchange_seconds = 0, part_all_reduce_seconds = 0, part_bytes = 0;
};

/// All ranks call it alike, each with the device that holds its operands; `bytes` of the large
/// ones, which cycle over several buffers. Medians of repetitions; every rank has its own view of
/// them.
CollectiveTimes time_collectives(Communicator& communicator, RankDevice& device, int rank,
                                 int ranks, std::int64_t bytes, int repetitions);

}  // namespace orrery::calibrate
