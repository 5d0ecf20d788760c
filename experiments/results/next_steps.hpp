// What is worth doing after a run: no more than what helps after this very one.
#pragma once

#include <string>
#include <vector>

#include "experiments/results/run_report.hpp"

namespace orrery {

/// How the runs were asked for.
struct AskedRuns {
  std::string program;                 ///< as the user called it
  std::string file;                    ///< the experiment file
  std::vector<std::string> overrides;  ///< of --set
  bool sweep = false;                  ///< by orrery sweep
};

/// Lines for people, commands with what they are for, or nothing. `folder` holds the results.
std::string next_steps(const std::vector<FinishedRun>& runs, const std::string& folder,
                       const AskedRuns& asked, const Unfinished& unfinished);

}  // namespace orrery
