// How much memory this machine can still give.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace orrery {

/// Bytes that this process can allocate and touch before the kernel ends somebody: what the machine
/// has available, or less where a control group (of a container, a batch job) that this process
/// belongs to has less left. Pages of files that are not in use count as free. Nothing where the
/// system does not say.
///
/// `root`: of the file system that /proc and /sys are in.
std::optional<std::int64_t> available_memory(const std::filesystem::path& root = "/");

}  // namespace orrery
