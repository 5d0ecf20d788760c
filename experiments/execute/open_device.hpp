// The device of a rank of a run: cores of this machine, or a GPU.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "backends/cuda/cuda_device.hpp"
#include "core/runtime/execute/rank_device.hpp"
#include "experiments/execute/execute_options.hpp"

namespace orrery {

/// The GPU of the `place`-th of the `ranks` on a server; nothing if the kernels need none.
///
/// Errors    NotBuilt · Error: no driver, no GPU · ConfigError: unknown kernels
std::optional<cuda::GpuChoice> gpu_of_rank(const ExecuteOptions& options, int place, int ranks);

/// Takes once what kernels of this process share, and must be called before its ranks compute.
///
/// Errors    those of make_cpu_kernels()
void prepare_kernels(const ExecuteOptions& options);

/// Errors    Error: the GPU has no room
std::unique_ptr<RankDevice> open_device(const ExecuteOptions& options,
                                        const std::optional<cuda::GpuChoice>& gpu);

/// "cpu (avx512, oneDNN)", "cuda (NVIDIA A100-SXM4-80GB, driver 12.4, ...)".
std::string describe_kernels(const ExecuteOptions& options,
                             const std::optional<cuda::GpuChoice>& gpu);

}  // namespace orrery
