// Suggestions after a run: only what helps after this run.
#pragma once

#include <string>
#include <vector>

#include "experiments/results/run_report.hpp"

namespace orrery {

/// How the runs were started.
struct AskedRuns {
  std::string program;                 ///< its name, as the user called it
  std::string file;                    ///< the experiment file
  std::vector<std::string> overrides;  ///< of --set
  bool sweep = false;                  ///< by orrery sweep
};

/// Readable lines, commands with their purpose, or nothing. `folder` holds the results.
std::string next_steps(const std::vector<FinishedRun>& runs, const std::string& folder,
                       const AskedRuns& asked, const Unfinished& unfinished);

}  // namespace orrery
