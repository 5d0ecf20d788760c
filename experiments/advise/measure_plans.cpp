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

/// How fast the machine was in each turn. What drifts meets all plans of a turn, so they are compared within
/// turns: a plan's seconds are those of its turns, each beside the geometric mean of the plans that run in all.
class Pace {
 public:
  /// `plans`: seconds by turn of those that have run in all turns
  explicit Pace(const std::vector<std::vector<double>>& plans) {
    if (plans.empty()) return;
    for (std::size_t turn = 0; turn < plans.front().size(); ++turn) {
      double logs = 0;
      for (const std::vector<double>& seconds : plans) logs += std::log(seconds[turn]);
      turns_.push_back(std::exp(logs / static_cast<double>(plans.size())));
    }
    usual_ = median(turns_);
  }
  /// The median of a plan's first turns at the usual pace.
  double seconds(std::vector<double> turns) const {
    for (std::size_t i = 0; i < std::min(turns.size(), turns_.size()); ++i)
      turns[i] *= usual_ / turns_[i];
    return median(turns);
  }

 private:
  std::vector<double> turns_;
  double usual_ = 0;
};

/// Runs plans one after the other, again and again, every second time in reverse, so that no plan is always
/// the one that runs behind a certain other.
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
    const bool forward = done_ % 2 == 0;
    const int left = (kTurns - done_++) * static_cast<int>(running());
    int runs = 0;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      Entry& e = entries_[forward ? i : entries_.size() - 1 - i];
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
    const Pace pace = this->pace();
    double least = std::numeric_limits<double>::infinity();
    for (const Entry& e : entries_)
      if (e.runs) least = std::min(least, pace.seconds(e.seconds));
    for (Entry& e : entries_) e.runs = e.runs && pace.seconds(e.seconds) <= (1 + kFar) * least;
  }
  /// Notes the seconds and puts the measured plans first.
  Measuring order(std::vector<RatedPlan>& plans) const {
    Measuring measuring{0, done_, epochs_, {}};
    const Pace pace = this->pace();
    for (const Entry& e : entries_) {
      if (!e.plan->not_measured.empty()) continue;
      e.plan->measured_seconds = pace.seconds(e.seconds);
      ++measuring.plans;
      if (e.runs) ++measuring.in_all_turns;
    }
    if (measuring.plans == 0) {
      const RatedPlan& first = *entries_.front().plan;
      throw Error(fmt::format("none of {} plans could be measured; {}: {}", entries_.size(),
                              first.plan.label, first.not_measured));
    }
    const auto seconds = [](const RatedPlan& plan) {
      return plan.measured_seconds.value_or(std::numeric_limits<double>::infinity());
    };
    std::stable_sort(plans.begin(), plans.end(), [&](const RatedPlan& a, const RatedPlan& b) {
      return seconds(a) < seconds(b);
    });
    return measuring;
  }

 private:
  struct Entry {
    RatedPlan* plan;
    std::vector<double> seconds;
    bool runs;
  };

  Pace pace() const {
    std::vector<std::vector<double>> lasting;
    for (const Entry& e : entries_)
      if (e.runs) lasting.push_back(e.seconds);
    return Pace(lasting);
  }

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
