#include "experiments/advise/advise.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <unordered_map>

#include "core/base/error.hpp"
#include "core/strategy/config/strategy_info.hpp"
#include "experiments/execute/measure.hpp"
#include "experiments/predict/prepared.hpp"
#include "experiments/predict/simulate.hpp"
#include "experiments/results/limits.hpp"
#include "experiments/results/run_report.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

/// Plans count as alike if their times differ by less than this share.
constexpr double kAlike = 0.01;
/// The search keeps this many times the plans that it reports, because some of them are alike.
constexpr std::size_t kKept = 8;

/// The cuts made so far: plans of a strategy mostly share theirs.
class Cuts {
 public:
  const Partition& of(const Experiment& experiment, const ProblemData& data) {
    const Json& file = experiment.resolved;
    const StrategyConfig& strategy = experiment.strategy;
    const Json key{file["dataset"],
                   file["partition"],
                   file["cluster"],
                   experiment.seed,
                   experiment.partition.metis.servers,
                   parts_for(strategy, experiment.ranks()),
                   static_cast<int>(strategy.cross_edges),
                   info_of(strategy).deals_parts};
    const auto [place, is_new] = cuts_.try_emplace(key.dump());
    if (is_new) try {
        place->second = make_partition(experiment, data);
      } catch (...) {
        cuts_.erase(place);
        throw;
      }
    return place->second;
  }

 private:
  std::unordered_map<std::string, Partition> cuts_;
};

std::optional<std::string> difference_of(const StrategyConfig& strategy) {
  if (const auto why = inexactness(strategy)) return why;
  switch (learns_from(strategy)) {
    case LearnsFrom::data:
      return std::nullopt;
    case LearnsFrom::settings:
      return "what is learned depends on the settings of the strategy";
    case LearnsFrom::cut:
      break;
  }
  return "what is learned depends on the cut";
}

/// The first plans; a plan like an earlier one is reported with it.
std::vector<RatedPlan> told(std::vector<RatedPlan> plans, std::size_t most) {
  std::vector<RatedPlan> firsts;
  for (RatedPlan& plan : plans) {
    const auto like = std::find_if(firsts.begin(), firsts.end(), [&](const RatedPlan& first) {
      return first.plan.experiment.strategy.type == plan.plan.experiment.strategy.type &&
             plan.epoch_seconds <= (1 + kAlike) * first.epoch_seconds;
    });
    if (like != firsts.end())
      like->alike.push_back(plan.plan.label);
    else if (firsts.size() < most)
      firsts.push_back(std::move(plan));
  }
  return firsts;
}

/// The plans with the shortest epochs.
class Leaders {
 public:
  explicit Leaders(std::size_t most) : most_(most) {}
  /// A plan that takes at least this long cannot become one of them.
  double beaten_by() const {
    return plans_.size() < most_ ? std::numeric_limits<double>::infinity()
                                 : plans_.back().epoch_seconds;
  }
  void add(RatedPlan plan) {
    const auto place = std::upper_bound(
        plans_.begin(), plans_.end(), plan.epoch_seconds,
        [](double seconds, const RatedPlan& other) { return seconds < other.epoch_seconds; });
    plans_.insert(place, std::move(plan));
    if (plans_.size() > most_) plans_.pop_back();
  }
  std::vector<RatedPlan>& plans() { return plans_; }

 private:
  std::size_t most_;
  std::vector<RatedPlan> plans_;
};

RatedPlan rated(Plan plan, const PreparedExperiment& prepared, SimulatedOutcome made) {
  std::vector<std::vector<EpochCost>> costs;
  std::vector<Summary> summaries;
  for (const RankOutcome& rank : made.outcome.ranks) {
    costs.push_back(rank.epochs);
    summaries.push_back(rank.summary);
  }
  const Measurement measured = measure(costs, summaries);
  Json result = result_json(prepared.experiment, prepared.problem->facts(),
                            prepared.experiment.placement(), made.outcome, measured);
  result["links"] = std::move(made.links);
  RatedPlan rated;
  rated.plan = std::move(plan);
  rated.epoch_seconds = measured.mean_epoch_seconds;
  rated.peak_bytes = *std::max_element(measured.peak_bytes.begin(), measured.peak_bytes.end());
  rated.internal_bytes = measured.internal_bytes;
  rated.external_bytes = measured.external_bytes;
  rated.limited_by = limited_by(result);
  rated.difference = difference_of(prepared.experiment.strategy);
  return rated;
}

/// A search under way.
class Search {
 public:
  Search(DatasetCache& datasets, Simulator& simulator, std::size_t best)
      : datasets_(datasets),
        simulator_(simulator),
        best_(best),
        exact_(kKept * best),
        others_(kKept * best) {}

  void examine(Plan plan, Advice& advice) {
    const ProblemData data = datasets_.load(plan.experiment);
    const std::string label = plan.label;
    try {
      rate(std::move(plan), data, advice);
    } catch (const OutOfMemory& error) {
      advice.too_large.push_back({label, error.what()});
    } catch (const Error& error) {
      advice.impossible.push_back({label, error.what()});
    }
  }

  void finish(Advice& advice) {
    advice.exact = told(std::move(exact_.plans()), best_);
    advice.others = told(std::move(others_.plans()), best_);
  }

 private:
  void rate(Plan plan, const ProblemData& data, Advice& advice) {
    const PreparedExperiment prepared =
        prepare(plan.experiment, data, cuts_.of(plan.experiment, data));
    const PricedRun run = price_run(prepared);
    Leaders& leaders = difference_of(prepared.experiment.strategy) ? others_ : exact_;
    if (least_epoch_seconds(run) >= leaders.beaten_by()) {
      ++advice.ruled_out;
      return;
    }
    RatedPlan made = rated(std::move(plan), prepared,
                           replay(run, prepared.body(), prepared.experiment, simulator_));
    ++advice.replayed;
    leaders.add(std::move(made));
  }

  DatasetCache& datasets_;
  Simulator& simulator_;
  std::size_t best_;
  Cuts cuts_;
  Leaders exact_, others_;
};

}  // namespace

Advice advise(SearchSpace space, DatasetCache& datasets, Simulator& simulator,
              const SearchLimits& limits, const std::function<void(std::size_t)>& tell) {
  Advice advice;
  advice.plans = space.plans.size() + space.impossible.size();
  advice.impossible = std::move(space.impossible);
  Search search(datasets, simulator, limits.best);
  const auto end = Clock::now() + std::chrono::duration<double>(limits.seconds);
  std::size_t done = 0;
  for (Plan& plan : space.plans) {
    if (done > 0 && Clock::now() > end) break;
    tell(done);
    search.examine(std::move(plan), advice);
    ++done;
  }
  advice.not_tried = space.plans.size() - done;
  search.finish(advice);
  return advice;
}

}  // namespace orrery
