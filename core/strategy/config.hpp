// What an experiment file says under "strategy", as plain data.
#pragma once

#include <cstdint>

#include "core/model/config.hpp"

namespace orrery {

enum class StrategyType : std::uint8_t { full_graph, spmm_1d, spmm_15d, spmm_2d };

/// How spmm_1d moves: rows of x to everyone who multiplies them (broadcast), or each rank's
/// contributions to the rows of y to their owner (reduce).
enum class Variant : std::uint8_t { row, column };

struct StrategyConfig {
  StrategyType type = StrategyType::full_graph;
  bool overlap = true;   ///< communication beside computation; off: one after the other
  bool permute = false;  ///< renumber the vertices at random before cutting equal blocks
  int column_tiles = 1;  ///< cut local products into so many column tiles (cache locality)
  Variant variant = Variant::row;              ///< spmm_1d
  FirstLayer first_layer = FirstLayer::exact;  ///< not spmm_2d, which always recomputes
  int replication = 1;                         ///< spmm_15d: copies of every block of rows
};

/// Into how many parts a strategy cuts the vertices for a world of `ranks` ranks: as many, but
/// ranks / replication for spmm_15d and √ranks for spmm_2d.
///
/// Errors    ConfigError where the ranks form no such grid; it lists what is possible
int parts_for(const StrategyConfig& strategy, int ranks);

/// The inverse: how many ranks work on so many parts.
int ranks_for(const StrategyConfig& strategy, int parts);

}  // namespace orrery
