// How this process was started: alone, or as one of many by mpirun or srun.
#pragma once

namespace orrery {

struct Launch {
  int rank = 0, size = 1;
};

/// From the variables that mpirun (Open MPI, MPICH) and srun set; {0, 1} if neither did.
Launch launch_from_environment();

/// Seconds since this process was started.
double process_age_seconds();

}  // namespace orrery
