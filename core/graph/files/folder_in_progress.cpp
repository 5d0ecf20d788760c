#include "core/graph/files/folder_in_progress.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <system_error>

#include "core/base/error.hpp"

namespace orrery {

namespace fs = std::filesystem;

FolderInProgress::FolderInProgress(fs::path target, bool force) : target_(std::move(target)) {
  if (!target_.has_filename()) target_ = target_.parent_path();  // "name/" is "name"
  if (fs::exists(target_)) check_replaceable(force);
  temporary_ = sibling("partial");
  std::error_code error;
  if (target_.has_parent_path()) fs::create_directories(target_.parent_path(), error);
  if (error || !fs::create_directory(temporary_, error))
    fail(error ? error.message() : "a folder left over from another run, " + temporary_.string());
}

FolderInProgress::~FolderInProgress() {
  std::error_code ignored;
  fs::remove_all(temporary_, ignored);
}

void FolderInProgress::commit() {
  const fs::path old = sibling("old");
  std::error_code error;
  const bool replaces = fs::exists(target_);
  if (replaces) fs::rename(target_, old, error);
  if (!error) fs::rename(temporary_, target_, error);
  if (error) {
    std::error_code ignored;
    if (replaces && !fs::exists(target_)) fs::rename(old, target_, ignored);
    fail(error.message());
  }
  if (replaces) fs::remove_all(old, error);
}

fs::path FolderInProgress::sibling(const char* what) const {
  return target_.parent_path() /
         fmt::format(".{}.{}-{}", target_.filename().string(), what, ::getpid());
}

void FolderInProgress::check_replaceable(bool force) const {
  if (!force) fail("something of that name (--force replaces a data set)");
  if (!fs::is_directory(target_) || (!fs::is_empty(target_) && !fs::exists(target_ / "meta.json")))
    fail("something of that name that is no data set");
}

void FolderInProgress::fail(const std::string& found) const {
  throw DataError(target_.string(), "", "expected to create this folder, found: " + found);
}

}  // namespace orrery
