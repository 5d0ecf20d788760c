// The times of all work on one rank, in the same form for real and simulated runs.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/runtime/epoch_parts.hpp"
#include "core/runtime/runtime.hpp"

namespace orrery {

/// One operation on one lane. Times in seconds since the run began.
struct Span {
  Lane lane = Lane::compute;
  std::string_view kind;  ///< name of the op; refers to static storage
  bool communicates = false;
  double external = 0;  ///< share of its time between servers, as in exchange_time.hpp
  Phase phase;
  double begin = 0, end = 0;
  double flops = 0, bytes = 0;  ///< as the op states them
  Group group{0, 0, 0, 1};      ///< the ranks that take part in a collective; else of size 0
  /// Index in the group of the rank that a broadcast comes from, a reduction goes to, or this rank
  /// sends to; −1: none.
  int root = -1;
  Shape shape{};  ///< shape of the first tensor that it writes; 0 x 0: not known
  bool operator==(const Span&) const = default;
};

/// The part of an epoch that its time is charged to unless something more important runs; for an
/// exchange that is charged to two, the larger one.
const EpochPart& part_of(const Span& span);

/// Consecutive epochs, numbered from 0.
struct EpochRange {
  int first = 0, count = 0;
  bool contains(int epoch) const { return epoch >= first && epoch < first + count; }
  bool operator==(const EpochRange&) const = default;
};

/// A simulation of more ranks than these keeps the timelines of some of each kind: the first, the
/// middle and the last one.
inline constexpr int kMostTracedRanks = 64;

struct Timeline {
  int rank = 0;
  std::vector<Span> spans;
  /// When the host entered a phase.
  struct Mark {
    Phase phase;
    double at = 0;
    bool operator==(const Mark&) const = default;
  };
  std::vector<Mark> marks;
  /// Device bytes in use after an allocation or release; these take effect when the host asks.
  struct MemoryMark {
    double at = 0;
    std::int64_t device_bytes = 0;
    bool operator==(const MemoryMark&) const = default;
  };
  std::vector<MemoryMark> memory;
  bool operator==(const Timeline&) const = default;
};

/// From a mark of the epoch to the next mark outside of it, for all such marks; zero if the epoch
/// is missing.
double epoch_seconds(const std::vector<Timeline::Mark>& marks, int epoch);

Breakdown epoch_breakdown(const Timeline& timeline, int epoch);

/// Time of one epoch on one rank, in parts.
struct EpochCost {
  double seconds = 0;
  Breakdown breakdown;
  bool operator==(const EpochCost&) const = default;
};

}  // namespace orrery
