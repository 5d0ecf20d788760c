// Tables of measured prices, each with the error of what it says between its points.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "experiments/calibrate/grids.hpp"
#include "experiments/calibrate/time_ops.hpp"
#include "sim/price/profile.hpp"

namespace orrery::calibrate {

/// A table and how it came about.
struct MeasuredTable {
  sim::PriceTable table;
  std::size_t points = 0;
  double worst_fit_error = 0;  ///< the largest at a left-out point
  /// Mean relative difference of two measurements of the same point: how noisy the machine was.
  /// Zero where there was one only.
  double repeat_error = 0;
};

/// Share that is done, and what is under way.
using Report = std::function<void(double share, const std::string& what)>;

/// What tables are measured on, and how.
struct TableBench {
  std::vector<Grid> grids;
  /// The graphs that are left out have so many times the vertices and edges of usual ones.
  double graph_scale = 1;
  int cores = 1;  ///< that ranks share; of a GPU 1, and threads are no axis of its tables
  /// Seconds of each case on such a team; `done` is told after each.
  std::function<std::vector<double>(const Team& team, const std::vector<BuildOps>& cases,
                                    const std::function<void(std::size_t done)>& done)>
      time;
  /// A first pass that takes longer than so is the only one: calibrating takes minutes, also on a
  /// machine that is busy.
  double pass_seconds = 130;
};

/// Measures every grid. With full effort everything is measured twice, minutes apart, what then
/// differs by over 20 % a third time, and the smallest time is kept (but once where that takes
/// over `pass_seconds` already). The points that are left out lie anywhere between the smallest
/// and the largest ones; of sparse products some are graphs with hubs and with communities.
std::map<std::string, MeasuredTable> measure_tables(const TableBench& bench, Effort effort,
                                                    const Report& report);

/// The cpu kernels, with as many ranks side by side as have room.
TableBench cpu_bench(Effort effort, int cores);

}  // namespace orrery::calibrate
