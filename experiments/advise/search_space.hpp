// The plans of a search: an experiment file with other strategies, orders, cuts and ranks.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
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
///           train.bucket_bytes, cluster.ranks, cluster.gpus and cluster.servers can be searched)
Axis parse_axis(const std::string& text);

/// One way to carry out the experiment.
struct Plan {
  Experiment experiment;        ///< of backend sim
  nlohmann::ordered_json file;  ///< of the backend that the file names, for orrery run
  std::string label;  ///< how it differs from the file: "strategy.type=spmm_15d, model.order=auto"
};

/// A way to carry out the experiment that is not possible.
struct ImpossiblePlan {
  std::string label, reason;
};

struct SearchSpace {
  Experiment base;          ///< what the file says, or the file with strategy full_graph
  std::vector<Plan> plans;  ///< first each strategy with its defaults, then plans that differ more
  std::vector<ImpossiblePlan> impossible;
};

/// All plans of a file: every strategy, with every combination of the values of its keys. If
/// `asked` says nothing, each strategy is tried with the orders of a layer, the cut of the file and
/// one by metis, sums of gradients in one piece and in buckets of 25 MB. Its own keys are tried
/// too: replication (the divisors of the ranks whose squares are at most their number), depth or
/// co-batches. Settings of the file's strategy also apply to another strategy that has them.
///
/// `overrides`: in the form of load_experiments(). The file need not name a strategy.
/// Errors    ConfigError: the file itself, one with a sweep, one without cluster.file or with
///           "inference", keys asked for twice, more than 2,000 plans
SearchSpace search_space(const std::string& file, const std::vector<std::string>& overrides,
                         const std::vector<Axis>& asked);

}  // namespace orrery
