#include "experiments/advise/measure_plans.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "core/base/error.hpp"
#include "experiments/execute/median.hpp"

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

/// Runs plans one after the other, again and again.
class Turns {
 public:
  Turns(const std::vector<RatedPlan*>& plans, int epochs, const RunPlan& run,
        const std::function<void(int run, int of)>& tell)
      : epochs_(epochs), run_(run), tell_(tell) {
    for (RatedPlan* plan : plans) entries_.push_back({plan, {}, true});
  }
  int done() const { return done_; }
  /// Plans that are still run.
  std::ptrdiff_t running() const {
    return std::count_if(entries_.begin(), entries_.end(), [](const Entry& e) { return e.runs; });
  }
  void next() {
    const int left = (kTurns - done_++) * static_cast<int>(running());
    int runs = 0;
    for (Entry& e : entries_) {
      if (!e.runs) continue;
      tell_(runs_ + runs, runs_ + left);
      ++runs;
      try {
        e.seconds.push_back(run_(e.plan->plan, epochs_));
      } catch (const NotBuilt&) {
        throw;
      } catch (const Error& error) {
        e.plan->not_measured = error.what();
        e.runs = false;
      }
    }
    runs_ += runs;
  }
  /// Of plans that are so far behind no further turn is worth its time.
  void leave_out_far() {
    double least = std::numeric_limits<double>::infinity();
    for (const Entry& e : entries_)
      if (e.runs) least = std::min(least, median(e.seconds));
    for (Entry& e : entries_) e.runs = e.runs && median(e.seconds) <= (1 + kFar) * least;
  }
  /// Notes the medians and puts the measured plans first.
  Measuring order(std::vector<RatedPlan>& plans) const {
    Measuring measuring{0, done_, epochs_, {}};
    std::vector<std::string> leading;  // plans are about to move
    for (const Entry& e : entries_) {
      if (!e.plan->not_measured.empty()) continue;
      e.plan->measured_seconds = median(e.seconds);
      ++measuring.plans;
      if (e.runs) leading.push_back(e.plan->plan.label);
    }
    if (measuring.plans == 0) {
      const RatedPlan& first = *entries_.front().plan;
      throw Error(fmt::format("none of {} plans could be measured; {}: {}", entries_.size(),
                              first.plan.label, first.not_measured));
    }
    measuring.in_all_turns = leading.size();
    const auto rank = [&](const RatedPlan& plan) {
      if (!plan.measured_seconds) return std::pair(2, 0.0);
      const bool leads =
          std::find(leading.begin(), leading.end(), plan.plan.label) != leading.end();
      return std::pair(leads ? 0 : 1, *plan.measured_seconds);
    };
    std::stable_sort(plans.begin(), plans.end(),
                     [&](const RatedPlan& a, const RatedPlan& b) { return rank(a) < rank(b); });
    return measuring;
  }

 private:
  struct Entry {
    RatedPlan* plan;
    std::vector<double> seconds;
    bool runs;
  };
  std::vector<Entry> entries_;
  int epochs_;
  const RunPlan& run_;
  const std::function<void(int run, int of)>& tell_;
  int done_ = 0, runs_ = 0;
};

}  // namespace

int epochs_to_measure(double seconds) {
  const double fit = 1 + std::ceil(kSecondsOfARun / seconds);
  return static_cast<int>(std::clamp<double>(fit, kFewestEpochs, kMostEpochs));
}

Measuring measure_plans(std::vector<RatedPlan>& plans, const RunPlan& run,
                        const std::function<void(int run, int of)>& tell) {
  const std::vector<RatedPlan*> chosen = undecided(plans);
  if (chosen.empty()) return {};
  Turns turns(chosen, epochs_to_measure(chosen.front()->epoch_seconds), run, tell);
  for (int i = 0; i < kFirstTurns; ++i) turns.next();
  turns.leave_out_far();
  while (turns.done() < kTurns && turns.running() > 1) turns.next();
  return turns.order(plans);
}

}  // namespace orrery
