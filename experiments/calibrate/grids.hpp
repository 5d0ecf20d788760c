// The points of the tables of prices.
#pragma once

#include <string>
#include <vector>

#include "sim/price/profile.hpp"

namespace orrery::calibrate {

/// The effort of the measurement: full for simulations, less to try it out, next to nothing for
/// tests.
enum class Effort { full, quick, tiny };

/// The grid of one price key, without threads.
struct Grid {
  std::string key;
  std::vector<sim::PriceTable::Axis> axes;
};

/// One grid per price key, in the order of price_keys(). The largest sizes exceed the caches of
/// most machines, because prices beyond the largest point grow in proportion.
std::vector<Grid> grids(Effort effort);

/// The same for GPUs, which are faster and have larger caches: larger operations, and also sparse
/// products of skewed rows.
std::vector<Grid> gpu_grids(Effort effort);

/// 1, 2, 4, ... and all cores: threads of a rank; as many ranks as fit share the machine.
std::vector<double> thread_points(int cores);

}  // namespace orrery::calibrate
