// Shared memory that killed jobs leave behind.
#pragma once

#include <filesystem>
#include <string>

namespace orrery {

/// Removes the files of shared memory in `folder` whose name begins with `front`, if they belong to
/// this user, are older than a minute, and no process has them mapped.
///
/// Cost      nothing if there are none; else a look at the maps of all processes
void remove_dead_segments(const std::filesystem::path& folder, const std::string& front);

}  // namespace orrery
