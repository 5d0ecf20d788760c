// What a rank leaves behind, as bytes that travel between processes of one build.
#pragma once

#include <string>

#include "experiments/execute/execute.hpp"

namespace orrery {

/// Costs, timeline, summary, memory and received bytes; not the program's steps.
std::string to_bytes(const RankOutcome& outcome);
RankOutcome outcome_from_bytes(const std::string& bytes);

}  // namespace orrery
