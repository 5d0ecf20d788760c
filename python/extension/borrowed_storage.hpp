// Borrowed memory, for one operation.
#pragma once

#include <cstring>

#include "core/base/error.hpp"
#include "core/runtime/execute/storage.hpp"

namespace orrery::python {

/// Returns the block that was lent last, unchanged: nothing is allocated, filled or freed. Kernels
/// that need aligned vectors check the address themselves.
class BorrowedStorage : public Storage {
 public:
  void lend(const void* block) { lent_ = const_cast<void*>(block); }
  void* take(Space /*space*/, std::int64_t /*bytes*/) override {
    ORRERY_ASSERT(lent_ != nullptr);
    return lent_;
  }
  void give(Space /*space*/, void* /*block*/) noexcept override {}
  std::int64_t capacity(Space space) const override { return host_storage().capacity(space); }
  void set(Space /*space*/, void* at, unsigned char byte, std::int64_t bytes) override {
    std::memset(at, byte, static_cast<std::size_t>(bytes));
  }
  void read(Space /*space*/, void* to, const void* from, std::int64_t bytes) const override {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }

 private:
  void* lent_ = nullptr;
};

}  // namespace orrery::python
