// The cost of collectives beside the data that they move, over any communicator.
#pragma once

#include <cstdint>
#include <vector>

#include "core/runtime/execute/communicator.hpp"
#include "core/runtime/execute/rank_device.hpp"

namespace orrery::calibrate {

/// Times of the ranks of one communicator, as the slowest rank sees them.
struct CollectiveTimes {
  double small_exchange_seconds = 0;    ///< an all-to-all of 4 bytes: one round of messages
  double small_all_reduce_seconds = 0;  ///< of 4 bytes: two rounds of messages
  double broadcast_seconds = 0;         ///< from rank 0, of the bytes of the largest
  /// An all-to-all with so many bytes from each rank to each other, all at once, and an all-reduce of
  /// an operand of so many.
  struct Sized {
    double bytes = 0, exchange_seconds = 0, all_reduce_seconds = 0;
  };
  std::vector<Sized> sizes = {};     ///< from which prices come, the largest last
  std::vector<Sized> left_out = {};  ///< between these sizes: prices are tested against them
};

/// The larger, or the smaller, of each two times of the same collectives.
CollectiveTimes slower(const CollectiveTimes& a, const CollectiveTimes& b);
CollectiveTimes faster(const CollectiveTimes& a, const CollectiveTimes& b);

/// What a rank writes before a call, as kernels do between two collectives that receive into the same
/// memory: an epoch of a small training touches so much, which is more than the caches of a core hold.
/// time_collectives() takes it beside its operands.
inline constexpr std::int64_t kBetweenBytes = std::int64_t{16} << 20;

/// All ranks call it alike, each with the device that holds its operands; `bytes` of the largest.
/// They cycle over several buffers. The smallest of the medians of rounds; every rank has its own
/// view of them. Without `by_size`, `sizes` and `left_out` stay empty.
CollectiveTimes time_collectives(Communicator& communicator, RankDevice& device, int rank,
                                 int ranks, std::int64_t bytes, int repetitions,
                                 bool by_size = true);

}  // namespace orrery::calibrate
