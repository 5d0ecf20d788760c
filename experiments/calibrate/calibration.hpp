// The result of a calibration, of cores or of a GPU, and the files that hold it.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/terminal/activity.hpp"
#include "experiments/calibrate/in_place.hpp"
#include "experiments/calibrate/measure_host.hpp"
#include "experiments/calibrate/measure_host_tasks.hpp"
#include "experiments/calibrate/measure_libraries.hpp"
#include "experiments/calibrate/measure_slowdowns.hpp"
#include "experiments/calibrate/measure_tables.hpp"
#include "experiments/calibrate/other_work.hpp"
#include "experiments/config/shipped.hpp"
#include "sim/price/price_errors.hpp"

namespace orrery::calibrate {

/// Fields that only a GPU has.
struct GpuPart {
  std::string product;  ///< "NVIDIA H200"
  Slowdowns slowdowns;
};

/// The measurements, and their date.
struct Calibration {
  std::string name = kThisMachine;  ///< of its files
  sim::DeviceProfile profile;
  sim::PriceErrors errors;                      ///< of its prices
  std::map<std::string, MeasuredTable> tables;  ///< those of the profile, and how they came about
  std::vector<InPlaceSample> in_place;          ///< from which those factors come
  HostCosts host;
  HostTasks tasks;  ///< the source of the profile's prices of them
  int host_cores = 1;
  MpiMeasurement mpi;
  std::optional<GpuPart> gpu;
  int cores = 1;  ///< of the device: ranks with more threads than that share it
  std::int64_t memory_bytes = 0;
  double flops_per_second = 0;         ///< of the largest dense product
  double memory_bytes_per_second = 0;  ///< of the largest element-wise operation
  double seconds = 0;                  ///< that measuring took
  OtherWork other_work;                ///< meanwhile
  std::string machine;                 ///< "AMD EPYC, 2 cores", with date and kernels
};

/// Shows in `activity`, which must outlive it, how far a calibration is and about how long it still
/// takes.
Report telling(Activity& activity);

/// Rounds to four digits: more is noise.
double rounded(double value);
sim::Library rounded(sim::Library library);

/// Fills in the profile, except its libraries and the factors of operations inside trainings, from
/// tables, host and GPU, and the two rates. `between_seconds`: the part of an operation on a lane
/// that the tables do not contain.
void derive_profile(Calibration& calibration, double between_seconds);

/// Adds the work of other programs meanwhile; the last step.
void add_other_work(Calibration& calibration, const OtherWork& work);

/// What these prices are good for, in a sentence or two: whether other programs were at work meanwhile, and
/// the operations whose tables miss points that were left out by more than a tenth.
std::string verdict(const Calibration& calibration);

/// Adds the times of host tasks.
void add_host_tasks(Calibration& calibration, const HostTasks& tasks);

/// Adds a library, and how far it is off.
void add_library(Calibration& calibration, const MeasuredLibrary& library);

/// Adds what operations take inside of trainings, and how far their prices are off there.
void add_in_place(Calibration& calibration, InPlace found);

/// The contents of the device profile and the cluster file.
nlohmann::ordered_json profile_file_of(const Calibration& calibration);
nlohmann::ordered_json cluster_file_of(const Calibration& calibration);

/// Tries whether FOLDER/devices and FOLDER/clusters can be made and written to, and removes those
/// that it made.
///
/// Errors    DataError: they cannot
void require_place_for_files(const std::string& folder);

struct Written {
  std::string profile, cluster;  ///< paths
};
/// Writes FOLDER/devices/NAME.json and FOLDER/clusters/NAME.json, each whole or not at all.
/// Errors    DataError
Written write(const Calibration& calibration, const std::string& folder);

/// This machine's main memory.
std::int64_t main_memory_bytes();

}  // namespace orrery::calibrate
