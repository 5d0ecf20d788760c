// A replay's records of one rank, and its timeline.
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
    double begin, end;
  };
  /// The works, tasks, calls and accesses of a lane, in the lane's order: 16 bytes each.
  struct OfLane {
    Done* done = nullptr;        ///< [all that the lane does], the owner's
    double* external = nullptr;  ///< share of each that is communication between servers; zeros
    std::size_t count = 0;
    void add(double begin, double end, double external_share) {
      if (external_share != 0) external[count] = external_share;
      done[count++] = {begin, end};
    }
  };
  std::array<OfLane, kLanes> lanes;
  std::vector<Timeline::Mark> marks;
  bool reads_files = false;  ///< reading files takes time; else it is not among what was done

  /// Whether an item of a lane is among what was done.
  bool records(const RankSchedule& schedule, const LaneItem& item) const;
  /// How much a lane does.
  std::size_t count_of(const RankSchedule& schedule, int lane) const;
};

/// The same form as a real rank's, ordered by the spans' beginnings; without its memory.
Timeline timeline_of(int rank, const PricedProgram& program, const RankTrace& trace);

/// Cost of each of these epochs: that of the timeline, which is not made for it.
std::vector<EpochCost> epoch_costs(const PricedProgram& program, const RankTrace& trace,
                                   int epochs);

/// These epochs of a timeline, with set-up if the first is among them; epochs beyond the last one
/// are replaced by the last. Memory is kept from the beginning, so that its level is known.
Timeline kept_epochs(Timeline all, EpochRange epochs);

}  // namespace orrery::sim
