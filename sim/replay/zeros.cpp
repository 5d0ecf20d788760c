#include "sim/replay/zeros.hpp"

#include <sys/mman.h>

#include <new>

namespace orrery::sim {

Zeros::Zeros(std::size_t bytes) {
  if (bytes == 0) return;
  // Not all of it is written, so the system has to keep nothing back for it.
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  memory_ = std::unique_ptr<void, Unmap>(memory, Unmap{bytes});
}

void Unmap::operator()(void* memory) const { ::munmap(memory, bytes); }

}  // namespace orrery::sim
