// Memory of which not all may be written.
#pragma once

#include <cstddef>
#include <memory>

namespace orrery::sim {

struct Unmap {
  std::size_t bytes = 0;
  void operator()(void* memory) const;
};

/// Zeros that take memory as they are written: what stays zero takes none.
///
/// Errors    std::bad_alloc
class Zeros {
 public:
  Zeros() = default;
  explicit Zeros(std::size_t bytes);
  void* data() const { return memory_.get(); }

 private:
  std::unique_ptr<void, Unmap> memory_;
};

}  // namespace orrery::sim
