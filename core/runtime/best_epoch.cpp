#include "core/runtime/best_epoch.hpp"

#include <algorithm>
#include <cmath>

#include "core/runtime/body.hpp"

namespace orrery {

bool note_epoch(std::optional<BestSoFar>& best, const EpochReport& report, BestBy by) {
  if (!report.scores || !report.scores->validation) return false;
  const double accuracy = *report.scores->validation;
  const BestSoFar before = best.value_or(BestSoFar{});
  BestSoFar now = before;
  now.highest = std::max(before.highest, accuracy);
  bool is_best = !best || accuracy > before.highest;
  bool as_good = is_best;
  if (by == BestBy::accuracy_and_loss) {
    if (!report.validation_loss || !std::isfinite(*report.validation_loss)) return false;
    const double loss = *report.validation_loss;
    now.lowest_loss = std::min(before.lowest_loss, loss);
    const bool in_accuracy = accuracy >= before.highest, in_loss = loss <= before.lowest_loss;
    is_best = in_accuracy && in_loss;
    as_good = in_accuracy || in_loss;
  }
  if (is_best) {
    now.epoch = report.epoch;
    now.validation = accuracy;
  }
  if (as_good) now.as_good = report.epoch;
  best = now;
  return is_best;
}

}  // namespace orrery
