#include "experiments/execute/execute.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>

#include "backends/comm_threads/comm_threads.hpp"
#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/parallel.hpp"
#include "core/runtime/check/check.hpp"
#include "core/runtime/recording.hpp"
#include "core/terminal/activity.hpp"
#include "experiments/execute/open_device.hpp"

namespace orrery {
namespace {

/// Gives all ranks the same answer to "stop?" although they ask at different moments: the first
/// rank that asks after an epoch decides.
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

/// Collects the cost of one rank's epochs.
class RankObserver final : public RunObserver {
 public:
  RankObserver(Executor& executor, const ExecuteOptions& options, const RankHooks& hooks,
               RankOutcome& outcome)
      : executor_(executor), options_(options), hooks_(hooks), outcome_(outcome) {
    outcome_.timeline.rank = executor.rank();
  }

  bool epochs_done(std::span<const EpochReport> reports) override {
    const bool stop = hooks_.stop_after(reports.back().epoch);
    // A GPU has times of its work when all of it is done. Elsewhere what goes on beside the next
    // epoch (a stale halo, batches that are drawn ahead) is not waited for: it would take time that
    // belongs to no epoch.
    if (options_.kernels == "cuda") executor_.finish();
    const Timeline recent = executor_.take_timeline();
    if (outcome_.epochs.empty()) {
      const auto first = std::find_if(recent.marks.begin(), recent.marks.end(),
                                      [](const Timeline::Mark& m) { return m.phase.in_epoch(); });
      if (first != recent.marks.end()) outcome_.seconds_to_first_epoch = first->at;
      wanted_ = options_.timeline_epochs;
      wanted_.first = std::max(wanted_.first, reports.front().epoch + std::min(1, wanted_.first));
    }
    keep_timeline(recent, reports);
    for (const EpochReport& report : reports) {
      outcome_.epochs.push_back(
          {epoch_seconds(recent.marks, report.epoch), epoch_breakdown(recent, report.epoch)});
      outcome_.loads += report.loads;
      outcome_.foreign_rows += report.rows.foreign;
      outcome_.kept_rows += report.rows.kept;
      hooks_.epoch_done(report, outcome_.epochs.back().seconds);
    }
    return !stop;
  }

  void keep(const Checkpoint& checkpoint) override {
    if (options_.keep) options_.keep(checkpoint);
  }
  void keep_best(const Checkpoint& model) override {
    if (options_.keep_best) options_.keep_best(model);
  }

 private:
  /// Spans of the requested epochs, also those that ended later. Memory from the beginning; of other
  /// epochs only the level at their end. A resumed run has its own cold epoch.
  void keep_timeline(const Timeline& recent, std::span<const EpochReport> reports) {
    const EpochRange taken{reports.front().epoch, static_cast<int>(reports.size())};
    Timeline& kept = outcome_.timeline;
    const bool whole = std::any_of(reports.begin(), reports.end(), [&](const EpochReport& report) {
      return wanted_.contains(report.epoch);
    });
    std::copy_if(recent.spans.begin(), recent.spans.end(), std::back_inserter(kept.spans),
                 [&](const Span& span) {
                   const int epoch = span.phase.epoch;
                   return wanted_.contains(epoch) || (whole && !taken.contains(epoch));
                 });
    if (taken.first >= wanted_.first + wanted_.count) return;
    if (whole) kept.marks.insert(kept.marks.end(), recent.marks.begin(), recent.marks.end());
    const bool set_up = outcome_.epochs.empty();
    const auto skipped = whole || set_up || recent.memory.empty() ? 0 : recent.memory.size() - 1;
    kept.memory.insert(kept.memory.end(),
                       recent.memory.begin() + static_cast<std::ptrdiff_t>(skipped),
                       recent.memory.end());
  }

  Executor& executor_;
  const ExecuteOptions& options_;
  const RankHooks& hooks_;
  EpochRange wanted_;
  RankOutcome& outcome_;
};

}  // namespace

RankOutcome execute_rank(const Body& body, const ExecuteOptions& options, int rank,
                         int kernel_threads, RankDevice& device, Communicator& communicator,
                         const RankHooks& hooks) {
  Executor::Options own;
  own.rank = rank;
  own.size = body.ranks();
  own.placement = options.placement;
  own.capacities = options.capacities;
  own.kernel_threads = kernel_threads;
  own.keep_steps = options.keep_steps || body.depends_on_values();
  own.guard_bytes = options.guard_bytes;
  own.one_lane = options.cuda_graph && body.ranks() == 1;
  RankOutcome outcome;
  const auto received_before = communicator.received_from();
  Executor executor(own, device, communicator);
  RankObserver observer(executor, options, hooks, outcome);
  body.run(executor, observer, options.control);
  executor.finish();
  outcome.program = executor.recorder().program();
  outcome.received_from = communicator.received_from();
  for (std::size_t r = 0; r < received_before.size(); ++r)
    outcome.received_from[r] -= received_before[r];
  for (int space = 0; space < kSpaces; ++space)
    outcome.final_bytes += executor.memory().bytes_in_use(static_cast<Space>(space));
  outcome.peak_bytes = executor.memory().peak_bytes();
  outcome.pinned_peak_bytes = executor.memory().peak_bytes(Space::pinned_host);
  return outcome;
}

std::int64_t host_bytes(const Program& recorded, const ExecuteOptions& options) {
  std::int64_t bytes = 0;
  for (std::size_t space = 0; space < recorded.peak_bytes.size(); ++space)
    if (space != at(Space::device) || options.kernels != "cuda")
      bytes += recorded.peak_bytes[space];
  return bytes;
}

Summary summary_of(const RankOutcome& done, const Program& recorded, const Body& body,
                   const Placement& placement) {
  Summary summary = body.depends_on_values()
                        ? summarise(done.program, placement, static_cast<int>(done.epochs.size()))
                        : summarise(recorded, placement, body.period());
  // If batches are drawn in every epoch, a few of them were recorded.
  summary.peak_device_bytes = std::max(summary.peak_device_bytes, done.peak_bytes);
  return summary;
}

Outcome execute_on_threads(const Body& body, const ExecuteOptions& options,
                           const Progress& progress) {
  body.require_runnable();
  // The ranks of one process share its GPUs, whatever servers they represent.
  std::vector<std::optional<cuda::GpuChoice>> gpus;
  for (int r = 0; r < body.ranks(); ++r) gpus.push_back(gpu_of_rank(options, r, body.ranks()));
  std::optional<Activity> recording;
  recording.emplace(fmt::format("recording and checking what {} ranks do", body.ranks()));
  const auto recorded = record_ranks(body, epochs_to_record(body), options.capacities);
  check(recorded);
  recording.reset();
  if (options.require_memory) {
    std::int64_t bytes = 0;
    for (const Program& program : recorded) bytes += host_bytes(program, options);
    options.require_memory(bytes);
  }

  prepare_kernels(options);
  Outcome outcome;
  outcome.kernels = describe_kernels(options, gpus.front());
  outcome.ranks.resize(static_cast<std::size_t>(body.ranks()));
  StopVote vote(options.stop);
  const int kernel_threads = std::max(1, available_cores() / body.ranks());
  ThreadWorld(body.ranks()).run([&](int rank, Communicator& communicator) {
    const RankHooks hooks{[&](int epoch) { return vote.stop_after(epoch); },
                          [&](const EpochReport& report, double seconds) {
                            if (rank != 0) return;
                            outcome.epochs.push_back(report);
                            outcome.interrupted = vote.stop_after(report.epoch);
                            if (progress) progress(report, seconds);
                          }};
    RankOutcome& mine = outcome.ranks[at(rank)];
    const auto device = open_device(options, gpus[at(rank)]);
    mine = execute_rank(body, options, rank, kernel_threads, *device, communicator, hooks);
    mine.summary = summary_of(mine, recorded[at(rank)], body, options.placement);
  });
  return outcome;
}

}  // namespace orrery
