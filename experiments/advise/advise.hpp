// The fastest plan that fits: closed forms rule out what cannot win, all others are recorded, held
// against the memory of their devices, and replayed unless their computation alone takes longer than
// the plans that lead.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/advise/search_space.hpp"
#include "experiments/config/load_problem.hpp"
#include "experiments/predict/interval.hpp"
#include "experiments/predict/simulator.hpp"

namespace orrery {

/// A plan that was replayed.
struct RatedPlan {
  Plan plan;
  double epoch_seconds = 0;           ///< simulated: mean of an epoch on its slowest rank
  std::optional<EpochErrors> errors;  ///< of these; nothing: the profile says nothing of its own
  std::int64_t peak_bytes = 0;        ///< device memory of the rank that needs most
  double internal_bytes = 0;          ///< received in an epoch inside servers, all ranks together
  double external_bytes = 0;          ///< and between them
  std::string busiest_link;           ///< type of the link that is busiest; empty: none is used
  /// What its servers cost for the time of an epoch; nothing: the cluster file names no price.
  std::optional<double> usd_per_epoch;
  nlohmann::ordered_json limited_by;  ///< see limits.hpp
  /// Why it learns something else than whole-graph training (apart from rounding); empty: it learns
  /// the same.
  std::optional<std::string> difference;
  /// Labels of plans of the same strategy that take as long, to a hundredth.
  std::vector<std::string> alike;
  std::optional<double> measured_seconds;  ///< of an epoch, where it ran for real
  std::string not_measured;                ///< why it was to run and did not; else empty
};

/// By what both took for real (within kMargin: as fast) or, if one did not run, by their replays.
std::optional<Verdict> compare_plans(const RatedPlan& plan, const RatedPlan& best);
/// What the plan takes more than the other, of that one: 0.1 for a tenth; by the same seconds.
double more_than(const RatedPlan& plan, const RatedPlan& best);

/// Real runs of plans that replays do not find slower than the fastest (measure_plans.hpp).
struct Measuring {
  std::size_t plans = 0;         ///< that ran; none: all others are slower by their replays
  int turns = 0;                 ///< runs of those that lead
  int epochs = 0;                ///< of each run
  std::string other_work{};      ///< of other programs, if it made them longer; else empty
  std::size_t in_all_turns = 0;  ///< plans that lead; the others ran in the first turns alone
};

struct Advice {
  /// Two lists, each with the fastest first: plans that learn what whole-graph training learns, and
  /// the others.
  std::vector<RatedPlan> exact, others;
  std::size_t plans = 0, replayed = 0;
  std::size_t ruled_out_by_counts = 0;  ///< their closed forms take longer than the best took
  std::size_t ruled_out = 0;            ///< their computation alone does, as it was recorded
  std::size_t not_tried = 0;            ///< when the time was over
  std::vector<ImpossiblePlan> impossible, too_large;  ///< with reasons
  double bounding_seconds = 0;                        ///< that closed forms of all plans took
  std::optional<RatedPlan> kept;                      ///< the fastest of SearchLimits::keep
  /// The busiest link of the fastest plan that uses links and learns the same as whole-graph
  /// training; empty: none was replayed.
  std::string busiest_link;
  std::optional<Measuring> measuring;  ///< nothing: no plan was to run
};

struct SearchLimits {
  std::size_t best = 3;  ///< plans to report of each kind, without those that are alike
  double seconds = 120;  ///< no plan is begun after this time
  /// Whether a plan with this label is replayed first, whatever else is found; none: no plan is.
  std::function<bool(const std::string& label)> keep{};
};

/// Looks for the fastest plans of a space. The answer is that of replaying all plans, unless the
/// time ends before (Advice::not_tried). First comes each strategy with its defaults, then the
/// plans that learn the same as whole-graph training, by their lower bounds (count_bounds.hpp),
/// then the others.
///
/// `tell` is called with the number of finished plans.
/// Errors    those of loading the data; NotBuilt (no simulator); SimulatorFailed; the advice reports
///           errors of single plans
Advice advise(SearchSpace space, DatasetCache& datasets, Simulator& simulator,
              const SearchLimits& limits, const std::function<void(std::size_t)>& tell);

}  // namespace orrery
