// The data of a step.
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "core/base/index.hpp"
#include "core/strategy/product/sparse_features.hpp"
#include "core/strategy/strategy.hpp"

namespace orrery {

/// A structure with its features, labels and targets, on the device as long as this lives.
///
/// Placement features: the rows of level 0 on this rank; labels, targets: those of the last level
class StepData {
 public:
  /// Loads on the copy lane, for which the compute lane has yet to wait. Not `labelled`: without
  /// labels and targets. `class_weights` [classes]: how much a training vertex of each counts
  /// (class_weights.hpp); empty: all alike.
  StepData(Runtime& rt, std::unique_ptr<RankProducts> products, const ModelConfig& model,
           const DataFacts& facts, bool labelled = true,
           const std::vector<float>& class_weights = {});

  RankProducts& products() const { return *products_; }
  /// Must not be read if there are sparse_features().
  Tensor features() const { return features_.tensor(); }
  const SparseFeatures* sparse_features() const {
    return sparse_features_ ? &*sparse_features_ : nullptr;
  }
  /// Labels of the rows of the last level.
  Tensor labels() const { return labels_.tensor(); }
  /// The rows of the last level that are in the split (train, validation or test).
  Tensor targets(Split split) const { return targets_[at(split)].tensor(); }
  /// Weights of targets(Split::train); nothing if all count equally.
  std::optional<Tensor> target_weights() const {
    return target_weights_ ? std::optional(target_weights_.tensor()) : std::nullopt;
  }

 private:
  std::unique_ptr<RankProducts> products_;
  Buffer features_, labels_, target_weights_;
  std::optional<SparseFeatures> sparse_features_;
  std::array<Buffer, 3> targets_;
};

}  // namespace orrery
