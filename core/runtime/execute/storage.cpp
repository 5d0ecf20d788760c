#include "core/runtime/execute/storage.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <unordered_map>

#include "core/base/huge_pages.hpp"
#include "core/runtime/ledger.hpp"

namespace orrery {
namespace {

constexpr std::size_t kHostAlignment = 64;
/// Large tensors lie on huge pages if the system grants them. Random rows then rarely miss the TLB,
/// which is worth up to twice the speed of a sparse product.
constexpr std::size_t kHugePage = kHugePageBytes;

std::size_t rounded(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

/// Has blocks of the heap lie on huge pages.
///
/// The heap reuses memory that was freed. Its small pages are there already, and stay small: a
/// process that has read a large file would have its tensors on them. They are dropped, so that the
/// next touch brings huge ones. A block that comes back at the same place keeps what it has.
class HugePages {
 public:
  void advise(void* block, std::size_t bytes) noexcept {
    advise_huge_pages(block, bytes);
    try {
      const std::lock_guard lock(mutex_);
      std::size_t& huge = huge_[block];
      if (huge >= bytes) return;
      ::madvise(block, bytes, MADV_DONTNEED);
      huge = bytes;
    } catch (const std::bad_alloc&) {
    }
  }

 private:
  std::mutex mutex_;
  std::unordered_map<void*, std::size_t> huge_;  ///< bytes from this address that were advised
};

class HostStorage final : public Storage {
 public:
  void* take(Space, std::int64_t wanted) override {
    const auto bytes = static_cast<std::size_t>(wanted);
    const std::size_t alignment = bytes < 2 * kHugePage ? kHostAlignment : kHugePage;
    const std::size_t whole = std::max(rounded(bytes, alignment), alignment);
    void* block = std::aligned_alloc(alignment, whole);
    if (block == nullptr) throw std::bad_alloc();
    if (alignment == kHugePage) huge_pages_.advise(block, whole);
    return block;
  }
  void give(Space, void* block) noexcept override { std::free(block); }
  std::int64_t capacity(Space) const override { return kUnlimited; }
  void set(Space, void* at, unsigned char byte, std::int64_t bytes) override {
    std::memset(at, byte, static_cast<std::size_t>(bytes));
  }
  void read(Space, void* to, const void* from, std::int64_t bytes) const override {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }

 private:
  HugePages huge_pages_;
};

}  // namespace

Storage& host_storage() {
  static HostStorage storage;
  return storage;
}

}  // namespace orrery
