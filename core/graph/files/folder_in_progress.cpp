#include "core/graph/files/folder_in_progress.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/whole_file.hpp"

namespace orrery {

namespace fs = std::filesystem;

namespace {

/// Opens a folder and locks it; -1 if it is gone or another process holds the lock (or if the file
/// system has no locks).
int locked(const fs::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor >= 0 && ::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return descriptor;
  if (descriptor >= 0) ::close(descriptor);
  return -1;
}

/// ".NAME.partial-123": `prefix` followed by a process number.
bool is_leftover(const std::string& name, const std::string& prefix) {
  return name.size() > prefix.size() && name.starts_with(prefix) &&
         std::all_of(name.begin() + static_cast<std::ptrdiff_t>(prefix.size()), name.end(),
                     [](char c) { return c >= '0' && c <= '9'; });
}

/// Whether this file system or kernel does not support renameat2().
bool unsupported(int error) { return error == EINVAL || error == ENOSYS; }

}  // namespace

std::string foreign_entry(const fs::path& folder,
                          const std::function<bool(const std::string& name)>& ours) {
  std::vector<std::string> foreign;
  for (const auto& entry : fs::directory_iterator(folder))
    if (!ours(entry.path().filename().string())) foreign.push_back(entry.path().filename());
  return foreign.empty() ? "" : *std::min_element(foreign.begin(), foreign.end());
}

std::string more_than(const fs::path& folder,
                      const std::function<bool(const std::string& name)>& ours) {
  const std::string other = foreign_entry(folder, ours);
  return other.empty() ? "" : fmt::format("it also holds {}; move that away first", other);
}

FolderInProgress::FolderInProgress(fs::path target, bool force, Objection objection)
    : target_(std::move(target)), force_(force), objection_(std::move(objection)) {
  if (!target_.has_filename()) target_ = target_.parent_path();  // "name/" is "name"
  if (fs::exists(target_)) require_replaceable();
  temporary_ = sibling("partial");
  unfinished_.emplace(temporary_);
  std::error_code error;
  if (target_.has_parent_path()) fs::create_directories(target_.parent_path(), error);
  if (error) fail(error.message());
  remove_leftovers();
  create();
}

FolderInProgress::~FolderInProgress() {
  std::error_code ignored;
  fs::remove_all(temporary_, ignored);
  if (lock_ >= 0) ::close(lock_);
}

void FolderInProgress::commit() {
  const auto whole = RemovedIfInterrupted::finishing();
  flush_folder(temporary_);
  take_place();
  flush_name(target_);
}

/// Gives the folder its name.
void FolderInProgress::take_place() const {
  if (fs::exists(target_)) {
    require_replaceable();
    exchange();
    return;  // the destructor removes the old content
  }
  if (::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, target_.c_str(), RENAME_NOREPLACE) == 0)
    return;
  if (!unsupported(errno)) fail(std::strerror(errno));
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail(std::strerror(errno));
}

/// Both names are exchanged in one step.
void FolderInProgress::exchange() const {
  if (::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, target_.c_str(), RENAME_EXCHANGE) == 0)
    return;
  if (!unsupported(errno)) fail(std::strerror(errno));
  const fs::path old = sibling("old");
  std::error_code error, ignored;
  fs::rename(target_, old, error);
  if (error) fail(error.message());
  fs::rename(temporary_, target_, error);
  if (error) {
    fs::rename(old, target_, ignored);
    fail(error.message());
  }
  fs::remove_all(old, ignored);
}

fs::path FolderInProgress::sibling(const char* what) const {
  return target_.parent_path() /
         fmt::format(".{}.{}-{}", target_.filename().string(), what, ::getpid());
}

void FolderInProgress::remove_leftovers() const {
  const std::string name = target_.filename().string();
  const std::string partial = fmt::format(".{}.partial-", name),
                    old = fmt::format(".{}.old-", name);
  const fs::path above = target_.has_parent_path() ? target_.parent_path() : ".";
  std::error_code error;
  std::vector<fs::path> leftovers;
  for (fs::directory_iterator entry(above, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string found = entry->path().filename().string();
    // If the name is free, the folder moved away from it may be the only one.
    if (is_leftover(found, partial) || (is_leftover(found, old) && fs::exists(target_)))
      leftovers.push_back(entry->path());
  }
  for (const fs::path& leftover : leftovers) {
    const int lock = locked(leftover);
    if (lock < 0) continue;  // another process works on it
    fs::remove_all(leftover, error);
    ::close(lock);
  }
}

/// Makes the temporary folder and locks it. Another start may take it for a leftover before it is
/// locked: then it is made again.
void FolderInProgress::create() {
  for (int attempt = 0; attempt < 10; ++attempt) {
    std::error_code error;
    if (!fs::create_directory(temporary_, error))
      fail(error ? error.message() : "a folder left over from another run, " + temporary_.string());
    lock_ = ::open(temporary_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock_ < 0) continue;
    int status = -1;
    do status = ::flock(lock_, LOCK_EX);
    while (status != 0 && errno == EINTR);
    if (status != 0 || is_at(lock_, temporary_)) return;  // this file system may have no locks
    ::close(lock_);
    lock_ = -1;
  }
  fail("that other processes repeatedly remove it");
}

void FolderInProgress::require_replaceable() const {
  if (!force_)
    fail("another file or folder of that name (--force replaces what orrery wrote there)");
  if (!fs::is_directory(target_)) fail("a file of that name");
  if (fs::is_empty(target_)) return;
  if (const std::string why = objection_(target_); !why.empty())
    fail(fmt::format("a folder that is not replaced: {}", why));
}

void FolderInProgress::fail(const std::string& found) const {
  throw DataError(target_.string(), "", "expected to create this folder, found: " + found);
}

}  // namespace orrery
