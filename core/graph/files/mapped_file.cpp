#include "core/graph/files/mapped_file.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/base/error.hpp"

namespace orrery {
namespace {

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) : path_(path.string()) {
  const auto fail = [&] {
    throw DataError(path_, "",
                    fmt::format("expected a readable file, found: {}", std::strerror(errno)));
  };
  // Not to wait for the other end of a pipe, which is refused below.
  const Descriptor file{::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat status {};
  if (file.fd < 0 || ::fstat(file.fd, &status) != 0) fail();
  if (!S_ISREG(status.st_mode))
    throw DataError(path_, "", "expected a regular file, found a folder, pipe or device");
  size_ = static_cast<std::size_t>(status.st_size);
  if (size_ == 0) return;  // nothing to map
  void* mapped = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (mapped == MAP_FAILED) fail();
  data_ = static_cast<const char*>(mapped);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<char*>(data_), size_);
}

}  // namespace orrery
