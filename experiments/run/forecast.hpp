// After a real run: the same simulated on other clusters (and on this machine, to say how far the
// simulation is off), beside what was measured.
#pragma once

#include <atomic>
#include <cstdio>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "experiments/results/run_report.hpp"
#include "experiments/run/runner.hpp"

namespace orrery {

/// Errors    ConfigError naming a cluster of "simulate_on" that does not exist, before anything
///           runs
void require_clusters(const Experiment& experiment);

/// The same experiment, to be simulated on a cluster whose devices take as many ranks.
Experiment on_cluster(const Experiment& experiment, const std::string& cluster);

/// Measures this machine coarsely, and says so, where nobody has measured it yet.
void measure_this_machine(bool quiet);

/// What a real run tells of the result of its simulation on a cluster: epoch_seconds, limited_by, and
/// on this-machine the error against what was measured, with "disturbed" (why that error says little)
/// where other programs were at work while the run or the calibration was measured.
nlohmann::ordered_json compared(const FinishedRun& run, const std::string& cluster,
                                const nlohmann::ordered_json& simulated);

/// Simulates each finished run on the clusters of its "simulate_on" and adds "simulated_on" to its
/// result (and to its result.json): per cluster what compared() says, or epoch_seconds null and
/// "not_simulated" with the reason.
///
/// this-machine stands for what the run's kernels ran on. Where its cores have no profile yet they
/// are measured coarsely first; a GPU is not.
/// What cannot be written is told in the run (FinishedRun::not_written).
/// `stop`: set by a signal; simulations that were not done then are told as such.
void forecast(std::vector<FinishedRun>& runs, bool quiet, const std::atomic<bool>* stop);

/// What forecast() found, as a table with a line per run and cluster; nothing where there is none.
void print_forecasts(const std::vector<FinishedRun>& runs, std::FILE* to);

}  // namespace orrery
