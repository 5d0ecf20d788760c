#include "experiments/command_line/about.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "backends/cuda/library.hpp"
#include "core/base/child_process.hpp"
#include "core/base/error.hpp"
#include "experiments/config/plugins.hpp"
#include "experiments/config/version.hpp"
#include "experiments/results/results.hpp"

namespace orrery {
namespace {

constexpr const char* kNotBuilt = "not in this build: apt-get install {}, and build again";

/// A library that a separate program is linked with: both must exist.
std::string of_program(const std::string& version, const char* program, const char* packages) {
  if (version.empty()) return fmt::format(fmt::runtime(kNotBuilt), packages);
  if (!program_beside(program))
    return fmt::format("{}, but its program {} is not there", version, program);
  return version;
}

std::string linked(const std::string& version, const char* instead) {
  return version.empty() ? instead : version;
}

/// Whether the library for GPUs loads, which does not tell whether there are GPUs.
std::string cuda_library() {
  try {
    cuda::api();
    return "loads";
  } catch (const NotBuilt&) {
    return "not there: build it where nvcc is, or set ORRERY_CUDA_LIBRARY to where it is";
  }
}

}  // namespace

std::string about() {
  const auto built = provenance();
  const std::string plugins = plugin_lines();
  std::string text = fmt::format("orrery {} (revision {}), compiled by {}\n", kVersion,
                                 built["revision"].get<std::string>(), kCompiler);
  const auto line = [&](const char* what, const std::string& value) {
    text += fmt::format("  {:<14}{}\n", what, value);
  };
  line("MPI", of_program(kMpiVersion, "experiments/orrery-mpi", "libopenmpi-dev openmpi-bin"));
  line("SimGrid", of_program(kSimgridVersion, "sim/orrery-sim", "libsimgrid-dev"));
  line("oneDNN", linked(kOnednnVersion, "not in this build: OpenBLAS multiplies"));
  line("METIS",
       linked(kMetisVersion, "not in this build: apt-get install libmetis-dev, and build again"));
  line("PT-Scotch", of_program(kPtscotchVersion, "backends/ptscotch/orrery-ptscotch",
                               "libptscotch-dev libopenmpi-dev openmpi-bin"));
  line("CUDA library", cuda_library());
  line("plugins", plugins.empty() ? "none" : "\n" + plugins.substr(0, plugins.size() - 1));
  text.pop_back();
  return text;
}

}  // namespace orrery
