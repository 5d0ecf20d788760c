// Which of the files that `orrery calibrate` writes describes what computes on this machine.
#pragma once

#include <string>

namespace orrery {

/// The name under which `orrery calibrate` leaves the cluster and the profile of what kernels run
/// on here: kThisMachine; of cuda that of the first GPU, "nvidia-h200".
///
/// Errors    NotBuilt (the library) · Error: no driver, no GPU
std::string machine_name(const std::string& kernels);

/// The same for a run of so many ranks, where both files are there and describe what it runs on.
///
/// Errors    those of machine_name · ConfigError with the advice to calibrate, or to show ranks
///           that are to share a GPU no other
std::string calibrated_machine(const std::string& kernels, int ranks);

}  // namespace orrery
