// The part of CUB that Orrery's library uses: a stable sort of pairs.
#pragma once

#include <cuda_runtime.h>

#include <numeric>
#include <vector>

namespace cub {

struct DeviceRadixSort {
  template <class Key, class Value>
  static cudaError_t SortPairs(void* scratch, std::size_t& scratch_bytes, const Key* keys,
                               Key* sorted_keys, const Value* values, Value* sorted_values,
                               std::int64_t n, int, int, cudaStream_t stream) {
    if (scratch == nullptr) {
      scratch_bytes = 1;
      return cudaSuccess;
    }
    orrery::emulation::enqueue(stream, [=] {
      std::vector<std::int64_t> order(static_cast<std::size_t>(n));
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(),
                       [&](auto a, auto b) { return keys[a] < keys[b]; });
      for (std::int64_t p = 0; p < n; ++p) {
        sorted_keys[p] = keys[order[static_cast<std::size_t>(p)]];
        sorted_values[p] = values[order[static_cast<std::size_t>(p)]];
      }
    });
    return cudaSuccess;
  }
};

}  // namespace cub
