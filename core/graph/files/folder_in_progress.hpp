// A folder that appears completely or not at all.
#pragma once

#include <filesystem>
#include <string>

namespace orrery {

/// A folder under construction beside its final place `target`; removed unless commit() was
/// reached.
///
/// Errors    DataError: `target` exists and not `force`, or it holds anything but a data set; it
///           cannot be created (the system's reason is named)
class FolderInProgress {
 public:
  FolderInProgress(std::filesystem::path target, bool force);
  ~FolderInProgress();
  FolderInProgress(const FolderInProgress&) = delete;
  FolderInProgress& operator=(const FolderInProgress&) = delete;

  /// Where to write the files.
  const std::filesystem::path& path() const { return temporary_; }

  /// Puts the folder into its place, instead of what was there.
  void commit();

 private:
  std::filesystem::path sibling(const char* what) const;
  void check_replaceable(bool force) const;
  [[noreturn]] void fail(const std::string& found) const;

  std::filesystem::path target_, temporary_;
};

}  // namespace orrery
