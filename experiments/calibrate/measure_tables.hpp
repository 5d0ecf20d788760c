// Tables of measured prices, each with the error of what it says between its points.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "experiments/calibrate/grids.hpp"
#include "sim/profile.hpp"

namespace orrery::calibrate {

/// A table and how it came about.
struct MeasuredTable {
  PriceTable table;
  std::size_t points = 0;
  double worst_fit_error = 0;  ///< the largest at a left-out point
  /// Mean relative difference of two measurements of the same point: how noisy the machine was.
  /// Zero where there was one only.
  double repeat_error = 0;
};

/// Share that is done, and what is under way.
using Report = std::function<void(double share, const std::string& what)>;

/// Measures every grid with as many ranks side by side as have room. With full effort everything is
/// measured twice, minutes apart, what then differs by over 20 % a third time, and the smallest
/// time is kept (but once where that takes over two minutes already). The points that are left out
/// lie anywhere between the smallest and the largest ones; of sparse products some are graphs with
/// hubs and with communities.
std::map<std::string, MeasuredTable> measure_tables(Effort effort, int cores, const Report& report);

}  // namespace orrery::calibrate
