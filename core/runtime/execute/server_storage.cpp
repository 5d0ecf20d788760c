#include "core/runtime/execute/server_storage.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <string>
#include <utility>

namespace orrery {
namespace {

std::size_t page() {
  static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

/// A descriptor that is closed when it is left, unless it is kept.
struct File {
  int number;
  explicit File(int n) : number(n) {}
  ~File() {
    if (number >= 0) ::close(number);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int keep() { return std::exchange(number, -1); }
};

/// Null if the system refuses. Huge pages are a wish, which /sys/kernel/mm/transparent_hugepage/
/// shmem_enabled grants: random rows then rarely miss the TLB.
char* map(int file, std::size_t bytes, int protection) {
  void* at = ::mmap(nullptr, bytes, protection, MAP_SHARED, file, 0);
  if (at == MAP_FAILED) return nullptr;
  ::madvise(at, bytes, MADV_HUGEPAGE);
  return static_cast<char*>(at);
}

/// Whether a file may have this size; beyond the limit the system kills the process.
bool within_limit(std::size_t bytes) {
  rlimit limit{};
  return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && bytes <= limit.rlim_cur;
}

/// A file of memory whose size nobody can change any more, as whoever has it mapped would die of
/// that; -1 if the system refuses.
int memory_file(std::size_t bytes) {
  if (!within_limit(bytes)) return -1;
  File file(::memfd_create("orrery-rows", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (file.number < 0 || ::ftruncate(file.number, static_cast<off_t>(bytes)) != 0 ||
      ::fcntl(file.number, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0)
    return -1;
  return file.keep();
}

std::array<std::uint64_t, 2> new_key() {
  std::random_device random;
  const auto word = [&] { return std::uint64_t{random()} << 32 | random(); };
  return {word(), word()};
}

}  // namespace

ServerStorage::~ServerStorage() {
  while (!blocks_.empty()) give(Space::server_host, const_cast<char*>(blocks_.begin()->first));
}

void* ServerStorage::take(Space space, std::int64_t wanted) {
  const std::size_t rows = (static_cast<std::size_t>(wanted) + page() - 1) / page() * page();
  Block block{-1, rows + page(), new_key()};
  File file(memory_file(block.bytes));
  char* at = nullptr;
  if (file.number >= 0) at = map(file.number, block.bytes, PROT_READ | PROT_WRITE);
  if (at == nullptr) return host_storage().take(space, wanted);
  std::memcpy(at + rows, block.key.data(), sizeof block.key);
  try {
    const std::lock_guard lock(mutex_);
    blocks_.emplace(at, block).first->second.file = file.keep();
  } catch (...) {
    ::munmap(at, block.bytes);
    throw;
  }
  return at;
}

void ServerStorage::give(Space space, void* block) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(static_cast<const char*>(block));
  if (found == blocks_.end()) return host_storage().give(space, block);
  ::munmap(block, found->second.bytes);
  ::close(found->second.file);
  blocks_.erase(found);
}

SharedPlace ServerStorage::place_of(const void* memory) const {
  const auto* at = static_cast<const char*>(memory);
  const std::lock_guard lock(mutex_);
  auto behind = blocks_.upper_bound(at);
  if (behind == blocks_.begin()) return {};
  const auto& [first, block] = *--behind;
  if (at >= first + block.bytes - page()) return {};
  return {::getpid(), block.file, static_cast<std::int64_t>(block.bytes), at - first, block.key};
}

std::shared_ptr<MappedRows> MappedRows::open(const SharedPlace& place) {
  if (place.process < 0) return nullptr;
  const std::string name = fmt::format("/proc/{}/fd/{}", place.process, place.file);
  // Looked at before it is opened, which can wait for ever or do something where it is no file.
  struct stat found {};
  if (::stat(name.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) return nullptr;
  const File file(::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.number < 0 || ::fstat(file.number, &found) != 0 || found.st_size != place.bytes)
    return nullptr;
  const auto bytes = static_cast<std::size_t>(place.bytes);
  const char* first = map(file.number, bytes, PROT_READ);
  if (first == nullptr) return nullptr;
  std::shared_ptr<MappedRows> rows(new MappedRows(first, bytes, place.offset));
  if (std::memcmp(first + bytes - page(), place.key.data(), sizeof place.key) != 0) return nullptr;
  return rows;
}

MappedRows::~MappedRows() { ::munmap(const_cast<char*>(file_), bytes_); }

}  // namespace orrery
