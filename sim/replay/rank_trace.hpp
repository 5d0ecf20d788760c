// A replay's records of one rank, and its timeline.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/runtime/timeline.hpp"
#include "sim/replay/priced_program.hpp"
#include "sim/replay/zeros.hpp"

namespace orrery::sim {

/// What the lanes of all ranks have done: 16 bytes for each work, task, call and access. They are in
/// blocks, which lanes take as they fill them. So what is written at about the same time lies
/// close together, and thousands of ranks do not take turns at a page of memory each.
///
/// Units     seconds since the replay began
class DoneRecords {
 public:
  struct Done {
    double begin, end;
  };
  static_assert(sizeof(Done) == 16, "there is one for each operation of each rank");
  /// Those of a lane, in its order.
  struct OfLane {
    std::uint32_t first = 0, last = 0;  ///< blocks
    std::uint32_t count = 0;
  };
  static constexpr std::uint32_t kBlock = 16;
  /// What a lane with this many needs.
  static std::size_t blocks_for(std::size_t count) { return (count + kBlock - 1) / kBlock; }

  DoneRecords() = default;
  /// Room for so many blocks, that is for all that lanes will do.
  explicit DoneRecords(std::size_t blocks);
  /// The next of a lane. `external_share`: what of it is communication between servers.
  ///
  /// Requires  a block that is left, if the lane's last one is full
  void add(OfLane& lane, const Done& done, double external_share) {
    const std::uint32_t place = lane.count++ % kBlock;
    if (place == 0) {
      (lane.count == 1 ? lane.first : next_[lane.last]) = used_;
      lane.last = used_++;
    }
    const std::size_t i = std::size_t{lane.last} * kBlock + place;
    static_cast<Done*>(done_.data())[i] = done;
    if (external_share != 0) static_cast<double*>(external_.data())[i] = external_share;
  }

  /// Goes through those of a lane.
  class Reader {
   public:
    Reader(const DoneRecords& records, const OfLane& lane)
        : records_(records), block_(lane.first), left_(lane.count) {}
    bool over() const { return left_ == 0; }
    const Done& done() const { return static_cast<const Done*>(records_.done_.data())[index()]; }
    /// The share that is communication between servers.
    double external_share() const {
      return static_cast<const double*>(records_.external_.data())[index()];
    }
    void advance() {
      --left_;
      if (++place_ < kBlock || left_ == 0) return;
      place_ = 0;
      block_ = records_.next_[block_];
    }

   private:
    std::size_t index() const { return std::size_t{block_} * kBlock + place_; }
    const DoneRecords& records_;
    std::uint32_t block_, place_ = 0, left_;
  };

 private:
  Zeros done_, external_;            ///< [blocks · kBlock]; most shares are 0
  std::vector<std::uint32_t> next_;  ///< of each block, that of the same lane
  std::uint32_t used_ = 0;
};

/// Times in seconds since the replay began.
struct RankTrace {
  std::array<DoneRecords::OfLane, kLanes> lanes;
  std::vector<Timeline::Mark> marks;
  bool reads_files = false;  ///< reading files takes time; else it is not among what was done

  /// Whether an item of a lane is among what was done.
  bool records(const RankSchedule& schedule, const LaneItem& item) const;
  /// How much a lane does.
  std::size_t count_of(const RankSchedule& schedule, int lane) const;
};

/// The same form as a real rank's, ordered by the spans' beginnings; without its memory.
Timeline timeline_of(int rank, const PricedProgram& program, const RankTrace& trace,
                     const DoneRecords& records);

/// Cost of each of these epochs: that of the timeline, which is not made for it.
std::vector<EpochCost> epoch_costs(const PricedProgram& program, const RankTrace& trace,
                                   const DoneRecords& records, int epochs);

/// These epochs of a timeline, with set-up if the first is among them; epochs beyond the last one
/// are replaced by the last. Memory is kept from the beginning, so that its level is known.
Timeline kept_epochs(Timeline all, EpochRange epochs);

}  // namespace orrery::sim
