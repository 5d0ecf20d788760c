#include "experiments/calibrate/time_on_lane.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <new>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/units.hpp"

namespace orrery::calibrate {
namespace {

/// Shorter than any operation: a clock that is too coarse reports it as zero.
constexpr double kLeastSeconds = 1e-9;

/// Whether the host does part of the work, so it cannot be ahead of it.
bool works_on_host(const Op& op) {
  return std::holds_alternative<Load>(op) || std::holds_alternative<Save>(op) ||
         std::holds_alternative<TransposeSparse>(op);
}

class LaneTimer {
 public:
  LaneTimer(RankDevice& device, const LaneTiming& timing)
      : device_(device),
        timing_(timing),
        lane_(device.open_lane(Lane::compute)),
        workspace_(timing.workspace_bytes, device, *lane_),
        lead_memory_(0, device.storage()),
        lead_operand_{.id = 0, .shape = {timing.lead_bytes / 64, 16}, .ld = 16} {
    lead_memory_.allocate(lead_operand_.id, timing.lead_bytes);
  }

  double time(const BuildOps& build) {
    workspace_.clear();
    const std::vector<Op> ops = build(workspace_, 0);
    const int calls =
        std::clamp(static_cast<int>(timing_.round_seconds / warm_up(ops)), 1, timing_.most_calls);
    std::vector<double> rounds;
    for (int i = 0; i < timing_.rounds; ++i)
      rounds.push_back(std::holds_alternative<Load>(ops.front()) ? round_of_loads(ops, calls)
                       : works_on_host(ops.front())              ? round_on_idle_lane(ops, calls)
                                                                 : round_behind_lead(ops, calls));
    return std::max(kLeastSeconds, median(std::move(rounds)));
  }

 private:
  double now() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - device_.origin())
        .count();
  }

  void issue(const Op& op, const RankMemory& memory) {
    lane_->begin_span(&op);
    lane_->kernels().run(op, memory);
    Span span;
    span.kind = kind_of(op);
    lane_->end_item(span);
    ++issued_;
  }

  std::vector<Span> settle() {
    lane_->await(issued_);
    return lane_->take_spans();
  }

  /// Every operand is touched once; the seconds of the fastest call.
  double warm_up(const std::vector<Op>& ops) {
    for (const Op& op : ops) {
      validate(op);
      issue(op, workspace_.memory());
    }
    double least = 1;
    for (const Span& span : settle()) least = std::min(least, span.end - span.begin);
    return std::max(kLeastSeconds, least);
  }

  /// Each into memory that is allocated for it, as in a run: a buffer is made when a part is loaded.
  /// From the second call on it is a block that was given back before (`KeptBlocks`), which is what
  /// a run finds from its second epoch on.
  double round_of_loads(const std::vector<Op>& ops, int calls) {
    double sum = 0;
    for (int i = 0; i < calls; ++i) {
      Op load = next(ops);
      Tensor& to = std::get<Load>(load).to;
      to.id = 0;
      to.offset = 0;
      RankMemory memory(0, device_.storage());
      memory.allocate(to.id, to.bytes());
      issue(load, memory);
      const std::vector<Span> spans = settle();
      sum += spans.back().end - spans.back().begin;
    }
    return sum / calls;
  }

  double round_on_idle_lane(const std::vector<Op>& ops, int calls) {
    for (int i = 0; i < calls; ++i) issue(next(ops), workspace_.memory());
    const std::vector<Span> spans = settle();
    return (spans.back().end - spans.front().begin) / calls;
  }

  /// Repeats behind a longer lead until the host is done before the lane comes to the last call;
  /// keeps the lead that was long enough.
  double round_behind_lead(const std::vector<Op>& ops, int calls) {
    for (int lead = lead_;; lead *= 2) {
      for (int i = 0; i < lead; ++i) issue(Fill{lead_operand_, 0.5}, lead_memory_);
      for (int i = 0; i < calls; ++i) issue(next(ops), workspace_.memory());
      const double host_done = now();
      const std::vector<Span> spans = settle();
      const bool ahead = host_done <= spans.back().begin;
      if (ahead) lead_ = lead;
      if (ahead || 2 * lead > timing_.longest_lead) {
        const Span& last_of_lead = spans[at(lead) - 1];
        return (spans.back().end - last_of_lead.end) / calls;
      }
    }
  }

  const Op& next(const std::vector<Op>& ops) { return ops[next_++ % ops.size()]; }

  RankDevice& device_;
  const LaneTiming& timing_;
  std::unique_ptr<DeviceLane> lane_;
  Workspace workspace_;
  RankMemory lead_memory_;
  Tensor lead_operand_;
  int lead_ = 1;
  std::uint32_t issued_ = 0;
  std::size_t next_ = 0;
};

}  // namespace

std::int64_t bytes_needed(const LaneTiming& timing) {
  // Memory beside the operands: small ones, indices, patterns and the prepared forms of products.
  const std::int64_t beside = timing.workspace_bytes / 2 + (std::int64_t{32} << 20);
  return 2 * timing.workspace_bytes + timing.lead_bytes + beside;
}

std::vector<double> time_on_lane(RankDevice& device, const std::vector<BuildOps>& cases,
                                 const LaneTiming& timing,
                                 const std::function<void(std::size_t done)>& done) {
  std::vector<double> seconds;
  try {
    LaneTimer timer(device, timing);
    for (const BuildOps& build : cases) {
      seconds.push_back(timer.time(build));
      done(seconds.size());
    }
  } catch (const std::bad_alloc&) {
    throw Error(
        fmt::format("timing operations takes about {} of the device's memory, which is not "
                    "free",
                    human_bytes(static_cast<double>(bytes_needed(timing)))));
  }
  return seconds;
}

}  // namespace orrery::calibrate
