// A folder that appears completely or not at all.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "core/base/removed_if_interrupted.hpp"

namespace orrery {

/// Says why a folder that is there may not be replaced; empty where it may.
using Objection = std::function<std::string(const std::filesystem::path& folder)>;

/// The name of the first entry, in alphabetical order, that `ours` does not know; empty where it
/// knows all.
std::string foreign_entry(const std::filesystem::path& folder,
                          const std::function<bool(const std::string& name)>& ours);

/// The objection to a folder that also holds what `ours` does not know.
std::string more_than(const std::filesystem::path& folder,
                      const std::function<bool(const std::string& name)>& ours);

/// A folder under construction beside its final place `target`; removed unless commit() was
/// reached. What is there is replaced with `force`, and where `objection` has none. Starts by
/// removing what killed processes left of their attempts at the same target: who still works on
/// a folder holds a lock on it. An interrupted process takes it with it (remove_unfinished()).
///
/// Errors    DataError: `target` exists and not `force`, or there is an objection to its
///           replacement; it cannot be created (the system's reason is named)
class FolderInProgress {
 public:
  FolderInProgress(std::filesystem::path target, bool force, Objection objection);
  ~FolderInProgress();
  FolderInProgress(const FolderInProgress&) = delete;
  FolderInProgress& operator=(const FolderInProgress&) = delete;

  /// Where to write the files.
  const std::filesystem::path& path() const { return temporary_; }

  /// Flushes the folder to the disk and puts it into its place, instead of what was there: at every moment something whole
  /// has that name (but on file systems that cannot exchange two names, where it is gone for a
  /// moment).
  ///
  /// Errors    as the constructor, for what came to be there since; Error where the disk fails
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
