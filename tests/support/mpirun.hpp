// How tests start jobs of real ranks.
#pragma once

#include <fmt/core.h>
#include <unistd.h>

#include <string>

namespace orrery::testing {

#ifdef ORRERY_MPIRUN

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kJobSeconds = 400;
#else
constexpr int kJobSeconds = 120;
#endif

/// The front of a shell command that starts this many ranks of the program behind it. A job that
/// does not end by itself is ended and has status 124. Instrumented ranks leave out what is
/// OpenMPI's.
inline std::string mpirun(int ranks) {
  return fmt::format(
      "ASAN_OPTIONS=$ASAN_OPTIONS:fast_unwind_on_malloc=0 LSAN_OPTIONS=suppressions={0}/lsan.supp "
      "TSAN_OPTIONS=$TSAN_OPTIONS:suppressions={0}/tsan.supp timeout -k 5 {4} {1} {2} "
      "--oversubscribe --mca mpi_yield_when_idle 1 -n {3} ",
      ORRERY_SANITIZERS, ORRERY_MPIRUN, ::geteuid() == 0 ? "--allow-run-as-root" : "", ranks,
      kJobSeconds);
}

#endif

}  // namespace orrery::testing
