#include "core/graph/files/plain_file.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/base/error.hpp"

namespace orrery {

PlainFile::PlainFile(const std::filesystem::path& path)
    : path_(path.string()),
      file_(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
  if (file_ < 0) fail("write");
}

PlainFile::~PlainFile() {
  if (file_ >= 0) ::close(file_);
}

void PlainFile::write(std::int64_t offset, const void* data, std::size_t bytes) {
  for (const char* from = static_cast<const char*>(data); bytes > 0;) {
    const ssize_t done = ::pwrite(file_, from, bytes, offset);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) fail("write");
    from += done;
    offset += done;
    bytes -= static_cast<std::size_t>(done);
  }
}

std::size_t PlainFile::read(std::int64_t offset, void* out, std::size_t bytes) const {
  std::size_t got = 0;
  while (got < bytes) {
    const ssize_t done = ::pread(file_, static_cast<char*>(out) + got, bytes - got,
                                 offset + static_cast<std::int64_t>(got));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail("read");
    if (done == 0) break;
    got += static_cast<std::size_t>(done);
  }
  return got;
}

void PlainFile::close() {
  const int file = file_;
  file_ = -1;
  if (::close(file) != 0) fail("write");
}

void PlainFile::fail(const char* what) const {
  throw DataError(path_, "",
                  fmt::format("expected to {} this file, found: {}", what, std::strerror(errno)));
}

}  // namespace orrery
