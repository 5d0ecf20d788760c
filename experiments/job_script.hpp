// Scripts that start an experiment on a cluster.
#pragma once

#include <string>
#include <vector>

#include "experiments/config.hpp"

namespace orrery {

/// A Slurm batch script that runs the experiment in `file` over MPI, on as many servers and ranks
/// as it says; `overrides` are passed on. The job resumes from its checkpoint when it is queued
/// again.
std::string slurm_script(const Experiment& experiment, const std::string& file,
                         const std::vector<std::string>& overrides);

}  // namespace orrery
