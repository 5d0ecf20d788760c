// What goes into a training run beside its problem, and what it tells.
#pragma once

#include <memory>
#include <optional>
#include <vector>

namespace orrery {

/// Micro-F1 of each split (for single labels the accuracy): fractions in [0, 1]; nothing for a
/// split without vertices.
struct Accuracies {
  std::optional<double> train, validation, test;
};

struct EpochReport {
  int epoch = 0;  ///< from 0
  /// Training loss before the epoch's (last) update; nothing without values.
  std::optional<double> loss;
  /// After the update; nothing where the epoch was not evaluated, or without values.
  std::optional<Accuracies> scores;
};

/// A run between two epochs: all it takes to go on as if it had never stopped. Random draws are
/// functions of the seed, the epoch and the vertex, so there is no other state.
struct Checkpoint {
  int epochs = 0;  ///< done so far
  /// The rows of Parameters::state(); with local models those of each, by the part it learns from.
  std::vector<std::vector<float>> state;
};

/// Told about every epoch, on every rank, after the epoch's time has ended.
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  /// Returns false to stop training; all ranks must be answered alike.
  virtual bool epoch_done(const EpochReport& report) = 0;
  /// Rank 0 alone is given the checkpoints, on a thread of its own while training goes on.
  virtual void keep(const Checkpoint&) {}
};

struct TrainControl {
  std::shared_ptr<const Checkpoint> resume;  ///< go on from here
  int checkpoint_every = 0;                  ///< epochs; also after an early stop; 0: never
  std::optional<int> epochs;                 ///< instead of the problem's
};

}  // namespace orrery
