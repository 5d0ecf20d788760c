// The result of a rank, as bytes that travel between processes of one build.
#pragma once

#include <string>

#include "experiments/execute/execute.hpp"

namespace orrery {

/// Writes costs, timeline, summary, memory and received bytes; not the program.
std::string to_bytes(const RankOutcome& outcome);

/// Reads what to_bytes() wrote.
/// Errors    Error (bytes that end too early)
RankOutcome outcome_from_bytes(const std::string& bytes);

}  // namespace orrery
