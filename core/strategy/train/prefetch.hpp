// What the training steps of a rank work on, prepared and loaded while other steps compute.
#pragma once

#include <deque>
#include <memory>
#include <optional>

#include "core/strategy/train/step_data.hpp"

namespace orrery {

/// The structures of a rank's steps, one after the other, over the ends of epochs (Schedule::ahead
/// >= 1). While step i computes, those of the steps to i + ahead are prepared by tasks of the
/// sampler lane, and that of step i + 1 is loaded on the copy lane. The device holds two. A task
/// owns what it makes, so that one that is never asked for leaves nothing behind.
class Prefetch {
 public:
  /// Of the epochs [first, last), from a step of the first one on; `strategy` and `problem` outlive the runtime's last task, and
  /// `session` this. Prepares and loads the first step's structure, if there is one.
  Prefetch(Runtime& rt, const Strategy& strategy, RankSession& session, const Problem& problem,
           const Schedule& schedule, int first, int last, int first_step = 0);

  /// The next step begins: the host waits until the last one is done and this one's structure is
  /// there, and the device gives back that of the last one.
  StepData& turn();
  /// Starts preparing what has come into reach.
  void prepare();
  /// Loads the structure of the next step beside the work that was issued so far. The host waits
  /// until it is prepared.
  void load_next();
  /// What the last step worked on; null before the first.
  StepData* current() const { return current_.get(); }
  /// Waits for what is still being prepared, and lets go of it.
  void stop();

 private:
  struct Prepared {
    Task task;
    std::shared_ptr<std::shared_ptr<const Structure>> structure;  ///< there when it is joined
  };
  /// The structure of the step at the cursor, which moves on; nothing after the last.
  std::optional<StructureId> upcoming();

  Runtime& rt_;
  const Strategy& strategy_;
  RankSession& session_;
  const ModelConfig& model_;
  const DataFacts facts_;
  std::shared_ptr<const Steps> steps_;
  std::size_t ahead_;
  int epoch_, index_, last_;  ///< the cursor: the first step that is not being prepared
  std::deque<Prepared> prepared_;
  std::unique_ptr<StepData> current_, next_;
};

}  // namespace orrery
