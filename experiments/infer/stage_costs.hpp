// The bytes that each stage of an inference moves and holds on a rank, counted in its recorded
// program.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/runtime/program.hpp"

namespace orrery {

struct StageCost {
  double received_bytes = 0;    ///< from other ranks
  std::int64_t peak_bytes = 0;  ///< the most held at once, in all memory spaces
  bool operator==(const StageCost&) const = default;
};

/// The stages of a rank: stage 0 comes before the first epoch, and epoch e is stage e + 1.
std::vector<StageCost> stage_costs(const Program& program, int epochs);

// So that ranks of other processes can learn them.
nlohmann::ordered_json to_json(const std::vector<StageCost>& stages);
std::vector<StageCost> stage_costs_from(const nlohmann::ordered_json& json);

}  // namespace orrery
