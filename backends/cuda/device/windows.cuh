// Windows of device memory in the form for kernels, and how wide the loads on them may be.
#pragma once

#include <cstdint>

#include "backends/cuda/device/failure.hpp"

namespace orrery::cuda {

/// Element (i, j) at first[i * ld + j].
template <class T>
struct Window {
  T* first = nullptr;
  std::int64_t ld = 0;
  __host__ __device__ T& operator()(std::int64_t i, std::int64_t j) const {
    return first[i * ld + j];
  }
};

/// Errors    Failure: not f32
inline Window<float> floats(const OrreryMatrix& m) {
  require(m.dtype == kOrreryF32, "this operation needs f32");
  return {static_cast<float*>(m.data), m.ld};
}

inline void require_equal_shapes(const OrreryMatrix& a, const OrreryMatrix& b) {
  require(a.rows == b.rows && a.cols == b.cols, "operands must have equal shapes");
}

/// V floats that are loaded and stored as one.
template <int V>
struct alignas(4 * V) Pack {
  float at[V];
};
template <int V>
__device__ __forceinline__ Pack<V>& pack_at(const Window<float>& w, std::int64_t i,
                                            std::int64_t j) {
  return *reinterpret_cast<Pack<V>*>(&w(i, j));
}

/// The widest pack (4, 2 or 1 floats) of which rows of `cols` floats of all windows consist.
template <class... Windows>
int pack_width(std::int64_t cols, const Windows&... windows) {
  const auto fits = [&](int v) {
    const auto whole = [&](const auto& w) {
      return w.ld % v == 0 && reinterpret_cast<std::uintptr_t>(w.first) % (4 * v) == 0;
    };
    return cols % v == 0 && (whole(windows) && ...);
  };
  return fits(4) ? 4 : fits(2) ? 2 : 1;
}

}  // namespace orrery::cuda
