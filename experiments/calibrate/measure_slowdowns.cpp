#include "experiments/calibrate/measure_slowdowns.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "core/runtime/execute/memory.hpp"
#include "experiments/calibrate/time_ops.hpp"

namespace orrery::calibrate {
namespace {

/// A lane, and the number of its items.
class CountedLane {
 public:
  CountedLane(RankDevice& device, Lane lane) : lane_(device.open_lane(lane)) {}

  template <class Issue>
  void item(const Issue& issue) {
    lane_->begin_span(nullptr);
    issue(*lane_);
    lane_->end_item(Span{});
    ++issued_;
  }
  std::vector<Span> settle() {
    lane_->await(issued_);
    return lane_->take_spans();
  }

 private:
  std::unique_ptr<DeviceLane> lane_;
  std::uint32_t issued_ = 0;
};

std::vector<double> seconds_of(const std::vector<Span>& spans) {
  std::vector<double> seconds;
  for (const Span& span : spans) seconds.push_back(span.end - span.begin);
  return seconds;
}

class KernelsBesideCopies {
 public:
  KernelsBesideCopies(const SlowdownBench& bench, RankDevice& device)
      : bench_(bench),
        kernels_(device, Lane::compute),
        copies_(device, Lane::comm),
        memory_(0, device.storage()) {
    for (std::uint32_t id = 0; id < kOnDevice; ++id) memory_.allocate(id, bench.bytes);
    memory_.allocate(kPinned, bench.bytes, Space::pinned_host);
    device.storage().set(Space::pinned_host, memory_.bytes_at(operand(kPinned)), 0, bench.bytes);
    for (std::uint32_t id = 0; id < kOnDevice; ++id)
      kernels_.item([&](DeviceLane& lane) { lane.kernels().run(Fill{operand(id), 1}, memory_); });
    run_kernels();
    alone_seconds_ = median(seconds_of(run_kernels()));
  }

  /// For one copy, alone.
  double seconds_of_copy_from(std::uint32_t source) {
    constexpr int kCopies = 3;
    for (int i = 0; i < kCopies; ++i) copy(source);
    return std::max(kLeastSeconds, median(seconds_of(copies_.settle())));
  }

  std::optional<double> beside_copies_from(std::uint32_t source) {
    const double once = seconds_of_copy_from(source);
    const double wanted = bench_.longer * bench_.kernels * alone_seconds_;
    const int copies = std::clamp(static_cast<int>(std::ceil(wanted / once)), 2, kMostCopies);
    for (int i = 0; i < copies; ++i) copy(source);
    const std::vector<Span> kernels = run_kernels(), beside = copies_.settle();
    std::vector<Span> during;
    std::copy_if(kernels.begin(), kernels.end(), std::back_inserter(during), [&](const Span& k) {
      return k.begin >= beside.front().begin && k.end <= beside.back().end;
    });
    if (during.empty() || alone_seconds_ <= 0) return std::nullopt;
    return std::max(1.0, median(seconds_of(during)) / alone_seconds_);
  }

  static constexpr std::uint32_t kSource = 2, kTarget = 3, kOnDevice = 4, kPinned = 4;

 private:
  static constexpr int kMostCopies = 1000;
  static constexpr double kLeastSeconds = 1e-7;  // of clocks that are too coarse

  Tensor operand(std::uint32_t id) const {
    return {.id = id,
            .shape = {bench_.bytes / 256, 64},
            .space = id == kPinned ? Space::pinned_host : Space::device,
            .ld = 64};
  }
  /// Beside the work of the other lane.
  std::vector<Span> run_kernels() {
    const Op op = ActivateBackward{operand(0), operand(1), operand(0), Activation::relu, {}};
    for (int i = 0; i < bench_.kernels; ++i)
      kernels_.item([&](DeviceLane& lane) { lane.kernels().run(op, memory_); });
    return kernels_.settle();
  }
  void copy(std::uint32_t source) {
    copies_.item([&](DeviceLane& lane) {
      lane.mover().copy(memory_.bytes_at(operand(kTarget)), memory_.bytes_at(operand(source)),
                        bench_.bytes);
    });
  }

  const SlowdownBench& bench_;
  CountedLane kernels_, copies_;
  RankMemory memory_;
  double alone_seconds_ = 0;
};

}  // namespace

std::int64_t bytes_needed(const SlowdownBench& bench) {
  return KernelsBesideCopies::kOnDevice * bench.bytes;
}

Slowdowns measure_slowdowns(const SlowdownBench& bench, RankDevice& device) {
  KernelsBesideCopies kernels(bench, device);
  return {kernels.beside_copies_from(KernelsBesideCopies::kPinned),
          kernels.beside_copies_from(KernelsBesideCopies::kSource),
          static_cast<double>(bench.bytes) /
              kernels.seconds_of_copy_from(KernelsBesideCopies::kPinned)};
}

}  // namespace orrery::calibrate
