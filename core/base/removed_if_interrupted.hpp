// Files and folders that are worth nothing before they are whole: an interrupted process takes them
// with it.
#pragma once

#include <filesystem>
#include <mutex>

namespace orrery {

/// While one lives, remove_unfinished() removes what the path names, and those folders above it that
/// were not there when this began and hold nothing else.
class RemovedIfInterrupted {
 public:
  explicit RemovedIfInterrupted(const std::filesystem::path& path);
  ~RemovedIfInterrupted();
  RemovedIfInterrupted(const RemovedIfInterrupted&) = delete;
  RemovedIfInterrupted& operator=(const RemovedIfInterrupted&) = delete;

  /// Keeps removal off while what it returns lives: for giving the whole its name.
  [[nodiscard]] static std::unique_lock<std::mutex> finishing();
};

/// Removes what every living RemovedIfInterrupted names; for a process that ends right afterwards. Nothing is
/// finished or given up any more: whoever tries waits for the end.
void remove_unfinished();

}  // namespace orrery
