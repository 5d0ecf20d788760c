#include "experiments/starve/stage_times.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/index.hpp"

namespace orrery {
namespace {

constexpr double kNoticeable = 0.05;  // of the time: a smaller share is no starving

constexpr std::size_t number(BatchStage stage) { return static_cast<std::size_t>(stage); }
constexpr std::size_t kTrain = number(BatchStage::train);

std::optional<BatchStage> stage_of(Lane lane) {
  switch (lane) {
    case Lane::sampler:
      return BatchStage::sample;
    case Lane::store:
      return BatchStage::fetch;
    case Lane::copy:
      return BatchStage::load;
    case Lane::compute:
    case Lane::comm:
    case Lane::comm2:
      return BatchStage::train;
    case Lane::host:
      break;
  }
  return std::nullopt;
}

/// The times of the rank's epochs, in order.
std::vector<std::pair<double, double>> windows_of(const Timeline& timeline,
                                                  const EpochRange& epochs) {
  std::vector<std::pair<double, double>> windows;
  bool inside = false;
  for (const Timeline::Mark& mark : timeline.marks) {
    const bool now = mark.phase.in_epoch() && epochs.contains(mark.phase.epoch);
    if (now && !inside) windows.emplace_back(mark.at, mark.at);
    if (inside) windows.back().second = mark.at;
    inside = now;
  }
  return windows;
}

struct End {
  double at;
  std::size_t stage;
  int change;
};

}  // namespace

std::string_view name_of(BatchStage stage) {
  constexpr std::array<std::string_view, kBatchStages> names{"sample", "fetch", "load", "train"};
  return names[number(stage)];
}

double StageTimes::waiting() const {
  double sum = 0;
  for (std::size_t s = 0; s < kTrain; ++s) sum += waited[s];
  return sum;
}

BatchStage StageTimes::limit() const {
  if (waiting() < kNoticeable * seconds) return BatchStage::train;
  const auto most = std::max_element(waited.begin(), waited.begin() + kTrain);
  return static_cast<BatchStage>(most - waited.begin());
}

StageTimes& StageTimes::operator+=(const StageTimes& other) {
  seconds += other.seconds;
  for (std::size_t s = 0; s < kBatchStages; ++s) {
    busy[s] += other.busy[s];
    waited[s] += other.waited[s];
  }
  return *this;
}

StageTimes stage_times(const Timeline& timeline, const EpochRange& epochs) {
  StageTimes times;
  for (const auto& [begin, end] : windows_of(timeline, epochs)) {
    std::vector<End> ends;
    for (const Span& span : timeline.spans) {
      const auto stage = stage_of(span.lane);
      const double from = std::max(begin, span.begin), to = std::min(end, span.end);
      if (!stage || from >= to) continue;
      ends.push_back({from, number(*stage), +1});
      ends.push_back({to, number(*stage), -1});
    }
    std::sort(ends.begin(), ends.end(), [](const End& a, const End& b) { return a.at < b.at; });
    ends.push_back({end, kTrain, 0});

    std::array<int, kBatchStages> at_work{};
    double now = begin;
    for (const End& next : ends) {
      const double passed = next.at - now;
      std::size_t last = kTrain;  // of the stages at work, the nearest to the trainer
      for (std::size_t s = 0; s < kBatchStages; ++s) {
        if (at_work[s] == 0) continue;
        times.busy[s] += passed;
        last = s;
      }
      if (at_work[kTrain] == 0) times.waited[last] += passed;
      now = next.at;
      at_work[next.stage] += next.change;
    }
    times.seconds += end - begin;
  }
  return times;
}

}  // namespace orrery
