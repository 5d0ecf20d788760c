// Simulations and their results as bytes that travel between processes of one build.
#pragma once

#include <string>

#include "sim/replay/simulation.hpp"

namespace orrery::sim {

/// Writes a simulation, or its result. Schedules that ranks share are written once.
std::string to_bytes(const Simulation& simulation);
std::string to_bytes(const Replay& replay);

/// Reads what to_bytes() wrote.
/// Errors    Error (bytes that end too early)
Simulation simulation_from(const std::string& bytes);
Replay replay_from(const std::string& bytes);

/// The messages through the pipes between a program and its simulator: one request, one answer, and
/// before it any number of progress messages.
enum class Answer : std::uint8_t { replay, error, config_error, progress };
/// Writes a whole message; false if the other end is gone.
bool write_message(int descriptor, Answer kind, const std::string& bytes);
/// Reads one; false at the end of the stream.
bool read_message(int descriptor, Answer& kind, std::string& bytes);

}  // namespace orrery::sim
