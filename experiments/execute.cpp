#include "experiments/execute.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "backends/comm_threads/comm_threads.hpp"
#include "backends/cpu/cpu.hpp"
#include "backends/reference/reference.hpp"
#include "core/base/error.hpp"
#include "core/base/parallel.hpp"
#include "core/runtime/check.hpp"
#include "core/strategy/record.hpp"

namespace orrery {
namespace {

Executor::KernelFactory kernel_factory(const std::string& name) {
  if (name == "cpu") return make_cpu_kernels;
  if (name == "reference") return make_reference_kernels;
  throw ConfigError("kernels", fmt::format("found \"{}\", allowed: cpu, reference", name));
}

/// Lets all ranks answer "stop?" alike although they ask at different moments: the first to ask
/// after an epoch decides.
class StopVote {
 public:
  explicit StopVote(const std::atomic<bool>* flag) : flag_(flag) {}
  bool stop_after(int epoch) {
    const std::lock_guard lock(mutex_);
    const bool now = flag_ != nullptr && flag_->load();
    return decisions_.try_emplace(epoch, now).first->second;
  }

 private:
  const std::atomic<bool>* flag_;
  std::mutex mutex_;
  std::map<int, bool> decisions_;
};

/// Collects what one rank's epochs cost; on rank 0 also what they learned.
class RankObserver final : public TrainObserver {
 public:
  RankObserver(Executor& executor, StopVote& vote, const ExecuteOptions& options, Outcome& outcome,
               const Progress& progress)
      : executor_(executor),
        vote_(vote),
        options_(options),
        outcome_(outcome),
        mine_(outcome.ranks[static_cast<std::size_t>(executor.rank())]),
        progress_(progress) {
    mine_.timeline.rank = executor.rank();
  }

  bool epoch_done(const EpochReport& report) override {
    const bool stop = vote_.stop_after(report.epoch);
    executor_.finish();
    const Timeline recent = executor_.take_timeline();
    mine_.epochs.push_back(
        {epoch_seconds(recent.marks, report.epoch), epoch_breakdown(recent, report.epoch)});
    if (report.epoch < options_.timeline_epochs)
      mine_.timeline.spans.insert(mine_.timeline.spans.end(), recent.spans.begin(),
                                  recent.spans.end());
    if (executor_.rank() == 0) {
      outcome_.epochs.push_back(report);
      outcome_.interrupted = stop;
      if (progress_) progress_(report, mine_.epochs.back().seconds);
    }
    return !stop;
  }

 private:
  Executor& executor_;
  StopVote& vote_;
  const ExecuteOptions& options_;
  Outcome& outcome_;
  RankOutcome& mine_;
  const Progress& progress_;
};

}  // namespace

Outcome execute_on_threads(const Problem& problem, const StrategyPlan& plan,
                           const ExecuteOptions& options, const Progress& progress) {
  const auto make_kernels = kernel_factory(options.kernels);
  require_trainable(problem);
  const auto recorded =
      record_training(plan, problem, std::min(2, problem.train.epochs), options.capacities);
  check(recorded);

  Outcome outcome;
  outcome.ranks.resize(static_cast<std::size_t>(problem.ranks()));
  StopVote vote(options.stop);
  Executor::Options common;
  common.size = problem.ranks();
  common.placement = options.placement;
  common.capacities = options.capacities;
  common.kernel_threads = std::max(1, available_cores() / problem.ranks());
  common.keep_steps = options.keep_steps;
  common.guard_bytes = options.guard_bytes;

  ThreadWorld(problem.ranks()).run([&](int rank, Communicator& communicator) {
    Executor::Options own = common;
    own.rank = rank;
    Executor executor(own, make_kernels, communicator);
    RankObserver observer(executor, vote, options, outcome, progress);
    train(executor, plan, problem, observer);
    executor.finish();
    RankOutcome& result = outcome.ranks[static_cast<std::size_t>(rank)];
    result.summary = summarise(recorded[static_cast<std::size_t>(rank)], options.placement);
    result.program = executor.recorder().program();
    result.received_from = communicator.received_from();
    result.final_bytes = executor.memory().bytes_in_use();
    result.peak_bytes = executor.memory().peak_bytes();
  });
  return outcome;
}

}  // namespace orrery
