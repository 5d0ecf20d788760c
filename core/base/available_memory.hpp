// How much memory this machine can still give.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace orrery {

/// Bytes that this process can allocate and touch before the kernel ends a process: what the
/// machine has available, or less if a control group of this process (of a container, a batch job)
/// has less left. Unused pages of files count as free. Nothing if the system does not tell.
///
/// `root`: root of the file system with /proc and /sys.
std::optional<std::int64_t> available_memory(const std::filesystem::path& root = "/");

}  // namespace orrery
