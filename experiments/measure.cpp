#include "experiments/measure.hpp"

#include <algorithm>
#include <numeric>

namespace orrery {
namespace {

/// The rank that took longest in an epoch.
const Timeline& slowest(const std::vector<Timeline>& timelines, int epoch) {
  return *std::max_element(timelines.begin(), timelines.end(),
                           [epoch](const Timeline& a, const Timeline& b) {
                             return epoch_seconds(a.marks, epoch) < epoch_seconds(b.marks, epoch);
                           });
}

}  // namespace

Measurement measure(const std::vector<Timeline>& timelines, const std::vector<Summary>& summaries,
                    int epochs) {
  Measurement result;
  for (int e = 0; e < epochs; ++e)
    result.seconds.push_back(epoch_seconds(slowest(timelines, e).marks, e));

  std::vector<int> order(static_cast<std::size_t>(epochs));
  std::iota(order.begin(), order.end(), 0);
  if (epochs > 1) order.erase(order.begin());
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return result.seconds[static_cast<std::size_t>(a)] <
           result.seconds[static_cast<std::size_t>(b)];
  });
  if (!order.empty()) {
    const int median = order[(order.size() - 1) / 2];
    result.epoch_seconds = result.seconds[static_cast<std::size_t>(median)];
    result.breakdown = epoch_breakdown(slowest(timelines, median), median);
  }
  for (const Summary& summary : summaries) {
    const Totals::Kind epoch = summary.epoch.sum();
    result.internal_bytes += epoch.internal;
    result.external_bytes += epoch.external;
    result.peak_bytes.push_back(summary.peak_device_bytes);
  }
  return result;
}

std::optional<EpochReport> best_epoch(const std::vector<EpochReport>& epochs) {
  std::optional<EpochReport> best;
  for (const EpochReport& report : epochs) {
    if (!report.scores) continue;
    if (!best || !report.scores->validation ||
        *report.scores->validation > *best->scores->validation)
      best = report;
  }
  return best;
}

}  // namespace orrery
