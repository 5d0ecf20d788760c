#include "experiments/advise/measure_plans.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/base/error.hpp"
#include "core/base/median.hpp"

namespace orrery {
namespace {

constexpr double kSecondsOfARun = 1;

/// The first plan and those whose replays do not say that they are slower; nothing where it is the only
/// one.
std::vector<RatedPlan*> undecided(std::vector<RatedPlan>& plans) {
  std::vector<RatedPlan*> chosen;
  for (RatedPlan& plan : plans) {
    const bool slower = compare_plans(plan, plans.front()) == Verdict::apart;
    if (chosen.size() < kMostMeasured && (chosen.empty() || !slower)) chosen.push_back(&plan);
  }
  if (chosen.size() < 2) chosen.clear();
  return chosen;
}

}  // namespace

int epochs_to_measure(double seconds) {
  const double fit = 1 + std::ceil(kSecondsOfARun / seconds);
  return static_cast<int>(std::clamp<double>(fit, kFewestEpochs, kMostEpochs));
}

Measuring measure_plans(std::vector<RatedPlan>& plans, const RunPlan& run,
                        const std::function<void(int run, int of)>& tell) {
  const std::vector<RatedPlan*> chosen = undecided(plans);
  if (chosen.empty()) return {};
  const int epochs = epochs_to_measure(chosen.front()->epoch_seconds);
  std::vector<std::vector<double>> seconds(chosen.size());
  const int runs = kTurns * static_cast<int>(chosen.size());
  for (int i = 0; i < runs; ++i) {
    const std::size_t at = static_cast<std::size_t>(i) % chosen.size();
    RatedPlan& plan = *chosen[at];
    if (!plan.not_measured.empty()) continue;
    tell(i, runs);
    try {
      seconds[at].push_back(run(plan.plan, epochs));
    } catch (const NotBuilt&) {
      throw;
    } catch (const Error& error) {
      plan.not_measured = error.what();
    }
  }
  Measuring measuring{0, kTurns, epochs, {}};
  for (std::size_t at = 0; at < chosen.size(); ++at) {
    if (!chosen[at]->not_measured.empty()) continue;
    chosen[at]->measured_seconds = median(seconds[at]);
    ++measuring.plans;
  }
  if (measuring.plans == 0)
    throw Error(fmt::format("none of {} plans could be measured; {}: {}", chosen.size(),
                            chosen.front()->plan.label, chosen.front()->not_measured));
  std::stable_sort(plans.begin(), plans.end(), [](const RatedPlan& a, const RatedPlan& b) {
    if (!a.measured_seconds || !b.measured_seconds)
      return a.measured_seconds.has_value() && !b.measured_seconds;
    return *a.measured_seconds < *b.measured_seconds;
  });
  return measuring;
}

}  // namespace orrery
