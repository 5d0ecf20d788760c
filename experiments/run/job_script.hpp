// Scripts that start an experiment on a cluster.
#pragma once

#include <string>
#include <vector>

#include "experiments/config/experiment.hpp"

namespace orrery {

struct JobRequest {
  std::string file;                    ///< the experiment file
  std::vector<std::string> overrides;  ///< passed on
  std::string out;                     ///< result folder; empty: results/<name>
  bool force = false;                  ///< overwrite what is there instead of resuming
  bool anyway = false;                 ///< passed on
};

/// A Slurm batch script that runs the experiment over MPI, from the current folder, on as many
/// servers and ranks as it says. Unless it is a sweep the job resumes from its checkpoint when it
/// is queued again.
std::string slurm_script(const Experiment& experiment, const JobRequest& request);

}  // namespace orrery
