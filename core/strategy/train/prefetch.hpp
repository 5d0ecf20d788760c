// Prepares and loads what the training steps of a rank work on, while other steps compute.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "core/strategy/train/class_weights.hpp"
#include "core/strategy/train/loading_runtime.hpp"
#include "core/strategy/train/step_data.hpp"

namespace orrery {

/// The structures of a rank's steps, one after the other, across epochs (StagesAhead). While a step
/// computes, tasks of the sampler lane prepare the next structures, the store lane fetches their
/// rows, and the copy lane loads them. Where the host and each lane wait is the same in every run.
/// A task owns what it makes, so a result that nobody asks for leaves nothing behind.
class Prefetch {
 public:
  /// For the epochs [first, last), beginning with a step of the first one; `strategy` and `problem`
  /// outlive the runtime's last task, and `session` outlives this. Begins to bring what the first
  /// step needs.
  ///
  /// Requires  schedule.ahead; `session` was opened on `rt`
  Prefetch(LoadingRuntime& rt, const Strategy& strategy, RankSession& session,
           const Problem& problem, const Schedule& schedule, int first, int last,
           int first_step = 0);

  /// The next step begins: the host waits until the last step is done and this step's structure is
  /// loaded, and the device frees that of the last one.
  StepData& turn();
  /// Begins to prepare what is now within reach.
  void prepare();
  /// Fills the stages beside the work that was issued so far, the last stage first. The host waits
  /// for what must be prepared for that.
  void advance();
  /// The structure of the last step; null before the first.
  StepData* current() const { return current_.get(); }
  /// Waits for what is still being prepared, and frees it.
  void stop();

 private:
  struct Prepared {
    Task task;
    std::shared_ptr<std::shared_ptr<const Structure>> structure;  ///< valid after it is joined
  };
  struct Loaded {
    std::unique_ptr<StepData> data;
    Event there;
  };
  /// The structure of the step at the cursor, which then advances; nothing after the last step.
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
  int epoch_, index_, last_;  ///< the cursor: the first step whose structure is not being prepared
  std::deque<Prepared> prepared_;
  std::deque<std::shared_ptr<const Structure>> fetched_;
  std::deque<Loaded> loaded_;
  std::unique_ptr<StepData> current_;
};

}  // namespace orrery
