// The communication libraries of this machine, in the form that the simulator needs.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "experiments/calibrate/collective_times.hpp"
#include "sim/price/profile.hpp"

namespace orrery::calibrate {

/// The rates of a library whose receivers copy messages inside a server, for each size:
///   copy rate     bytes that a rank receives in an exchange, over its time without the small ones
///   reduce rate   what an all-reduce of two ranks takes beside two copies of half of its operand;
///                 not less than a twentieth of it, and none if it is less at all sizes
/// Requires  times of two ranks
sim::Library library_of(const std::string& name, const CollectiveTimes& times);

/// How far such a library is off at collectives from which none of its prices comes: the mean
/// relative error of those that were left out. 0 where none were timed.
/// Requires  times of two ranks
double error_of(const sim::Library& library, const CollectiveTimes& times);

/// A library and how far it is off.
struct MeasuredLibrary {
  sim::Library library;
  double error = 0;
};

/// Ranks that are threads of one process.
struct ThreadsBench {
  int most = 2;                                ///< ranks that share the machine
  std::int64_t bytes = std::int64_t{4} << 20;  ///< of large operands
  int repetitions = 12;
  /// The devices of this many ranks.
  std::function<std::unique_ptr<RankDevice>(int ranks)> open = nullptr;
};
/// Rates are those of two ranks, costs of a small collective those among as many as there may be.
MeasuredLibrary measure_threads(const ThreadsBench& bench);

/// On the cpu kernels, with as many ranks as cores.
ThreadsBench cpu_threads(int cores, bool thorough);

/// The result of a job of two ranks over MPI; `note` says what is missing and why.
struct MpiMeasurement {
  std::optional<sim::Library> library;
  double error = 0;                                          ///< how far it is off
  double tcp_latency_seconds = 0, tcp_bytes_per_second = 0;  ///< between processes; 0: unknown
  std::string note;
};

/// Starts mpirun with two ranks of `probe` (the program message_probe), once by default and once
/// over TCP only.
MpiMeasurement measure_mpi(const std::string& probe, bool thorough);

/// message_probe beside the running program; empty where this build has none.
std::string find_probe();

}  // namespace orrery::calibrate
