// The report of `orrery partition` on a cut.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/dataset.hpp"
#include "core/partition/methods/cut.hpp"
#include "core/partition/metrics.hpp"
#include "experiments/predict/strategy_volumes.hpp"

namespace orrery {

struct CutReport {
  std::string method;
  int parts = 1;
  CutMetrics metrics;
  std::optional<double> training_balance;  ///< largest number of training vertices of a part / mean
  std::vector<std::pair<std::string, double>> type_balances;  ///< the same of each vertex type
  double seconds = 0, edges_per_second = 0;
  std::int64_t peak_resident_bytes = 0;  ///< peak of the process since reset_peak(), or its start
  std::optional<ClusterSizes> before, after;
  std::vector<StrategyVolume> volumes;  ///< for the strategies of an experiment file; else empty
};

/// Restarts the peak of resident memory at the present value, if the system can.
void reset_peak();
std::int64_t peak_resident_bytes();

/// Largest number of training vertices of a part / mean; nothing without a split.
std::optional<double> training_balance(const Partition& partition, const std::vector<Split>& split);

/// For each type of vertices, its largest number in a part / mean; empty without types.
std::vector<std::pair<std::string, double>> type_balances(const Partition& partition,
                                                          const TypedGraph* typed);

nlohmann::ordered_json to_json(const CutReport& report);

/// Readable lines.
std::string describe(const CutReport& report);

/// One row per cut, best replication factor first.
std::string comparison_table(std::vector<CutReport> reports, int width);

}  // namespace orrery
