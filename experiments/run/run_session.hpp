// Shared by `orrery run` and `orrery sweep`: combinations of a file, run one after the other.
#pragma once

#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "experiments/results/epoch_log.hpp"
#include "experiments/results/results.hpp"

namespace orrery {

struct RunOptions {
  std::string file, backend, out, print_job;
  std::vector<std::string> overrides;
  std::string timeline_epochs;  ///< "N" or "FROM-TO"; "": as in the file
  bool json = false, quiet = false, force = false, resume = false;
  bool anyway = false;  ///< run even if this machine's memory is too small
  bool sweep = false;   ///< keep a log of finished combinations, and skip them
  LogOptions log{};     ///< of epochs

  Existing existing() const {
    return resume ? Existing::resume : force ? Existing::overwrite : Existing::refuse;
  }
};

/// The error with advice.
std::string with_advice(const OutOfMemory& error);

/// Runs all combinations and returns the exit code.
///
/// Errors    those of the first failure, after what finished before it was reported
int run_session(RunOptions options);

}  // namespace orrery
