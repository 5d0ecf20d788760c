// How kernels are launched, and the shapes of grids that they share.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <utility>

#include "backends/cuda/device/device.cuh"

namespace orrery::cuda {

inline std::int64_t ceil_div(std::int64_t n, std::int64_t by) { return (n + by - 1) / by; }

/// A grid's extent.
///
/// Errors    Failure: more blocks than a grid can have
inline unsigned extent(std::int64_t blocks, std::int64_t most = (std::int64_t{1} << 31U) - 1) {
  require(blocks <= most, "a matrix is too large for one kernel launch");
  return static_cast<unsigned>(blocks);
}

/// Appends a kernel to the stream; an empty grid does nothing.
template <class... Parameters, class... Arguments>
void launch(OrreryStream& s, void (*kernel)(Parameters...), dim3 grid, dim3 block,
            Arguments&&... arguments) {
  if (grid.x == 0 || grid.y == 0) return;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.stream = s.stream;
  check(cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...),
        "a kernel launch");
}

/// Blocks of 256 threads over a matrix of `rows` rows with `units` pieces of work each: x of the
/// block runs over units, y over rows; x of the grid over rows, y and z over units. Either may be
/// large: all parameters of a model are one row.
struct Tiles {
  dim3 grid, block;
  Tiles(std::int64_t rows, std::int64_t units) {
    const unsigned widest = rows < 4 ? 256 : 64;
    unsigned width = 1;
    while (width < units && width < widest) width *= 2;
    block = dim3{width, 256 / width, 1};
    const std::int64_t across = ceil_div(units, width), y = across < 65535 ? across : 65535;
    grid = dim3{extent(ceil_div(rows, block.y)), extent(y),
                y == 0 ? 1 : extent(ceil_div(across, y), 65535)};
  }
};
__device__ __forceinline__ std::int64_t tile_row() {
  return std::int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
}
__device__ __forceinline__ std::int64_t tile_unit() {
  return (std::int64_t{blockIdx.z} * gridDim.y + blockIdx.y) * blockDim.x + threadIdx.x;
}

}  // namespace orrery::cuda
