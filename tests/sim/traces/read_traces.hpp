// Readers of the formats that traces are written in, for tests of what others would read.
#pragma once

#include <string>
#include <vector>

#include "sim/traces/execution_trace.hpp"

namespace orrery::sim::test {

/// The nodes of one rank from the bytes of a .et file. Collectives have the group of their pg_name,
/// or `all` without one.
std::vector<TraceNode> read_chakra(const std::string& bytes, int rank, int all);

/// A trace from the text of a GOAL schedule, which has no names, FLOPs and bytes of computation, and
/// times in nanoseconds.
ExecutionTrace read_goal(const std::string& text);

}  // namespace orrery::sim::test
