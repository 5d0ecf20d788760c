// What a step works on.
#pragma once

#include <array>
#include <memory>

#include "core/strategy/strategy.hpp"

namespace orrery {

/// A structure with its features, labels and targets, on the device as long as this lives.
class StepData {
 public:
  /// Loads on the copy lane, for which the compute lane has yet to wait.
  StepData(Runtime& rt, std::unique_ptr<Strategy> strategy, int layers, const DataFacts& facts);

  Strategy& strategy() const { return *strategy_; }
  Tensor features() const { return features_.tensor(); }
  /// Of the rows of the last level.
  Tensor labels() const { return labels_.tensor(); }
  /// The rows of the last level that are in the split (train, validation or test).
  Tensor targets(Split split) const { return targets_[static_cast<std::size_t>(split)].tensor(); }

 private:
  std::unique_ptr<Strategy> strategy_;
  Buffer features_, labels_;
  std::array<Buffer, 3> targets_;
};

}  // namespace orrery
