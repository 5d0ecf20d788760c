#include "core/runtime/execute/storage.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace orrery {
namespace {

[[maybe_unused]] std::ptrdiff_t resident_pages(void* block, std::size_t bytes) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages(bytes / page);
  EXPECT_EQ(::mincore(block, bytes, pages.data()), 0);
  return std::ranges::count_if(pages, [](unsigned char one) { return (one & 1) != 0; });
}

#ifndef __SANITIZE_THREAD__  // whose heap touches the pages of a block by itself

// Memory that was freed holds small pages, which would stay small below a tensor.
TEST(HostStorage, LargeBlocksBringNoPagesOfFreedMemory) {
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  std::free(std::malloc(31 * kMiB));  // from now on the heap keeps blocks of this size
  void* used = std::malloc(24 * kMiB);
  std::memset(used, 1, 24 * kMiB);
  std::free(used);

  void* block = host_storage().take(Space::device, 16 * kMiB);
  EXPECT_EQ(resident_pages(block, 16 * kMiB), 0);
  std::memset(block, 1, 16 * kMiB);
  host_storage().give(Space::device, block);

  // The same block comes back with what it had: nothing is faulted in twice.
  void* again = host_storage().take(Space::device, 16 * kMiB);
  if (again == block) {
    EXPECT_GT(resident_pages(again, 16 * kMiB), 0);
  }
  host_storage().give(Space::device, again);
}

#endif

}  // namespace
}  // namespace orrery
