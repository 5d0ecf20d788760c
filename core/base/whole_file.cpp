#include "core/base/whole_file.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

#include "core/base/error.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& file, const char* action, int why) {
  throw Error(fmt::format("{}: cannot be {}: {}", file.string(), action, std::strerror(why)));
}

/// An open file; errors name `file`.
class OpenFile {
 public:
  /// Takes over an open file.
  OpenFile(int descriptor, const fs::path& file) : file_(file), descriptor_(descriptor) {}
  OpenFile(const fs::path& opened, int flags, const fs::path& file) : file_(file) {
    do descriptor_ = ::open(opened.c_str(), flags | O_CLOEXEC, 0644);
    while (descriptor_ < 0 && errno == EINTR);
    if (descriptor_ < 0) fail(file_, "opened", errno);
  }
  ~OpenFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  int descriptor() const { return descriptor_; }

  void write(std::string_view text) const {
    for (std::size_t done = 0; done < text.size();) {
      const ssize_t n = ::write(descriptor_, text.data() + done, text.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail(file_, "written", errno);
      done += static_cast<std::size_t>(n);
    }
  }
  /// Some file systems, and pipes, cannot be flushed.
  void flush() const {
    int status = -1;
    do status = ::fsync(descriptor_);
    while (status != 0 && errno == EINTR);
    if (status != 0 && errno != EINVAL && errno != EROFS) fail(file_, "flushed to the disk", errno);
  }
  /// Some file systems report a full disk only now. An interrupted close() has closed the file.
  void close() {
    if (::close(std::exchange(descriptor_, -1)) != 0 && errno != EINTR)
      fail(file_, "written", errno);
  }

 private:
  const fs::path& file_;
  int descriptor_ = -1;
};

constexpr auto kPause = std::chrono::milliseconds(20);
constexpr int kPatience = 3000;  // pauses: a process that writes for a minute was stopped

/// Waits for the lock of an open file. Where the file system has none, all do as they like.
void lock(int descriptor, const fs::path& file) {
  for (int i = 0; ::flock(descriptor, LOCK_EX | LOCK_NB) != 0; ++i) {
    if (errno != EWOULDBLOCK && errno != EINTR) return;
    if (i == kPatience)
      throw Error(file.string() +
                  ": another process has been writing it for a minute; is it stopped?");
    std::this_thread::sleep_for(kPause);
  }
}

/// Closes what is open when it goes.
struct Closed {
  int descriptor;
  ~Closed() {
    if (descriptor >= 0) ::close(descriptor);
  }
};

/// Opens a temporary neighbour that is there, for its lock: file systems over a network want to write for that.
int opened_neighbour(const fs::path& temporary) {
  constexpr int kFlags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  const int there = ::open(temporary.c_str(), O_RDWR | kFlags);
  if (there >= 0 || (errno != EACCES && errno != EROFS)) return there;
  return ::open(temporary.c_str(), O_RDONLY | kFlags);
}

/// Makes the temporary neighbour of a file, and locks it as long as it is open. The one of another process is
/// waited for; what a killed process has left is removed, and a link that lies there is not followed.
int locked_neighbour(const fs::path& temporary, const fs::path& file) {
  for (int i = 0; i < kPatience; ++i) {
    const int made = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (made >= 0) {
      Closed held{made};
      lock(made, file);
      if (is_at(made, temporary)) return std::exchange(held.descriptor, -1);
      continue;  // another took it for one that was left, before it was locked
    }
    if (errno == EINTR) continue;
    if (errno != EEXIST) fail(file, "opened", errno);
    const Closed there{opened_neighbour(temporary)};
    if (there.descriptor < 0 && (errno == ENOENT || errno == EINTR)) continue;
    if (there.descriptor >= 0) lock(there.descriptor, file);
    const bool left = there.descriptor < 0 || is_at(there.descriptor, temporary);
    if (left && ::unlink(temporary.c_str()) != 0 && errno != ENOENT) fail(file, "opened", errno);
  }
  throw Error(file.string() + ": cannot be opened: other processes make and remove " +
              temporary.filename().string() + " again and again");
}

void flush(const fs::path& file) {
  OpenFile open(file, O_RDONLY, file);
  open.flush();
  open.close();
}

}  // namespace

bool is_at(int descriptor, const fs::path& path) {
  struct stat opened {
  }, named{};
  return ::fstat(descriptor, &opened) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

void write_file(const fs::path& file, const std::string& text) {
  const std::string_view whole = text;
  write_file(file, std::span(&whole, 1));
}

void write_file(const fs::path& file, std::span<const std::string_view> pieces) {
  struct stat there {};
  if (::stat(file.c_str(), &there) == 0 && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode)) {
    OpenFile open(file, O_WRONLY, file);
    for (const std::string_view piece : pieces) open.write(piece);
    open.close();
    return;
  }
  const fs::path target = fs::is_symlink(file) ? fs::weakly_canonical(file) : file;
  const fs::path temporary = target.string() + ".part";
  OpenFile open(locked_neighbour(temporary, file), file);
  const OpenFile held(::fcntl(open.descriptor(), F_DUPFD_CLOEXEC, 0),
                      file);  // keeps the lock until it is renamed
  try {
    for (const std::string_view piece : pieces) open.write(piece);
    open.flush();
    open.close();
    if (::rename(temporary.c_str(), target.c_str()) != 0) fail(file, "written", errno);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  flush_name(target);
}

void append_to_file(const fs::path& file, const std::string& lines, bool durable) {
  OpenFile open(file, O_WRONLY | O_CREAT | O_APPEND, file);
  const off_t before = ::lseek(open.descriptor(), 0, SEEK_END);
  try {
    open.write(lines);
    if (durable) open.flush();
    open.close();
  } catch (...) {
    std::error_code ignored;  // if this fails, too, the next start cuts off the half line
    fs::resize_file(file, static_cast<std::uintmax_t>(before), ignored);
    throw;
  }
}

void flush_file(const fs::path& file) { flush(file); }

void flush_folder(const fs::path& folder) {
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_directory() || entry.is_regular_file()) flush(entry.path());
  flush(folder);
}

void flush_name(const fs::path& path) {
  flush(path.has_parent_path() ? path.parent_path() : fs::path("."));
}

}  // namespace orrery
