// Collectives as messages between two ranks each.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::sim {

enum class CollectiveKind : std::uint8_t {
  send_recv,
  broadcast,
  reduce,
  all_reduce,
  reduce_scatter,
  all_gather,
  all_to_all
};
std::string_view name_of(CollectiveKind kind);

/// A collective as all its ranks together define it. Ranks are indices in the group.
///
/// send_recv is the messages of `parts`, as for an all_to_all; without parts, `bytes` from 0 to 1.
struct CollectiveShape {
  CollectiveKind kind = CollectiveKind::broadcast;
  int ranks = 1;
  int root = 0;      ///< broadcast, reduce
  double bytes = 0;  ///< broadcast, reduce, all_reduce: bytes of the operand
  /// reduce_scatter, all_gather: bytes of each rank's slice [ranks]. all_to_all: bytes from i to j
  /// [i · ranks + j]; null if all pairs send `bytes` (only statistics).
  std::shared_ptr<const std::vector<double>> parts;
};

/// One message. It may start when both ends have come to the collective, the messages it waits for
/// have arrived, and (if `streams` >= 0) the first chunk, of `chunk` bytes, of the message it
/// passes on has arrived. It does not end before the end of what it passes on, plus its own
/// latency.
struct Message {
  int from = 0, to = 0;
  double bytes = 0;
  int streams = -1;  ///< passes on this message (to the same rank as `from`) while it arrives
  double chunk = 0;
  double reduced = 0;                      ///< bytes that the receiver adds up after its arrival
  std::int32_t first_wait = 0, waits = 0;  ///< in Expansion::waits; messages may share them
  /// This many of its last waits are passed on while they arrive, like `streams`: a node of a tree
  /// adds up what two others send it. (Waiting for their arrival is safe, but slow.)
  std::int32_t streamed_waits = 0;
  /// Which pieces of the operand it carries: first, first + stride, ... modulo Expansion::pieces.
  std::int32_t first_piece = 0, pieces = 1, stride = 1;
};

/// A collective as messages. A message comes after those that it waits for or streams.
struct Expansion {
  /// Words for results: "ring, 6 channels, chunks of 512 KiB"; "none" for one rank.
  std::string algorithm;
  int pieces = 1;  ///< number of pieces of the operand
  std::vector<Message> messages;
  std::vector<std::int32_t> waits;
};

/// Where the ranks of a group are, in the form that algorithms need.
struct GroupPlaces {
  std::vector<int> device;  ///< of each index: number of the cluster's device
  std::vector<int> server;  ///< of each index: that of its device
};

/// Settings of a simulation that shape its messages; its result shows them. A forced algorithm is
/// one of algorithm_names(). It applies to the kinds of collectives that have it; the others are
/// still chosen.
struct CollectiveOptions {
  std::string algorithm = "auto";  ///< or a name, forced for every collective that has it
  /// messages of pairwise exchanges that a rank has under way; 0: as the ranks allow
  int window = 0;
  double chunk_bytes = 0;  ///< chunks of pipelined chains and rings; 0: the library's
  /// Channels of hierarchical broadcasts and reductions, at most the number of the servers'
  /// adapters or rings; 0: all, beyond 64 ranks as many as keep one within 1,023 messages (at least
  /// one).
  int channels = 0;
  bool operator==(const CollectiveOptions&) const = default;
};

}  // namespace orrery::sim
