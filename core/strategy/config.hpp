// What an experiment file says under "strategy", as plain data.
#pragma once

#include <cstdint>

namespace orrery {

enum class StrategyType : std::uint8_t { full_graph, spmm_1d };

struct StrategyConfig {
  StrategyType type = StrategyType::full_graph;
  bool overlap = true;   ///< communication beside computation; off: one after the other
  bool permute = false;  ///< spmm_1d: renumber the vertices at random before cutting equal blocks
  int column_tiles = 1;  ///< cut local products into so many column tiles (cache locality)
};

}  // namespace orrery
