// Which epoch is the best, by the accuracy of validation vertices, or by their loss, too.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

namespace orrery {

struct EpochReport;

/// Which evaluated epoch is the best: the first one with the highest accuracy of the validation
/// vertices, or the last one at which neither their accuracy nor their loss had been better before.
///
/// Source    accuracy_and_loss: public code of Veličković et al. 2018
enum class BestBy : std::uint8_t { accuracy, accuracy_and_loss };

/// The best evaluation so far (BestBy), and the epoch from which patience counts.
struct BestSoFar {
  int epoch = -1;
  double validation = 0;  ///< accuracy of the validation vertices after that epoch
  /// Of all epochs, which need not be the best one if their loss counts, too.
  double highest = 0, lowest_loss = std::numeric_limits<double>::infinity();
  /// The last epoch that was better, or by accuracy and loss as good as all before in either.
  int as_good = -1;
};

/// Takes note of an evaluated epoch; others change nothing. All ranks do alike, as the numbers are
/// sums over all of them.
///
/// Returns   whether it is the best so far
bool note_epoch(std::optional<BestSoFar>& best, const EpochReport& report, BestBy by);

}  // namespace orrery
