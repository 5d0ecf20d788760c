// Traces as MLCommons Chakra execution traces, which ASTRA-sim reads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "sim/traces/execution_trace.hpp"

namespace orrery::sim {

/// One rank's nodes, as the bytes of a .et file. Dependencies are data_deps. Attributes beside those
/// of Chakra: "seconds" (duration_micros is whole and at least 1 for what takes time), "lane".
std::string chakra_text(const ExecutionTrace& trace, int rank, const std::string& experiment);

/// The groups of collectives, as ASTRA-sim's --comm-group-configuration reads them; empty if all
/// collectives are of all ranks.
std::string chakra_groups(const ExecutionTrace& trace);

/// Writes FOLDER/NAME.RANK.et of every rank and, if needed, FOLDER/comm_group.json. Returns the bytes
/// written.
///
/// Errors    Error naming the file and the system's reason
std::int64_t write_chakra(const ExecutionTrace& trace, const std::filesystem::path& folder,
                          const std::string& name);

}  // namespace orrery::sim
