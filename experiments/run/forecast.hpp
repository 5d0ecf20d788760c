// After a real run: the same simulated on other clusters (and on this machine, to say how far the
// simulation is off), beside what was measured.
#pragma once

#include <atomic>
#include <cstdio>
#include <vector>

#include "experiments/results/run_report.hpp"
#include "experiments/run/runner.hpp"

namespace orrery {

/// Errors    ConfigError naming a cluster of "simulate_on" that does not exist, before anything
///           runs
void require_clusters(const Experiment& experiment);

/// Simulates each finished run on the clusters of its "simulate_on" and adds "simulated_on" to its
/// result (and to its result.json): per cluster epoch_seconds, error (against what was measured,
/// on this-machine only), "disturbed" (why that error says little, if other programs were at work),
/// limited_by; or epoch_seconds null and "not_simulated" with the reason.
///
/// this-machine stands for what the run's kernels ran on. Where its cores have no profile yet they
/// are measured coarsely first; a GPU is not.
/// What cannot be written is told in the run (FinishedRun::not_written).
/// `stop`: set by a signal; simulations that were not done then are told as such.
void forecast(std::vector<FinishedRun>& runs, bool quiet, const std::atomic<bool>* stop);

/// What forecast() found, as a table with a line per run and cluster; nothing where there is none.
void print_forecasts(const std::vector<FinishedRun>& runs, std::FILE* to);

}  // namespace orrery
