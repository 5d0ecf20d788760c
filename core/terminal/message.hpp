// What is said when something fails that has no words of its own.
#pragma once

#include <exception>
#include <string>

namespace orrery {

/// What an exception says to a user: its own words, or plain ones for those of the standard library
/// (threads that are not granted, files that cannot be looked at, memory).
std::string message_of(const std::exception& error);

/// From here on an allocation that fails ends the process, with one line and exit status 1: not all
/// libraries survive a failed allocation, and who waits for a lane or a rank would wait for ever.
/// Files are left as after a kill: whole or not there.
void end_when_memory_ends();

}  // namespace orrery
