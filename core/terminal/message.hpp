// Messages for failures that have no words of their own.
#pragma once

#include <exception>
#include <string>

namespace orrery {

/// What an exception says to a user: its own words, or plain ones for those of the standard library
/// (threads that are not granted, files that cannot be examined, memory).
std::string message_of(const std::exception& error);

/// From now on an allocation that fails ends the process with one line and exit status 1. Not all
/// libraries survive a failed allocation, and whoever waits for a lane or a rank would wait
/// forever. `last` is called before the end, on the thread whose allocation failed; if it allocates in vain
/// too, the process ends at once.
void end_when_memory_ends(void (*last)());

}  // namespace orrery
