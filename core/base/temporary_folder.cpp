#include "core/base/temporary_folder.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "core/base/error.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;

int opened_folder(const fs::path& folder) {
  return ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/// Removes those of this user that no process has locked.
void remove_leftovers(const fs::path& parent, const std::string& prefix) {
  std::error_code error;
  for (fs::directory_iterator entry(parent, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (!name.starts_with(prefix) || name.size() != prefix.size() + 6) continue;
    const int folder = opened_folder(entry->path());
    struct stat status {};
    std::error_code ignored;
    if (folder >= 0 && ::fstat(folder, &status) == 0 && status.st_uid == ::geteuid() &&
        ::flock(folder, LOCK_EX | LOCK_NB) == 0)
      fs::remove_all(entry->path(), ignored);
    if (folder >= 0) ::close(folder);
  }
}

}  // namespace

TemporaryFolder::TemporaryFolder(const std::string& purpose) {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  const std::string prefix = fmt::format("orrery-{}-", purpose);
  if (!error) remove_leftovers(parent, prefix);
  const std::string pattern = (parent / (prefix + "XXXXXX")).string();
  if (error || !make(pattern))
    throw Error(fmt::format(
        "{}: cannot be made among the temporary files: {}; set TMPDIR to a folder that can be "
        "written",
        pattern, error ? error.message() : std::strerror(errno)));
  if_interrupted_.emplace(path_);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  if (lock_ >= 0) ::close(lock_);
}

/// Between its making and its lock, another process may take it for a leftover: then another one.
bool TemporaryFolder::make(const std::string& pattern) {
  for (;;) {
    std::string name = pattern;
    if (::mkdtemp(name.data()) == nullptr) return false;
    path_ = name;
    lock_ = opened_folder(path_);
    const bool taken = lock_ >= 0 && ::flock(lock_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    std::error_code ignored;
    if (!taken && fs::exists(path_, ignored)) return true;
    if (lock_ >= 0) ::close(lock_);
  }
}

}  // namespace orrery
