// The time of operations inside trainings, relative to the tables, which time them alone.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "experiments/calibrate/measure_tables.hpp"
#include "sim/price/op_seconds.hpp"
#include "sim/price/price_errors.hpp"

namespace orrery::calibrate {

/// One operation of an epoch: its time alone by the tables, and the measured one.
struct InPlaceSample {
  std::string key;
  double bytes = 0, threads = 1;
  double priced_seconds = 0, measured_seconds = 0;
  int training = 0;  ///< which of the trainings it is from
  sim::Operands operands = sim::Operands::of_graph;
};

/// What was found in trainings.
struct InPlace {
  std::vector<InPlaceSample> samples;
  /// DeviceProfile::variation: of the time that two ranks take for equal work, side by side, over stretches
  /// of an eighth of an epoch, for an operation. 0 if no two ranks trained.
  double variation = 0;
};

/// Seconds of an epoch's operations, for each epoch.
using EpochSeconds = std::vector<std::vector<double>>;

/// One training by a team of ranks, each on its own copy of the graph, side by side and without
/// communication. So an operation finds in the caches what the operations before it left.
struct Trained {
  int training = 0, threads = 1;
  sim::Operands operands = sim::Operands::of_graph;
  std::vector<std::vector<Op>> ops;  ///< of each epoch; the first one is left out
  std::vector<EpochSeconds> ranks;   ///< their seconds, for each rank
};

/// Trains generated graphs of several sizes: with as many ranks as there are cores, and with one rank
/// on all cores; and on sampled batches, one rank with one thread beside the threads that draw them.
std::vector<Trained> train(Effort effort, int cores, const Report& report);

/// The same on the first GPU, one rank.
std::vector<Trained> train_on_gpu(Effort effort, const Report& report);

/// The operations of typical epochs of each rank, beside their prices.
InPlace in_place_of(const std::vector<Trained>& trained, const sim::DeviceProfile& profile);

/// InPlace::variation, squared, from two ranks that did equal work at the same time: how far the ratio of
/// their stretches strays from epoch to epoch. What delays both alike does not count.
///
/// Shapes    [epochs, operations] > 0, of both ranks
double squared_variation(const EpochSeconds& one, const EpochSeconds& other);

/// Those with such operands.
std::vector<InPlaceSample> only(const std::vector<InPlaceSample>& samples, sim::Operands operands);

/// Factors by price key over the bytes that an operation touches, and threads: at each point Σ
/// measured / Σ priced over the samples around it, each weighted by its nearness in logarithms; a
/// point without samples gets the factor of the nearest point with some.
std::map<std::string, sim::PriceTable> fit_in_place(const std::vector<InPlaceSample>& samples);

/// How far prices with these factors are off in a training that the factors do not come from: each
/// is left out once, and priced by the others with such operands. Mean relative errors, of all operations of a rank's training as one, and of
/// those of a kind beside that, where they take at least a hundredth of it. Nothing from one
/// training.
sim::PriceErrors errors_of(const std::vector<InPlaceSample>& samples);

}  // namespace orrery::calibrate
