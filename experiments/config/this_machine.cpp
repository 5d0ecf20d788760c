#include "experiments/config/this_machine.hpp"

#include <fmt/core.h>

#include <cctype>

#include "backends/cuda/cuda_device.hpp"
#include "core/base/error.hpp"
#include "experiments/config/shipped.hpp"

namespace orrery {
namespace {

/// "NVIDIA A100-SXM4-80GB" -> "nvidia-a100-sxm4-80gb".
std::string as_name(const std::string& product) {
  std::string name;
  for (const unsigned char c : product)
    if (std::isalnum(c) != 0)
      name += static_cast<char>(std::tolower(c));
    else if (!name.empty() && name.back() != '-')
      name += '-';
  while (name.ends_with('-')) name.pop_back();
  return name;
}

}  // namespace

std::string machine_name(const std::string& kernels) {
  if (kernels != "cuda") return kThisMachine;
  OrreryDeviceInfo info{};
  cuda::require(cuda::api().device_info(cuda::choose_gpu(0, 1).index, &info), "device_info");
  return as_name(info.name);
}

std::string calibrated_machine(const std::string& kernels, int ranks) {
  const std::string name = machine_name(kernels);
  if (kernels != "cuda") return name;
  if (!(kClusterFiles.look_up(name) && kDeviceFiles.look_up(name)))
    throw ConfigError("kernels",
                      fmt::format("this GPU has no files {}/{}.json and {}/{}.json yet: run "
                                  "./orrery calibrate --kernels cuda first",
                                  kClusterFiles.folder, name, kDeviceFiles.folder, name));
  std::int32_t gpus = 0;
  cuda::require(cuda::api().device_count(&gpus), "device_count");
  if (ranks > 1 && gpus > 1)
    throw ConfigError("kernels", fmt::format("{}.json describes one GPU, but the ranks work on "
                                             "{}: set CUDA_VISIBLE_DEVICES to the number of one",
                                             name, gpus));
  return name;
}

}  // namespace orrery
