// The training loop: what every rank does from loading its data to the last epoch, for any
// strategy.
#pragma once

#include "core/runtime/body.hpp"
#include "core/strategy/strategy.hpp"

namespace orrery {

/// Trains on this rank. It needs features, labels and a split.
///
/// The loss is averaged over the training vertices of the whole graph, each at its step. Evaluation
/// is a forward pass without dropout, outside of the epoch's time. If there are local models, it
/// uses their average (Strategy::schedule says on which structures). An epoch whose loss is not
/// finite is the last one: all later losses would not be finite either.
///
/// Errors    ConfigError (no features, labels, training vertices; loss and labels do not fit; a
///           checkpoint of other sizes, or with staleness) and whatever the runtime throws
void train(Runtime& rt, const Strategy& strategy, const Problem& problem, RunObserver& observer,
           const RunControl& control = {});

/// The checks of train() that need no runtime, so that a mistake is reported before anything
/// starts.
void require_trainable(const Problem& problem);

/// Checks that a checkpoint after every `checkpoint_steps` steps (0: none) falls within an epoch.
///
/// Errors    ConfigError: an epoch has no more steps
void require_steps_to_keep(const Strategy& strategy, int checkpoint_steps);

/// train() on every rank of a problem; both must outlive it.
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
