#include "core/runtime/execute/storage.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "core/runtime/ledger.hpp"

namespace orrery {
namespace {

constexpr std::size_t kHostAlignment = 64;
/// Large tensors lie on huge pages if the system grants them. Random rows then rarely miss the TLB,
/// which is worth up to twice the speed of a sparse product.
constexpr std::size_t kHugePage = std::size_t{2} << 20;

std::size_t rounded(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

void* aligned_storage(std::size_t bytes) {
  if (bytes < 2 * kHugePage)
    return std::aligned_alloc(kHostAlignment,
                              std::max(rounded(bytes, kHostAlignment), kHostAlignment));
  const std::size_t whole = rounded(bytes, kHugePage);
  void* raw = std::aligned_alloc(kHugePage, whole);
  // only a hint: a refusal costs only speed
  if (raw != nullptr) ::madvise(raw, whole, MADV_HUGEPAGE);
  return raw;
}

class HostStorage final : public Storage {
 public:
  void* take(Space, std::int64_t bytes) override {
    void* block = aligned_storage(static_cast<std::size_t>(bytes));
    if (block == nullptr) throw std::bad_alloc();
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
};

}  // namespace

Storage& host_storage() {
  static HostStorage storage;
  return storage;
}

}  // namespace orrery
