// Where the bytes of tensors come from.
#pragma once

#include <cstdint>

#include "core/ops/tensor.hpp"

namespace orrery {

/// Blocks of memory in the spaces of a rank.
class Storage {
 public:
  virtual ~Storage() = default;
  /// A block, at least 64-byte aligned.
  ///
  /// Errors    std::bad_alloc
  virtual void* take(Space space, std::int64_t bytes) = 0;
  virtual void give(Space space, void* block) noexcept = 0;
  /// The capacity of a space; kUnlimited if it is not known.
  virtual std::int64_t capacity(Space space) const = 0;
  /// Sets and reads bytes of a block that no pending work touches; done on return.
  virtual void set(Space space, void* at, unsigned char byte, std::int64_t bytes) = 0;
  virtual void read(Space space, void* to, const void* from, std::int64_t bytes) const = 0;
};

/// The heap of this process, for every space.
Storage& host_storage();

}  // namespace orrery
