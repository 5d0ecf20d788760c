// What every rank of a run does, whatever it is for: training is one such body.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/runtime/runtime.hpp"

namespace orrery {

/// Micro-F1 of each split (for single labels the accuracy), or of links the AUC of what is held out:
/// fractions in [0, 1]; nothing for a split without vertices or links.
struct Accuracies {
  std::optional<double> train, validation, test;
};

/// How well held-out links are told from pairs that are none: fractions in [0, 1].
struct LinkScores {
  /// The chance that a link scores above a pair, of all links and pairs; equal ones count half.
  double auc = 0;
  /// Of the rank of each link among its own pairs: the mean of its inverse, and the share of links
  /// whose rank is at most k. A link that scores as n others do stands in the middle of them.
  double mrr = 0;
  std::vector<double> hits;  ///< of each k that was asked for
};
struct HeldOutScores {
  std::optional<LinkScores> validation, test;  ///< nothing for a split without links
};

/// What a rank finds in its gradients when the loss is no finite number any more, or in its weights
/// when the last update of a run left some that are not.
struct Divergence {
  /// Local models give the place of their gradients to the average: then it is of the weights.
  enum class Of : std::uint8_t { gradients, weights };
  Of of = Of::gradients;
  /// The first layer where one is not finite; nothing where all are.
  std::optional<int> layer;
  std::optional<double> largest;  ///< of those that are finite, without its sign
  std::optional<int> largest_in;  ///< the layer that it is in
};

/// Rows of features of other ranks that batches needed, and how many of these a cache had.
struct RowUse {
  std::int64_t foreign = 0, kept = 0;
};

/// The best validation accuracy so far, and after which epoch it was.
struct BestSoFar {
  int epoch = -1;
  double validation = 0;
};

struct EpochReport {
  int epoch = 0;  ///< from 0
  /// Training loss before the epoch's (last) update; nothing without values, or without training.
  std::optional<double> loss;
  /// After the update; nothing where the epoch was not evaluated, or without values.
  std::optional<Accuracies> scores;
  /// Structures that this rank put on its device for the steps of the epoch; the first one of a run
  /// counts with the first epoch, those of evaluations do not.
  int loads = 0;
  RowUse rows = {};  ///< of these structures
  /// There when the loss is not finite: training ends with this epoch, whatever is answered. Also
  /// there when the loss of the last epoch is, and the weights after it are not.
  std::optional<Divergence> divergence = {};
  std::optional<HeldOutScores> links = {};  ///< with scores, where links are predicted
  /// Training ends with this epoch, as evaluations got no better for too long (TrainConfig::patience).
  bool stops_early = false;
};

/// A run between two epochs, or between two steps of one: all it takes to go on as if it had never
/// stopped. Random draws are functions of the seed, the epoch, the step and the vertex, so there is
/// no other state.
struct Checkpoint {
  int epochs = 0;  ///< done so far
  /// All weights, and the optimiser's moments where it has any, each as one row; with local models
  /// those of each, by the part it learns from.
  std::vector<std::vector<float>> state;
  int steps = 0;                 ///< done of the epoch that follows
  std::vector<double> losses{};  ///< of each rank, of these steps; none where there are none
  std::optional<BestSoFar> best{};
};

/// Told about every epoch, on every rank, after the epoch's time has ended.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  /// One epoch, or all those of a turn that took place together (LocalTraining), in order. Returns
  /// false to stop the run behind them; all ranks must be answered alike.
  virtual bool epochs_done(std::span<const EpochReport> reports) = 0;
  /// Rank 0 alone is given the checkpoints, on a thread of its own while the run goes on.
  virtual void keep(const Checkpoint&) {}
  /// The same of the model whenever it is the best so far: its state is the weights and the running
  /// averages, of local models those of their average. Nothing goes on from it.
  virtual void keep_best(const Checkpoint&) {}
};

struct RunControl {
  std::shared_ptr<const Checkpoint> resume;  ///< go on from here
  std::shared_ptr<const Checkpoint> start;   ///< else: begin with its weights and running averages
  bool keeps_best = false;                   ///< hands over every best model (keep_best)
  int checkpoint_every = 0;                  ///< epochs; also after an early stop; 0: never
  /// Steps of an epoch; not of local models. 0: only between epochs.
  int checkpoint_steps = 0;
  std::optional<int> epochs;      ///< instead of the body's
  bool inspects_weights = false;  ///< after the last epoch, whose loss knows nothing of its update
};

/// SPMD code: what one rank does, from loading its data to its last epoch, and what those who
/// record, check, run and simulate it must know beforehand. An epoch is a round after which a rank
/// reports. All calls may come from several threads at once.
class Body {
 public:
  virtual ~Body() = default;
  virtual int ranks() const = 0;
  virtual int epochs() const = 0;
  /// After how many epochs the programs repeat themselves.
  virtual int period() const { return 1; }
  /// Whether which operations follow depends on values: a recording then has more than a run.
  virtual bool depends_on_values() const { return false; }
  /// The checks that need no runtime, so that a user's mistake is told before anything starts.
  ///
  /// Errors    ConfigError
  virtual void require_runnable() const {}
  /// What this rank does; nothing of it is held when it returns.
  ///
  /// Errors    ConfigError (what `control` asks for is not possible) and whatever the runtime
  ///           throws
  virtual void run(Runtime& rt, RunObserver& observer, const RunControl& control = {}) const = 0;

  /// The lowest rank that does what `rank` does, so that one program stands for both. Default:
  /// `rank` itself.
  virtual int representative(int rank) const { return rank; }
  /// The group that `rank` means where its representative's program says `group`.
  virtual Group own_group(const Group& group, int /*rank*/) const { return group; }
};

}  // namespace orrery
