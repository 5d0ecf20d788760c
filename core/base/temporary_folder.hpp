// A folder among the temporary files for as long as something is computed.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/base/removed_if_interrupted.hpp"

namespace orrery {

/// A new folder TMPDIR/orrery-PURPOSE-XXXXXX, which only this user can read; removed with this, and
/// if the process is interrupted. Those of the same purpose whose process was killed go as the next
/// one is made: a folder that is in use is locked.
///
/// Errors    Error naming the folder and the system's reason
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& purpose);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  bool make(const std::string& pattern);

  std::filesystem::path path_;
  int lock_ = -1;
  std::optional<RemovedIfInterrupted> if_interrupted_;
};

}  // namespace orrery
