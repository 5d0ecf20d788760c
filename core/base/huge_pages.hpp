// Memory on huge pages, which the system grants where it is asked: the first touch of a small one takes
// as long as writing it ten times.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace orrery {

constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

/// Asks for huge pages where these bytes, which nobody has touched yet, fill some. Only a hint: the
/// contents are the same without.
inline void advise_huge_pages(void* begin, std::size_t bytes) noexcept {
  const auto first = reinterpret_cast<std::uintptr_t>(begin);
  const std::uintptr_t from = (first + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes,
                       to = (first + bytes) / kHugePageBytes * kHugePageBytes;
  if (from < to) ::madvise(reinterpret_cast<void*>(from), to - from, MADV_HUGEPAGE);
}

}  // namespace orrery
