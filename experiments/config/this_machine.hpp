// Which of the files of `orrery calibrate` describes what computes on this machine.
#pragma once

#include <string>

namespace orrery {

/// The name under which `orrery calibrate` stores the cluster and the profile for these kernels:
/// kThisMachine; for cuda that of the first GPU, "nvidia-h200".
///
/// Errors    NotBuilt (the library) · Error: no driver, no GPU
std::string machine_name(const std::string& kernels);

/// The same for a run of this many ranks, if both files exist and describe what it runs on.
///
/// Errors    those of machine_name · ConfigError with the advice to calibrate, or to show ranks
///           that share a GPU no other
std::string calibrated_machine(const std::string& kernels, int ranks);

}  // namespace orrery
