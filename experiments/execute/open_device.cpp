#include "experiments/execute/open_device.hpp"

#include <fmt/core.h>

#include "backends/cpu/cpu.hpp"
#include "backends/reference/reference.hpp"
#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/runtime/execute/host_device.hpp"

namespace orrery {
namespace {

KernelFactory host_kernels(const std::string& name) {
  return name == "reference" ? make_reference_kernels : make_cpu_kernels;
}

}  // namespace

std::optional<cuda::GpuChoice> gpu_of_rank(const ExecuteOptions& options, int place, int ranks) {
  if (options.kernels == "cuda") return cuda::choose_gpu(place, ranks);
  if (options.kernels != "cpu" && options.kernels != "reference")
    throw ConfigError("kernels",
                      fmt::format("found \"{}\", allowed: cpu, reference, cuda", options.kernels));
  return std::nullopt;
}

void prepare_kernels(const ExecuteOptions& options) {
  if (options.kernels == "cpu") make_cpu_kernels();
}

std::unique_ptr<RankDevice> open_device(const ExecuteOptions& options,
                                        const std::optional<cuda::GpuChoice>& gpu) {
  const auto origin = std::chrono::steady_clock::now();
  if (!gpu) return std::make_unique<HostDevice>(host_kernels(options.kernels), origin);
  const std::int64_t bytes = options.capacities.bytes[at(Space::device)];
  return std::make_unique<cuda::CudaDevice>(
      cuda::CudaDevice::Options{.gpu = *gpu,
                                .device_bytes = bytes,
                                .tf32 = options.tf32,
                                .graphs = options.cuda_graph,
                                .host_kernels = make_cpu_kernels,
                                .origin = origin});
}

std::string describe_kernels(const ExecuteOptions& options,
                             const std::optional<cuda::GpuChoice>& gpu) {
  if (gpu)
    return fmt::format("cuda ({}{}{})", cuda::describe_gpu(gpu->index),
                       options.tf32 ? ", dense products in TF32" : "",
                       options.cuda_graph ? ", CUDA graphs" : "");
  return options.kernels == "cpu" ? cpu_kernels_description() : options.kernels;
}

}  // namespace orrery
