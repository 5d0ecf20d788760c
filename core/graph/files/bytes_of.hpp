// A whole file in memory.
#pragma once

#include <filesystem>
#include <string>

namespace orrery {

/// The bytes of a file; a pipe or a device, which may have no end, is refused.
///
/// Errors    DataError as MappedFile
std::string bytes_of(const std::filesystem::path& path);

}  // namespace orrery
