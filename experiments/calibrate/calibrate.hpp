// Measures the machine that it runs on, as a device profile and a cluster file for simulations.
#pragma once

#include <string>

#include "experiments/calibrate/calibration.hpp"

namespace orrery::calibrate {

/// The cores of this machine and the cpu kernels. `probe`: the program message_probe; empty: no
/// MPI. Its progress is shown as a phase.
/// Errors    Error (too little memory to time large operands)
Calibration calibrate(Effort effort, const std::string& probe);

/// The first GPU that this process sees and the cuda kernels.
/// Errors    NotBuilt (the library) · Error: no driver, no GPU, too little memory free on it
Calibration calibrate_gpu(Effort effort);

}  // namespace orrery::calibrate
