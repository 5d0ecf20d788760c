// What ran when on one rank: the same form from a real run and from a simulated one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/runtime/runtime.hpp"

namespace orrery {

/// One operation on one lane. Times in seconds since the run began.
struct Span {
  Lane lane = Lane::compute;
  std::string_view kind;  ///< of the op; refers to static storage
  bool communicates = false;
  bool crosses_servers = false;  ///< its group spans more than one server
  Phase phase;
  double begin = 0, end = 0;
  double flops = 0, bytes = 0;  ///< as the op states them
};

struct Timeline {
  int rank = 0;
  std::vector<Span> spans;
  /// When the host entered a phase.
  struct Mark {
    Phase phase;
    double at = 0;
  };
  std::vector<Mark> marks;
  /// Device bytes in use after an allocation or release, which take effect when the host asks.
  struct MemoryMark {
    double at = 0;
    std::int64_t device_bytes = 0;
  };
  std::vector<MemoryMark> memory;
};

/// Where the time of one epoch went on one rank. Every instant belongs to exactly one of the first
/// fields: to computation when a computing lane is busy, else to the communication that is under
/// way (exposed), else to `other` (host, idle). In seconds.
struct Breakdown {
  double compute = 0, internal = 0, external = 0, synchronise = 0, sample = 0, load = 0, other = 0;
  double hidden = 0;  ///< communication under way while computation ran; not part of the sum
  std::map<std::string, double> compute_by_kind;  ///< busy seconds of computing ops by kind
  double total() const {
    return compute + internal + external + synchronise + sample + load + other;
  }
};

/// From the first mark of the epoch to the next mark outside it; zero if the epoch is not there.
double epoch_seconds(const std::vector<Timeline::Mark>& marks, int epoch);

Breakdown epoch_breakdown(const Timeline& timeline, int epoch);

/// What an epoch cost one rank.
struct EpochCost {
  double seconds = 0;
  Breakdown breakdown;
};

}  // namespace orrery
