// Tables of measured prices, each with its error between its points.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "experiments/calibrate/grids.hpp"
#include "experiments/calibrate/time_ops.hpp"
#include "sim/price/profile.hpp"

namespace orrery::calibrate {

/// A table and its origin.
struct MeasuredTable {
  sim::PriceTable table;
  std::size_t points = 0;
  double worst_fit_error = 0;  ///< the largest at a left-out point
  /// Mean relative difference of two measurements of the same point: the noise of the machine. Zero
  /// if there was only one.
  double repeat_error = 0;
};

/// The finished share, and the work under way.
using Report = std::function<void(double share, const std::string& what)>;

/// The device that tables are measured on, and the way to measure.
struct TableBench {
  std::vector<Grid> grids;
  /// The graphs that are left out have this many times the usual vertices and edges.
  double graph_scale = 1;
  /// ranks that share the machine; 1 for a GPU, whose tables have no axis of threads
  int cores = 1;
  /// Seconds of each case on such a team; `done` is told after each.
  std::function<std::vector<double>(const Team& team, const std::vector<BuildOps>& cases,
                                    const std::function<void(std::size_t done)>& done)>
      time;
  /// A first pass that takes longer than this is the only one: calibrating must take minutes, even
  /// on a busy machine.
  double pass_seconds = 150;
};

/// Measures every grid. With full effort, everything is measured twice, minutes apart, and a third
/// time if the two differ by over 20 %; the smallest time is kept. There is no second pass if the
/// first already takes over `pass_seconds`. The left-out points lie anywhere between the smallest
/// and the largest ones; for sparse products some are graphs with hubs and with communities.
std::map<std::string, MeasuredTable> measure_tables(const TableBench& bench, Effort effort,
                                                    const Report& report);

/// The cpu kernels, with as many ranks side by side as have room.
TableBench cpu_bench(Effort effort, int cores);

}  // namespace orrery::calibrate
