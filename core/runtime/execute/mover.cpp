#include "core/runtime/execute/mover.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace orrery {
namespace {

template <class T>
void sum_of(std::span<const void* const> parts, void* to, std::int64_t n) {
  std::vector<T> total(static_cast<std::size_t>(n));
  for (const void* part : parts) {
    const T* x = static_cast<const T*>(part);
    for (std::size_t k = 0; k < total.size(); ++k) total[k] += x[k];
  }
  std::copy(total.begin(), total.end(), static_cast<T*>(to));
}

class HostMover final : public Mover {
 public:
  void copy(void* to, const void* from, std::int64_t bytes) override {
    if (bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
  void sum(DType dtype, std::span<const void* const> parts, void* to, std::int64_t n) override {
    if (dtype == DType::f64)
      sum_of<double>(parts, to, n);
    else
      sum_of<float>(parts, to, n);
  }
  void settle() override {}
};

}  // namespace

Mover& host_mover() {
  static HostMover mover;
  return mover;
}

}  // namespace orrery
