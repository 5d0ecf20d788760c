#include "experiments/advise/advise.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "core/base/error.hpp"
#include "core/strategy/config/strategy_info.hpp"
#include "experiments/advise/count_bounds.hpp"
#include "experiments/execute/measure.hpp"
#include "experiments/predict/prepared.hpp"
#include "experiments/predict/servers/price.hpp"
#include "experiments/predict/simulate.hpp"
#include "experiments/results/limits.hpp"
#include "experiments/results/run_report.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

/// Plans count as alike if their times differ by less than this share.
constexpr double kAlike = 0.01;

bool is_alike(const RatedPlan& plan, const RatedPlan& first) {
  return first.plan.experiment.strategy.type == plan.plan.experiment.strategy.type &&
         plan.epoch_seconds <= (1 + kAlike) * first.epoch_seconds;
}

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
  const LearnsFrom from = learns_from(strategy);
  if (from == LearnsFrom::data) return std::nullopt;
  if (strategy.type == "model_averaging")
    return strategy.averaging == Averaging::gradient
               ? "each part learns from what it holds; gradients are averaged in each step"
           : strategy.interval == 1
               ? "each part learns from what it holds; models are averaged in each epoch"
               : fmt::format(
                     "each part learns from what it holds; models are averaged in every "
                     "{} epochs",
                     strategy.interval);
  if (strategy.type == "shared_preloading")
    return fmt::format("{} co-batches: an epoch has a step for each", strategy.batches);
  if (strategy.type == "mini_batch") return "an epoch has a step for each batch";
  return from == LearnsFrom::settings ? "what is learned depends on the settings of the strategy"
                                      : "what is learned depends on the cut";
}

/// Positions in a sorted list of plans: the first of each group that is listed as one, at most
/// `most` of them.
std::vector<std::size_t> firsts_of(const std::vector<RatedPlan>& plans, std::size_t most) {
  std::vector<std::size_t> firsts;
  for (std::size_t i = 0; i < plans.size() && firsts.size() < most; ++i)
    if (std::none_of(firsts.begin(), firsts.end(),
                     [&](std::size_t first) { return is_alike(plans[i], plans[first]); }))
      firsts.push_back(i);
  return firsts;
}

/// The fastest plans; told() lists at most `most` that differ.
class Leaders {
 public:
  explicit Leaders(std::size_t most) : most_(most) {}
  /// A plan that takes longer is not listed, alone or with another one, whatever else is found.
  double beaten_by() const { return beaten_by_; }
  void add(RatedPlan plan) {
    const auto place = std::upper_bound(
        plans_.begin(), plans_.end(), plan.epoch_seconds,
        [](double seconds, const RatedPlan& other) { return seconds < other.epoch_seconds; });
    plans_.insert(place, std::move(plan));
    const auto firsts = firsts_of(plans_, most_);
    if (firsts.size() < most_) return;
    beaten_by_ = (1 + kAlike) * plans_[firsts.back()].epoch_seconds;
    while (plans_.back().epoch_seconds > beaten_by_) plans_.pop_back();
  }
  /// The first plans; one that cannot be told from an earlier plan is listed with it.
  std::vector<RatedPlan> told() const {
    std::vector<RatedPlan> told;
    for (const RatedPlan& plan : plans_) {
      const auto like = std::find_if(told.begin(), told.end(),
                                     [&](const RatedPlan& first) { return is_alike(plan, first); });
      if (like != told.end())
        like->alike.push_back(plan.plan.label);
      else if (told.size() < most_)
        told.push_back(plan);
    }
    return told;
  }

 private:
  std::size_t most_;
  std::vector<RatedPlan> plans_;
  double beaten_by_ = std::numeric_limits<double>::infinity();
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
  if (const auto bound = bound_of_memory(prepared))
    result["peak_bytes_bound"] = (*bound)[at(Space::device)];
  RatedPlan rated;
  rated.epoch_seconds = measured.mean_epoch_seconds;
  rated.errors =
      epoch_errors(price_errors(plan.experiment), made.simulation["library"], measured.breakdown);
  rated.peak_bytes = *std::max_element(measured.peak_bytes.begin(), measured.peak_bytes.end());
  rated.internal_bytes = measured.internal_bytes;
  rated.external_bytes = measured.external_bytes;
  if (!result["links"].empty() && result["links"][0]["bytes"] > 0)
    rated.busiest_link = result["links"][0]["type"];
  rated.limited_by = limited_by(result);
  rated.usd_per_epoch = usd_per_epoch(plan.experiment, rated.epoch_seconds);
  rated.difference = difference_of(prepared.experiment.strategy);
  rated.plan = std::move(plan);
  return rated;
}

/// A search under way.
class Search {
 public:
  Search(DatasetCache& datasets, Simulator& simulator, const SearchLimits& limits)
      : datasets_(datasets),
        simulator_(simulator),
        keep_(limits.keep),
        exact_(limits.best),
        others_(limits.best) {}

  /// What is known of every plan before anything of it is cut or recorded: those with the same
  /// operations on all vertices share it.
  ///
  /// Errors    those of loading the data
  void bound(const SearchSpace& space) {
    std::unordered_map<std::string, Known> of_computing;
    for (const PlanSketch& sketch : space.plans) {
      const auto [place, is_new] = of_computing.try_emplace(sketch.computing);
      if (is_new) place->second = known_of(space, sketch);
      known_.push_back(place->second);
    }
  }

  /// The plans in the order in which they are tried.
  std::vector<std::size_t> order(const SearchSpace& space) const {
    std::vector<std::size_t> order(space.plans.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto place = [&](std::size_t i) {
      const bool by_default = space.plans[i].differing == 0;
      return std::tuple(!is_kept(space.plans[i].label), !by_default,
                        !by_default && known_[i].differs, by_default ? 0 : known_[i].least_seconds);
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return place(a) < place(b); });
    return order;
  }

  void examine(const SearchSpace& space, std::size_t i, Advice& advice) {
    Leaders& leaders = known_[i].differs ? others_ : exact_;
    if (known_[i].least_seconds > leaders.beaten_by() && !is_kept(space.plans[i].label)) {
      ++advice.ruled_out_by_counts;
      return;
    }
    auto loaded = space.load(space.plans[i]);
    if (auto* impossible = std::get_if<ImpossiblePlan>(&loaded)) {
      advice.impossible.push_back(std::move(*impossible));
      return;
    }
    Plan& plan = std::get<Plan>(loaded);
    const std::string label = plan.label;
    try {
      const ProblemData data = datasets_.load(plan.experiment);
      rate(std::move(plan), data, advice);
    } catch (const OutOfMemory& error) {
      advice.too_large.push_back({label, error.what()});
    } catch (const SimulatorFailed&) {
      throw;
    } catch (const Error& error) {
      advice.impossible.push_back({label, error.what()});
    }
  }

  void finish(Advice& advice) {
    advice.exact = exact_.told();
    advice.others = others_.told();
  }

 private:
  struct Known {
    double least_seconds = 0;
    bool differs = false;  ///< it learns something else
  };

  bool is_kept(const std::string& label) const { return keep_ && keep_(label); }

  Known known_of(const SearchSpace& space, const PlanSketch& sketch) {
    const auto loaded = space.load(sketch);
    const Plan* plan = std::get_if<Plan>(&loaded);
    if (plan == nullptr) return {};  // the reason is told when it is this plan's turn
    const bool differs = difference_of(plan->experiment.strategy).has_value();
    const ProblemData data = datasets_.load(plan->experiment);
    try {
      return {bounds_.least_epoch_seconds(plan->experiment, data), differs};
    } catch (const Error&) {
      return {0, differs};  // no closed form holds: it is recorded
    }
  }

  void rate(Plan plan, const ProblemData& data, Advice& advice) {
    const PreparedExperiment prepared =
        prepare(plan.experiment, data, cuts_.of(plan.experiment, data));
    const PricedRun run = price_run(prepared);
    Leaders& leaders = difference_of(prepared.experiment.strategy) ? others_ : exact_;
    const bool kept = is_kept(plan.label);
    if (least_epoch_seconds(run) > leaders.beaten_by() && !kept) {
      ++advice.ruled_out;
      return;
    }
    RatedPlan made = rated(std::move(plan), prepared,
                           replay(run, prepared.body(), prepared.experiment, simulator_));
    ++advice.replayed;
    if (kept && (!advice.kept || made.epoch_seconds < advice.kept->epoch_seconds))
      advice.kept = made;
    if (!made.difference && !made.busiest_link.empty() &&
        made.epoch_seconds < fastest_over_links_) {
      fastest_over_links_ = made.epoch_seconds;
      advice.busiest_link = made.busiest_link;
    }
    leaders.add(std::move(made));
  }

  DatasetCache& datasets_;
  Simulator& simulator_;
  std::function<bool(const std::string&)> keep_;
  Cuts cuts_;
  CountBounds bounds_;
  std::vector<Known> known_;  ///< of each plan
  Leaders exact_, others_;
  double fastest_over_links_ = std::numeric_limits<double>::infinity();
};

/// The seconds by which two plans compare.
std::pair<double, double> seconds_of(const RatedPlan& plan, const RatedPlan& best) {
  if (plan.measured_seconds && best.measured_seconds)
    return {*plan.measured_seconds, *best.measured_seconds};
  return {plan.epoch_seconds, best.epoch_seconds};
}

}  // namespace

std::optional<Verdict> compare_plans(const RatedPlan& plan, const RatedPlan& best) {
  if (!plan.measured_seconds || !best.measured_seconds)
    return compare_epochs(plan.epoch_seconds, plan.errors, best.epoch_seconds, best.errors);
  return std::abs(std::log1p(more_than(plan, best))) <= std::log1p(kMargin) ? Verdict::as_fast
                                                                            : Verdict::apart;
}

double more_than(const RatedPlan& plan, const RatedPlan& best) {
  const auto [seconds, least] = seconds_of(plan, best);
  return seconds / least - 1;
}

Advice advise(SearchSpace space, DatasetCache& datasets, Simulator& simulator,
              const SearchLimits& limits, const std::function<void(std::size_t)>& tell) {
  Advice advice;
  advice.plans = space.plans.size() + space.impossible.size();
  advice.impossible = std::move(space.impossible);
  simulator.start();
  Search search(datasets, simulator, limits);
  const auto end = Clock::now() + std::chrono::duration<double>(limits.seconds);
  datasets.load(space.base);  // no closed form: plans share it
  const auto begin = Clock::now();
  search.bound(space);
  advice.bounding_seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  std::size_t done = 0;
  for (const std::size_t i : search.order(space)) {
    if (done > 0 && Clock::now() > end) break;
    tell(done);
    search.examine(space, i, advice);
    ++done;
  }
  advice.not_tried = space.plans.size() - done;
  search.finish(advice);
  return advice;
}

}  // namespace orrery
