#include "experiments/execute/measure.hpp"

#include <algorithm>
#include <numeric>

namespace orrery {
namespace {

/// Ranks that wait for each other end an epoch together, to this share of it.
constexpr double kTogether = 0.02;

/// An epoch on the rank that took longest.
const EpochCost& slowest(const std::vector<std::vector<EpochCost>>& costs, std::size_t epoch) {
  const auto& rank = *std::max_element(
      costs.begin(), costs.end(),
      [epoch](const auto& a, const auto& b) { return a[epoch].seconds < b[epoch].seconds; });
  return rank[epoch];
}

double work_of(const Breakdown& parts) { return parts.compute + parts.sample + parts.load; }

/// What an epoch was spent on: its parts on the rank that worked most of those that took longest. The
/// others waited for it, so theirs would tell of waiting where work is unequal.
Breakdown parts_of(const std::vector<std::vector<EpochCost>>& costs, std::size_t epoch) {
  const double seconds = slowest(costs, epoch).seconds;
  const EpochCost* most = nullptr;
  for (const auto& rank : costs)
    if (rank[epoch].seconds >= (1 - kTogether) * seconds &&
        (most == nullptr || work_of(rank[epoch].breakdown) > work_of(most->breakdown)))
      most = &rank[epoch];
  Breakdown parts = most->breakdown;
  parts.other += seconds - most->seconds;
  return parts;
}

double mean_of_periods(const std::vector<double>& seconds, std::size_t period) {
  if (seconds.empty()) return 0;
  const std::size_t whole = (seconds.size() - 1) / period * period;
  const std::size_t counted = whole > 0 ? whole : seconds.size();
  return std::accumulate(seconds.end() - static_cast<std::ptrdiff_t>(counted), seconds.end(), 0.0) /
         static_cast<double>(counted);
}

}  // namespace

Measurement measure(const std::vector<std::vector<EpochCost>>& costs,
                    const std::vector<Summary>& summaries) {
  Measurement result;
  for (std::size_t e = 0; e < costs.front().size(); ++e) {
    result.seconds.push_back(slowest(costs, e).seconds);
    double least = costs.front()[e].breakdown.synchronise;
    for (const auto& rank : costs) least = std::min(least, rank[e].breakdown.synchronise);
    result.synchronise_seconds += least;
  }

  const int period = summaries.empty() ? 1 : summaries.front().epochs;
  result.mean_epoch_seconds = mean_of_periods(result.seconds, static_cast<std::size_t>(period));

  std::vector<std::size_t> order(result.seconds.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (order.size() > 1) order.erase(order.begin());
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return result.seconds[a] < result.seconds[b]; });
  if (!order.empty()) {
    const std::size_t median = order[(order.size() - 1) / 2];
    result.epoch_seconds = slowest(costs, median).seconds;
    result.breakdown = parts_of(costs, median);
    for (const auto& rank : costs) result.ranks.push_back(rank[median]);
  }
  std::int64_t largest = -1;
  for (const Summary& summary : summaries) {
    if (summary.peak_device_bytes > largest) {
      largest = summary.peak_device_bytes;
      result.peak_by_class = summary.peak_by_class;
    }
    const Totals::Kind epoch = summary.epoch.sum();
    result.internal_bytes += epoch.internal / summary.epochs;
    result.external_bytes += epoch.external / summary.epochs;
    result.peak_bytes.push_back(summary.peak_device_bytes);
  }
  return result;
}

std::optional<EpochReport> best_epoch(const std::vector<EpochReport>& epochs, BestBy by) {
  std::optional<EpochReport> best;
  std::optional<BestSoFar> noted;
  for (const EpochReport& report : epochs) {
    if (!report.scores) continue;
    if (note_epoch(noted, report, by) || !report.scores->validation) best = report;
  }
  return best;
}

}  // namespace orrery
