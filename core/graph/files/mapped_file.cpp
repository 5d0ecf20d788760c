#include "core/graph/files/mapped_file.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>

#include "core/base/error.hpp"

namespace orrery {
namespace {

/// What is mapped now, for a handler of signals, which may neither lock nor allocate. What finds no
/// place is mapped all the same, and then not named.
struct Mapped {
  std::atomic<const char*> data = nullptr;
  std::size_t size = 0;
  const char* path = nullptr;
};
std::array<Mapped, 1024> mapped_now;
std::mutex changing;

void note_mapped(const char* data, std::size_t size, const char* path) {
  const std::lock_guard lock(changing);
  for (Mapped& place : mapped_now)
    if (place.data == nullptr) {
      place.size = size;
      place.path = path;
      place.data = data;
      return;
    }
}

void forget_mapped(const char* data) {
  const std::lock_guard lock(changing);
  for (Mapped& place : mapped_now)
    if (place.data == data) {
      place.data = nullptr;
      return;
    }
}

/// A page of a file could not be read: another program cut the file short, or its disk failed.
void end_by_lost_page(int signal, siginfo_t* info, void*) {
  const auto* address = static_cast<const char*>(info->si_addr);
  for (const Mapped& place : mapped_now) {
    const char* data = place.data;
    if (data == nullptr || address < data || address >= data + place.size) continue;
    for (const char* part :
         {"orrery: error: ", place.path,
          ": cannot be read further: it was cut short meanwhile, or its disk failed\n"})
      if (::write(STDERR_FILENO, part, std::strlen(part)) < 0) break;  // nobody listens
    ::_exit(1);
  }
  std::signal(signal, SIG_DFL);  // none of ours: happens again, and ends the process
}

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
  note_mapped(data_, size_, path_.c_str());
}

MappedFile::~MappedFile() {
  if (data_ == nullptr) return;
  forget_mapped(data_);
  ::munmap(const_cast<char*>(data_), size_);
}

void end_when_a_mapped_file_is_cut() {
  struct sigaction action {};
  action.sa_sigaction = end_by_lost_page;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &action, nullptr);
}

}  // namespace orrery
