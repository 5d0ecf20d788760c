// The work of every rank of a run, for any purpose. Training is one such body.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/runtime/best_epoch.hpp"
#include "core/runtime/runtime.hpp"

namespace orrery {

/// Micro-F1 of each split (for single labels the accuracy), or of links the AUC of what is held out:
/// fractions in [0, 1]; nothing for a split without vertices or links.
struct Accuracies {
  std::optional<double> train, validation, test;
};

/// How well held-out links are told from pairs that are no links: fractions in [0, 1].
struct LinkScores {
  /// The chance that a link scores above a pair, of all links and pairs; equal ones count half.
  double auc = 0;
  /// Each link has a rank among its own pairs. These are the mean of the inverse rank, and the
  /// share of links whose rank is at most k. A link with the same score as n others gets the middle
  /// rank among them.
  double mrr = 0;
  std::vector<double> hits;  ///< of each k that was asked for
};
struct HeldOutScores {
  std::optional<LinkScores> validation, test;  ///< nothing for a split without links
};

/// What a rank finds in its gradients when the loss is no finite number any more, or in its weights
/// when the last update of a run left some that are not.
struct Divergence {
  /// With local models the average replaces the gradients; this then refers to the weights.
  enum class Of : std::uint8_t { gradients, weights };
  Of of = Of::gradients;
  /// The first layer with a number that is not finite; nothing: all are finite.
  std::optional<int> layer;
  std::optional<double> largest;  ///< largest absolute value among the finite numbers
  std::optional<int> largest_in;  ///< layer of that value
};

/// Feature rows of other ranks that batches needed, and how many of them a cache had.
struct RowUse {
  std::int64_t foreign = 0, kept = 0;
};

struct EpochReport {
  int epoch = 0;  ///< from 0
  /// Training loss before the epoch's (last) update; nothing without values or without training.
  std::optional<double> loss;
  /// After the update; nothing if the epoch was not evaluated, or without values.
  std::optional<Accuracies> scores;
  /// Structures that this rank put on its device for the steps of the epoch. The first one of a run
  /// counts in the first epoch; those of evaluations do not count.
  int loads = 0;
  RowUse rows = {};  ///< of these structures
  /// Set if the loss is not finite: training then ends with this epoch, whatever the answer. Also
  /// set if the loss of the last epoch is finite, but the weights after it are not.
  std::optional<Divergence> divergence = {};
  std::optional<HeldOutScores> links = {};  ///< with scores, where links are predicted
  /// Training ends with this epoch, as evaluations got no better for too long (TrainConfig::patience).
  bool stops_early = false;
  /// Mean over the validation vertices, with scores, if the best epoch is chosen by it (BestBy).
  std::optional<double> validation_loss = {};
};

/// A run between two epochs, or between two steps: everything it needs to continue as if it had
/// never stopped. Random draws are functions of the seed, the epoch, the step and the vertex, so
/// there is no other state.
struct Checkpoint {
  int epochs = 0;  ///< done so far
  /// All weights, and the optimiser's moments if it has any, each as one row; with local models
  /// those of each, by the part it learns from.
  std::vector<std::vector<float>> state;
  int steps = 0;                 ///< done of the epoch that follows
  std::vector<double> losses{};  ///< of each rank, of these steps; none where there are none
  std::optional<BestSoFar> best{};
};

/// Called for every epoch, on every rank, after the epoch's time has ended.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  /// One epoch, or all epochs of a turn that ran together (LocalTraining), in order. Returns false
  /// to stop the run after them; all ranks must get the same answer.
  virtual bool epochs_done(std::span<const EpochReport> reports) = 0;
  /// Only rank 0 gets the checkpoints, on a separate thread while the run goes on.
  virtual void keep(const Checkpoint&) {}
  /// The same of the model whenever it is the best so far: its state is the weights and the running
  /// averages, of local models those of their average. No training can go on from it.
  virtual void keep_best(const Checkpoint&) {}
};

struct RunControl {
  std::shared_ptr<const Checkpoint> resume;  ///< go on from here
  std::shared_ptr<const Checkpoint> start;   ///< else: begin with its weights and running averages
  int checkpoint_every = 0;                  ///< epochs; also after an early stop; 0: never
  /// Steps between checkpoints within an epoch; not for local models. 0: only between epochs.
  int checkpoint_steps = 0;
  std::optional<int> epochs;      ///< instead of the body's
  bool inspects_weights = false;  ///< after the last epoch, whose loss does not reflect its update
};

/// SPMD code: what one rank does, from loading its data to its last epoch, and what recording,
/// checking, running and simulating must know beforehand. An epoch is a round after which a rank
/// reports. All calls may come from several threads at once.
class Body {
 public:
  virtual ~Body() = default;
  virtual int ranks() const = 0;
  virtual int epochs() const = 0;
  /// The number of epochs after which programs repeat themselves.
  virtual int period() const { return 1; }
  /// Whether values decide which operations follow; a recording then has more operations than a
  /// run.
  virtual bool depends_on_values() const { return false; }
  /// The checks that need no runtime, so that a mistake is reported before anything starts.
  ///
  /// Errors    ConfigError
  virtual void require_runnable() const {}
  /// What this rank does; it holds nothing after it returns.
  ///
  /// Errors    ConfigError (`control` asks for something impossible) and whatever the runtime
  ///           throws
  virtual void run(Runtime& rt, RunObserver& observer, const RunControl& control = {}) const = 0;

  /// The lowest rank that does what `rank` does, so that one program represents both. Default:
  /// `rank` itself.
  virtual int representative(int rank) const { return rank; }
  /// The group of `rank` for which its representative's program says `group`.
  virtual Group own_group(const Group& group, int /*rank*/) const { return group; }
};

}  // namespace orrery
