// The algorithms of collectives by name.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/base/index.hpp"
#include "sim/collectives/layout.hpp"

namespace orrery::sim {

/// Size of the chunks that pipelined chains pass on: NCCL's buffer of 4 MiB in 8 steps, and the
/// chunk of our MPI communicator.
inline constexpr double kChunkBytes = 512.0 * 1024;
/// Size of the pieces that our MPI communicator adds up.
inline constexpr double kSumPieceBytes = 256.0 * 1024;
/// Up to this many ranks all messages of a pairwise exchange are under way at once; beyond, this
/// many per rank. Both are assumptions, also for the simulator's speed.
inline constexpr int kAllAtOnceRanks = 32, kWindowBeyond = 2;
/// Beyond this many ranks, groups on several servers use algorithms with few messages; and the most
/// messages that a hierarchical broadcast may then have, unless one channel alone has more. With it
/// 1,024 ranks take one channel. An assumption for the simulator's speed;
/// CollectiveOptions::channels takes precedence.
inline constexpr int kManyRanks = 64, kMessagesOfMany = 1023;

/// One collective to expand, over at least two ranks.
struct Task {
  const CollectiveShape& shape;
  const Layout& layout;
  const CollectiveOptions& options;

  double chunk(double of_the_library) const {
    return options.chunk_bytes > 0 ? options.chunk_bytes : of_the_library;
  }
  bool many() const { return shape.ranks > kManyRanks && layout.server_count() > 1; }
  /// Entry i of `parts`; `bytes` if there are none.
  double part(int i) const { return shape.parts ? (*shape.parts)[at(i)] : shape.bytes; }
  /// Bytes of each rank's slice of a reduce_scatter or all_gather.
  std::vector<double> slices() const;
};

struct Algorithm {
  std::string_view name;
  CollectiveKind kind;
  Expansion (*expand)(const Task& task);
};
std::span<const Algorithm> algorithms();
/// Null if the kind has no algorithm of that name.
const Algorithm* find_algorithm(std::string_view name, CollectiveKind kind);

/// ", 6 channels"; empty for one.
std::string channels_text(std::size_t channels);
/// ", chunks of 512 KiB"; empty if no message has more than one.
std::string chunks_text(double chunk_bytes, double message_bytes);

// algorithms_trees.cpp: along one tree for each channel.
Expansion flat(const Task& task);  ///< broadcast, reduce
Expansion binomial(const Task& task);
Expansion pipelined_chain(const Task& task);  ///< in group order from the root
Expansion pipelined_ring(const Task& task);   ///< along each channel's ring from the root
Expansion by_servers(const Task& task);       ///< between servers a chain or a tree, by latency
/// NCCL's ring in fewer messages: from server to server, and inside each beside that.
///
/// Source    NCCL src/graph/tuning.cc: broadcasts and reductions have no algorithm but the ring
/// Departs   a server passes on what it receives before all of its ranks have it
Expansion ring_by_servers(const Task& task);
Expansion double_tree(const Task& task);  ///< all_reduce

// algorithms_rings.cpp: p − 1 rounds for each of reduce-scatter and all-gather.
Expansion ring_all_gather(const Task& task);
Expansion ring_reduce_scatter(const Task& task);
Expansion ring_all_reduce(const Task& task);

// algorithms_servers.cpp: inside servers by rings; between servers, the ranks with the same place
// in their servers.
Expansion servers_all_gather(const Task& task);
Expansion servers_reduce_scatter(const Task& task);
Expansion servers_all_reduce(const Task& task);

// algorithms_pairs.cpp: each rank with each other directly.
Expansion direct(const Task& task);
Expansion pairwise_all_to_all(const Task& task);
Expansion pairwise_all_gather(const Task& task);
Expansion pairwise_reduce_scatter(const Task& task);
Expansion flat_all_reduce(const Task& task);
Expansion slices_all_reduce(const Task& task);

}  // namespace orrery::sim
