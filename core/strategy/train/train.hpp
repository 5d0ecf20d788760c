// The training loop: what every rank does from loading its data to the last epoch, whatever the
// strategy.
#pragma once

#include "core/runtime/body.hpp"
#include "core/strategy/strategy.hpp"

namespace orrery {

/// Trains on this rank. Needs features, labels and a split.
///
/// The loss is averaged over the training vertices of the whole graph, each at its step; evaluation
/// is a forward pass without dropout, outside the epoch's time, of the average of local models
/// where there are such (Strategy::schedule says on what). An epoch whose loss is no finite number is
/// the last one: whatever follows would be none either.
///
/// Errors    ConfigError (no features, labels, training vertices; loss and labels do not fit; a
///           checkpoint of other sizes, or with staleness) and whatever the runtime throws
void train(Runtime& rt, const Strategy& strategy, const Problem& problem, RunObserver& observer,
           const RunControl& control = {});

/// The checks of train() that need no runtime, so that a user's mistake is told before anything
/// starts.
void require_trainable(const Problem& problem);

/// That a checkpoint after every so many steps (0: none) is one within an epoch.
///
/// Errors    ConfigError: an epoch has no more steps
void require_steps_to_keep(const Strategy& strategy, int checkpoint_steps);

/// train() on every rank of a problem, both of which outlive it.
class TrainingBody final : public Body {
 public:
  TrainingBody(const Strategy& strategy, const Problem& problem)
      : strategy_(strategy), problem_(problem) {}

  int ranks() const override { return problem_.ranks(); }
  int epochs() const override { return problem_.train.epochs; }
  int period() const override { return period_of(problem_.strategy, epochs()); }
  bool depends_on_values() const override { return problem_.strategy.depends_on_values(); }
  void require_runnable() const override { require_trainable(problem_); }
  void run(Runtime& rt, RunObserver& observer, const RunControl& control = {}) const override {
    train(rt, strategy_, problem_, observer, control);
  }
  int representative(int rank) const override { return strategy_.representative(rank); }
  Group own_group(const Group& group, int rank) const override {
    return strategy_.own_group(group, rank);
  }

 private:
  const Strategy& strategy_;
  const Problem& problem_;
};

}  // namespace orrery
