// After a real run: simulations of the same on other clusters (and on this machine, to show the
// error of the simulation), beside the measurement.
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

/// Measures this machine coarsely, with a message, if nobody has measured it yet.
void measure_this_machine(bool quiet);

/// What a real run records about its simulation on a cluster: epoch_seconds, limited_by, and on
/// this-machine the error against the measurement, with "disturbed" (why that error says little) if
/// other programs were at work during the run or the calibration.
nlohmann::ordered_json compared(const FinishedRun& run, const std::string& cluster,
                                const nlohmann::ordered_json& simulated);

/// Simulates each finished run on the clusters of its "simulate_on" and adds "simulated_on" to its
/// result (and to its result.json): per cluster the result of compared(), or epoch_seconds null and
/// "not_simulated" with the reason.
///
/// this-machine means what the run's kernels ran on. If its cores have no profile yet, they are
/// measured coarsely first; a GPU is not. Files that cannot be written are reported in the run
/// (FinishedRun::not_written). `stop`: set by a signal; pending simulations are then reported as
/// such.
void forecast(std::vector<FinishedRun>& runs, bool quiet, const std::atomic<bool>* stop);

/// The results of forecast() as a table with a line per run and cluster; nothing if there is none.
void print_forecasts(const std::vector<FinishedRun>& runs, std::FILE* to);

}  // namespace orrery
