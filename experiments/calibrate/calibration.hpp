// What a calibration came to, of cores or of a GPU, and the files that it is written to.
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

/// What only a GPU has.
struct GpuPart {
  std::string product;  ///< "NVIDIA H200"
  Slowdowns slowdowns;
};

/// What was measured, and when.
struct Calibration {
  std::string name = kThisMachine;  ///< of its files
  sim::DeviceProfile profile;
  sim::PriceErrors errors;                      ///< of its prices
  std::map<std::string, MeasuredTable> tables;  ///< those of the profile, and how they came about
  std::vector<InPlaceSample> in_place;          ///< from which those factors come
  HostCosts host;
  HostTasks tasks;  ///< from which the profile's prices of them come
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

/// Tells in `activity`, which must outlive it, how far a calibration is and about how long it still takes.
Report telling(Activity& activity);

/// To four digits: more is noise.
double rounded(double value);
sim::Library rounded(sim::Library library);

/// Fills in the profile, but for its libraries and what it says of operations inside of trainings,
/// from tables, host and GPU, and the two rates. `between_seconds`: what of an operation on a lane
/// the tables have not.
void derive_profile(Calibration& calibration, double between_seconds);

/// Adds what other programs did meanwhile; the last step.
void add_other_work(Calibration& calibration, const OtherWork& work);

/// Adds what tasks of the host take.
void add_host_tasks(Calibration& calibration, const HostTasks& tasks);

/// Adds a library, and how far it is off.
void add_library(Calibration& calibration, const MeasuredLibrary& library);

/// Adds what operations take inside of trainings, and how far their prices are off there.
void add_in_place(Calibration& calibration, std::vector<InPlaceSample> samples);

/// The device profile and the cluster as files' contents.
nlohmann::ordered_json profile_file_of(const Calibration& calibration);
nlohmann::ordered_json cluster_file_of(const Calibration& calibration);

/// Tries whether FOLDER/devices and FOLDER/clusters can be made and written to, and leaves none that
/// was not there.
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
