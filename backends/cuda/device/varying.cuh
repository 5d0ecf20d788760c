// Numbers that differ at every launch of a graph, as kernels read them.
#pragma once

#include <cstring>

#include "backends/cuda/interface.h"

namespace orrery::cuda {

__device__ __forceinline__ std::uint32_t value_of(const OrreryVarying& v) {
  return v.at != nullptr ? *v.at : v.value;
}

__device__ __forceinline__ float float_of(const OrreryVarying& v) {
  const std::uint32_t bits = value_of(v);
  float value = 0;
  memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace orrery::cuda
