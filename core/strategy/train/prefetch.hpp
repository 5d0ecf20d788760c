// What the training steps of a rank work on, prepared and loaded while other steps compute.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "core/strategy/train/class_weights.hpp"
#include "core/strategy/train/loading_runtime.hpp"
#include "core/strategy/train/step_data.hpp"

namespace orrery {

/// The structures of a rank's steps, one after the other, over the ends of epochs (StagesAhead).
/// While a step computes, the next ones are prepared by tasks of the sampler lane, their rows are
/// fetched on the store lane and what they are is loaded on the copy lane. Where the host waits, and
/// what each lane waits for, is the same in every run. A task owns what it makes, so that one that is
/// never asked for leaves nothing behind.
class Prefetch {
 public:
  /// Of the epochs [first, last), from a step of the first one on; `strategy` and `problem` outlive
  /// the runtime's last task, and `session` this. Puts what the first step needs on its way.
  ///
  /// Requires  schedule.ahead; `session` was opened on `rt`
  Prefetch(LoadingRuntime& rt, const Strategy& strategy, RankSession& session,
           const Problem& problem, const Schedule& schedule, int first, int last,
           int first_step = 0);

  /// The next step begins: the host waits until the last one is done and this one's structure is
  /// there, and the device gives back that of the last one.
  StepData& turn();
  /// Starts preparing what has come into reach.
  void prepare();
  /// Fills the stages beside the work that was issued so far, the last stage first. The host waits
  /// for what has to be prepared for that.
  void advance();
  /// What the last step worked on; null before the first.
  StepData* current() const { return current_.get(); }
  /// Waits for what is still being prepared, and lets go of it.
  void stop();

 private:
  struct Prepared {
    Task task;
    std::shared_ptr<std::shared_ptr<const Structure>> structure;  ///< there when it is joined
  };
  struct Loaded {
    std::unique_ptr<StepData> data;
    Event there;
  };
  /// The structure of the step at the cursor, which moves on; nothing after the last.
  std::optional<StructureId> upcoming();
  bool prepare_one();
  std::shared_ptr<const Structure> take_prepared();
  bool fetch_one();
  bool load_one();

  LoadingRuntime& rt_;
  const Strategy& strategy_;
  RankSession& session_;
  const ModelConfig& model_;
  bool labelled_;
  const DataFacts facts_;
  const std::vector<float> class_weights_;
  std::shared_ptr<const Steps> steps_;
  StagesAhead ahead_;
  int epoch_, index_, last_;  ///< the cursor: the first step that is not being prepared
  std::deque<Prepared> prepared_;
  std::deque<std::shared_ptr<const Structure>> fetched_;
  std::deque<Loaded> loaded_;
  std::unique_ptr<StepData> current_;
};

}  // namespace orrery
