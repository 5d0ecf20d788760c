// A folder that appears completely or not at all.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "core/base/removed_if_interrupted.hpp"

namespace orrery {

/// Says why an existing folder may not be replaced; empty if it may.
using Objection = std::function<std::string(const std::filesystem::path& folder)>;

/// The first entry, in alphabetical order, that `ours` does not know; empty if it knows all.
std::string foreign_entry(const std::filesystem::path& folder,
                          const std::function<bool(const std::string& name)>& ours);

/// The objection to a folder that also holds entries unknown to `ours`.
std::string more_than(const std::filesystem::path& folder,
                      const std::function<bool(const std::string& name)>& ours);

/// A folder under construction beside its final place `target`; removed unless commit() was
/// reached. An existing target is replaced with `force`, if `objection` has none. First it removes
/// what killed processes left of their attempts at the same target: a process that still works on a
/// folder holds a lock on it. An interrupted process removes it (remove_unfinished()).
///
/// Errors    DataError: `target` exists and not `force`, or there is an objection to its
///           replacement; it cannot be created (the system's reason is named)
class FolderInProgress {
 public:
  FolderInProgress(std::filesystem::path target, bool force, Objection objection);
  ~FolderInProgress();
  FolderInProgress(const FolderInProgress&) = delete;
  FolderInProgress& operator=(const FolderInProgress&) = delete;

  /// The folder for the files.
  const std::filesystem::path& path() const { return temporary_; }

  /// Flushes the folder to the disk and puts it in its place, instead of the old one. At every
  /// moment something whole has that name (except on file systems that cannot exchange two names,
  /// where it is missing for a moment).
  ///
  /// Errors    as the constructor, for what appeared there since; Error if the disk fails
  void commit();

 private:
  std::filesystem::path sibling(const char* what) const;
  void remove_leftovers() const;
  void create();
  void require_replaceable() const;
  void take_place() const;
  void exchange() const;
  [[noreturn]] void fail(const std::string& found) const;

  std::filesystem::path target_, temporary_;
  bool force_;
  Objection objection_;
  std::optional<RemovedIfInterrupted> unfinished_;
  int lock_ = -1;  ///< descriptor of temporary_, locked
};

}  // namespace orrery
