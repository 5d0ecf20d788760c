// What operations take inside of trainings, over what the tables say of them alone.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "experiments/calibrate/measure_tables.hpp"
#include "sim/price/price_errors.hpp"

namespace orrery::calibrate {

/// One operation of an epoch: alone by the tables, and as it was measured.
struct InPlaceSample {
  std::string key;
  double bytes = 0, threads = 1;
  double priced_seconds = 0, measured_seconds = 0;
  int training = 0;  ///< which of the trainings it is from
};

/// Trains generated graphs of several sizes with as many ranks of their own, side by side and
/// without communication, as there are cores, and with one on all cores. An operation then finds in
/// the caches what the ones before it left. Of each operation of an epoch the median over epochs.
std::vector<InPlaceSample> measure_in_place(Effort effort, const sim::DeviceProfile& profile,
                                            int cores, const Report& report);

/// The same on the first GPU, one rank.
std::vector<InPlaceSample> measure_in_place_on_gpu(Effort effort, const sim::DeviceProfile& profile,
                                                   const Report& report);

/// Factors by price key over the bytes that an operation touches, and threads: at each point
/// Σ measured / Σ priced over the samples around it, each weighted by its nearness in logarithms;
/// where there are none that of the nearest point with some.
std::map<std::string, sim::PriceTable> fit_in_place(const std::vector<InPlaceSample>& samples);

/// How far prices with these factors are off in a training that the factors do not come from: each
/// is left out once. Mean relative errors, of all operations of a rank's training as one, and of
/// those of a kind beside that, where they take at least a hundredth of it. Nothing from one
/// training.
sim::PriceErrors errors_of(const std::vector<InPlaceSample>& samples);

}  // namespace orrery::calibrate
