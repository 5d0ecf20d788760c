// What a replay notes of one rank, and the timeline that it amounts to.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/runtime/timeline.hpp"
#include "sim/replay/priced_program.hpp"

namespace orrery::sim {

/// Times in seconds since the replay began.
struct RankTrace {
  struct Done {
    std::uint32_t item;  ///< in its lane
    double begin, end;
    double external;  ///< share of its time that is communication between servers
  };
  std::array<std::vector<Done>, kLanes> done;  ///< works and calls, in the order of their ends
  std::vector<Timeline::Mark> marks;
  std::vector<Timeline::MemoryMark> memory;

  /// Takes the room for all that a rank does.
  void reserve(const RankSchedule& schedule);
};

/// The same form as a real rank's, ordered by the spans' beginnings.
Timeline timeline_of(int rank, const PricedProgram& program, const RankTrace& trace);

/// What each of so many epochs cost.
std::vector<EpochCost> epoch_costs(const Timeline& timeline, int epochs);

/// These epochs of a timeline, with set-up where the first is among them; of epochs beyond the last
/// one, the last. Memory is kept from the beginning, so that its level is known.
Timeline kept_epochs(Timeline all, EpochRange epochs);

}  // namespace orrery::sim
