// Files and folders that are worthless before they are complete: an interrupted process removes
// them.
#pragma once

#include <filesystem>
#include <mutex>

namespace orrery {

/// While one lives, remove_unfinished() removes what the path names, and those folders above it
/// that did not exist when this began and hold nothing else.
class RemovedIfInterrupted {
 public:
  explicit RemovedIfInterrupted(const std::filesystem::path& path);
  ~RemovedIfInterrupted();
  RemovedIfInterrupted(const RemovedIfInterrupted&) = delete;
  RemovedIfInterrupted& operator=(const RemovedIfInterrupted&) = delete;

  /// Prevents removal while the result lives: for renaming the complete file.
  [[nodiscard]] static std::unique_lock<std::mutex> finishing();
};

/// Removes what every living RemovedIfInterrupted names; for a process that ends right afterwards.
/// Nothing is finished or given up afterwards: whoever tries waits for the end.
void remove_unfinished();

/// The same for a process in which memory has ended: it does nothing if a result is being finished.
void remove_unfinished_if_free();

}  // namespace orrery
