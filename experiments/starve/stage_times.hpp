// The time of sampled training by stage, and the stage that the trainer waits for.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/runtime/timeline.hpp"

namespace orrery {

/// The stages of a batch, in this order. Each works on its own lanes.
enum class BatchStage : std::uint8_t {
  sample,  ///< drawn: the sampler lane
  fetch,   ///< rows of features come into host memory: the store lane
  load,    ///< put on the device: the copy lane
  train    ///< computed, and gradients averaged: the compute and communication lanes
};
constexpr std::size_t kBatchStages = 4;
std::string_view name_of(BatchStage stage);

/// Seconds of some epochs.
struct StageTimes {
  double seconds = 0;                       ///< of the epochs
  std::array<double, kBatchStages> busy{};  ///< by stage: the time in which its lanes were at work
  /// By stage: seconds in which the trainer was idle and this was the stage at work nearest to it,
  /// so the next batch for the trainer was still in this stage. For `train`: no stage was at work
  /// (the host issues, or other ranks are late).
  std::array<double, kBatchStages> waited{};

  double waiting() const;  ///< for the stages before it
  /// The stage that the trainer waits for most; `train` if it waits less than a twentieth of the
  /// time for all of them.
  BatchStage limit() const;
  StageTimes& operator+=(const StageTimes& other);
};

/// For one rank, in the epochs of the range that are in its timeline.
StageTimes stage_times(const Timeline& timeline, const EpochRange& epochs);

}  // namespace orrery
