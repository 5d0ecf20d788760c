// Measures the machine that it runs on, as a device profile and a cluster file for simulations.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "experiments/calibrate/in_place.hpp"
#include "experiments/calibrate/measure_host.hpp"
#include "experiments/calibrate/measure_libraries.hpp"
#include "experiments/calibrate/measure_tables.hpp"

namespace orrery::calibrate {

/// What was measured, and when.
struct Calibration {
  DeviceProfile profile;
  std::map<std::string, MeasuredTable> tables;  ///< those of the profile, and how they came about
  std::vector<InPlaceSample> in_place;          ///< from which those factors come
  HostCosts host;
  MpiMeasurement mpi;
  int cores = 1;
  double flops_per_second = 0;         ///< of the largest dense product, all cores
  double memory_bytes_per_second = 0;  ///< of the largest element-wise operation, all cores
  double seconds = 0;                  ///< that measuring took
  std::string machine;                 ///< "AMD EPYC, 2 cores", with date and kernels
};

/// `probe`: the program message_probe; empty: no MPI.
/// Errors    Error (too little memory to time large operands)
Calibration calibrate(Effort effort, const std::string& probe, const Report& report);

/// The device profile and the cluster as files' contents.
nlohmann::ordered_json profile_file_of(const Calibration& calibration);
nlohmann::ordered_json cluster_file_of(const Calibration& calibration);

struct Written {
  std::string profile, cluster;  ///< paths
};
/// Writes FOLDER/devices/this-machine.json and FOLDER/clusters/this-machine.json, each whole or not
/// at all.   Errors  DataError
Written write(const Calibration& calibration, const std::string& folder);

}  // namespace orrery::calibrate
