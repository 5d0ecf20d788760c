// The plans of a search: an experiment file with other strategies, orders, cuts and ranks.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "experiments/config/experiment.hpp"

namespace orrery {

/// A key of an experiment file and the values that are tried; null: the file's own value.
struct Axis {
  std::string key;
  std::vector<nlohmann::ordered_json> values;
};

/// "strategy.depth=1,2,fit": values in JSON or, failing that, plain strings.
///
/// Errors    ConfigError: no key, no values, values that are lists or objects, a key that changes
///           what is computed and not how (only strategy.*, partition.*, model.order,
///           train.bucket_bytes and numbers of ranks, gpus and servers can be searched)
Axis parse_axis(const std::string& text);

/// One way to carry out the experiment.
struct Plan {
  Experiment experiment;        ///< of backend sim
  nlohmann::ordered_json file;  ///< of the backend that the file names, for orrery run, anywhere
  std::string label;  ///< how it differs from the file: "strategy.type=spmm_15d, model.order=auto"
};

/// A way to carry out the experiment that is not possible.
struct ImpossiblePlan {
  std::string label, reason;
};

/// A plan before its file is read.
struct PlanSketch {
  std::string label;
  std::vector<std::string> overrides;  ///< of the searched file
  int differing = 0;  ///< settings that are not the first that its strategy is tried with
  /// The label without how vertices are cut and gradients summed: plans that share it have the same
  /// operations on all vertices.
  std::string computing;
};

class SearchSpace {
 public:
  Experiment base;  ///< the file itself, or the file with strategy full_graph
  std::vector<PlanSketch>
      plans;  ///< first each strategy with its defaults, then plans that differ more
  std::vector<ImpossiblePlan> impossible;  ///< strategies that cannot be helped

  /// Reads the file of a plan.
  std::variant<Plan, ImpossiblePlan> load(const PlanSketch& sketch) const;

  std::string file;                ///< that is searched
  nlohmann::ordered_json backend;  ///< that it names; null: none
};

/// The overrides and, if the file names no strategy, one: a file may ask for the best of all.
std::vector<std::string> with_any_strategy(const std::string& file,
                                           std::vector<std::string> overrides);

/// The key that says how many ranks there are, and half of them beside null; nothing for odd numbers.
std::optional<Axis> half_of_the_ranks(const Experiment& experiment);

/// All plans of a file: every strategy with every combination of the values that it has keys for.
/// If `asked` is silent, each strategy is tried with the orders of a layer, its cut as the file has
/// it and by metis, sums of gradients in one piece and in buckets of 25 MB, and with its own:
/// replication (the divisors of the ranks whose squares are at most their number), depth,
/// co-batches, and what learns something else: sampled boundaries, stale rows, sampled servers,
/// batches and their sizes, rarer averages. All of it on all ranks and, where these are an even
/// number, on half of them, half of these and so on. Settings of the file's strategy are those of another one too, where
/// that has them.
///
/// `overrides`: in the form of load_experiments(). The file need not name a strategy.
/// Errors    ConfigError: the file itself, one with a sweep, one without cluster.file or with
///           "inference", keys asked for twice, more than 20,000 plans
SearchSpace search_space(const std::string& file, const std::vector<std::string>& overrides,
                         const std::vector<Axis>& asked);

}  // namespace orrery
