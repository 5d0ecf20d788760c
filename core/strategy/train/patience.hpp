// Ends training where validation vertices have stopped getting better.
#pragma once

#include <algorithm>
#include <limits>

#include "core/model/model_config.hpp"
#include "core/runtime/body.hpp"

namespace orrery {

/// All ranks see the same numbers, and so end at the same epoch. Without values nothing ever ends.
class Patience {
 public:
  explicit Patience(const TrainConfig& train) : by_(train.best_by), evaluations_(train.patience) {}

  bool ends_after(const EpochReport& report) {
    if (evaluations_ == 0 || !report.scores || !report.scores->validation) return false;
    const double accuracy = *report.scores->validation;
    const double loss = report.validation_loss.value_or(std::numeric_limits<double>::infinity());
    const bool as_good =
        accuracy >= accuracy_ || (by_ == BestBy::accuracy_and_loss && loss <= loss_);
    accuracy_ = std::max(accuracy_, accuracy);
    loss_ = std::min(loss_, loss);
    waited_ = as_good ? 0 : waited_ + 1;
    return waited_ == evaluations_;
  }

 private:
  BestBy by_;
  int evaluations_, waited_ = 0;
  double accuracy_ = 0, loss_ = std::numeric_limits<double>::infinity();
};

}  // namespace orrery
