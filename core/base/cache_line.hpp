// Lines of the caches, and asking for memory before it is needed.
#pragma once

#include <cstdint>

namespace orrery {

constexpr std::int64_t kCacheLineBytes = 64;

/// Asks for the cache line of an address, which need not be valid.
///
/// GCC takes a function that does nothing but ask for an effect-free one and removes calls of it that it did
/// not inline (seen with GCC 12). The empty assembly is an effect.
inline void prefetch(const void* address) {
  __builtin_prefetch(address);
  asm volatile("");
}

/// The same for memory that will be written.
inline void prefetch_to_write(const void* address) {
  __builtin_prefetch(address, 1);
  asm volatile("");
}

}  // namespace orrery
