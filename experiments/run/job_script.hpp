// Scripts and commands that start an experiment on several processes.
#pragma once

#include <string>
#include <vector>

#include "experiments/config/experiment.hpp"

namespace orrery {

struct JobRequest {
  std::string file;                    ///< the experiment file
  std::vector<std::string> overrides;  ///< passed on
  std::string out;                     ///< result folder; empty: results/<name>
  bool force = false;                  ///< overwrite an existing result instead of resuming
  bool anyway = false;                 ///< passed on
  bool resume = false;                 ///< continue from the checkpoint in `out`
  std::string command = "run";         ///< or sweep, infer
};

/// A Slurm batch script that runs the experiment over MPI, from the current folder, on its number
/// of servers and ranks. Unless it is a sweep, the job resumes from its checkpoint when it is
/// queued again.
///
/// Errors    ConfigError if the file is standard input, which is gone when the job starts
std::string slurm_script(const Experiment& experiment, const JobRequest& request);

/// The whole command that starts the experiment's ranks on this machine, with the options that Open
/// MPI needs here: to run as root, to start more ranks than cores, and then not to bind them.
std::string mpirun_line(const Experiment& experiment, const JobRequest& request);

}  // namespace orrery
