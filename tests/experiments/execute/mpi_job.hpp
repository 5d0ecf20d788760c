// A folder for a job of real ranks, and how it is started.
#pragma once

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "tests/support/mpirun.hpp"

#ifdef ORRERY_MPIRUN

namespace orrery::testing {

class MpiJob : public ::testing::Test {
 protected:
  MpiJob() { std::filesystem::create_directories(folder_); }
  ~MpiJob() override { std::filesystem::remove_all(folder_); }

  std::string read(const std::string& name) const {
    std::stringstream text;
    text << std::ifstream(folder_ / name).rdbuf();
    return text.str();
  }
  /// Exit status; output is in the files `out` and `err`.
  int shell(const std::string& command) const {
    const int status = std::system(fmt::format("{} >'{}/out' 2>'{}/err' </dev/null", command,
                                               folder_.string(), folder_.string())
                                       .c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string experiment(int epochs, const std::string& more = "") const {
    const std::filesystem::path file = folder_ / "experiment.json";
    std::ofstream(file) << fmt::format(
        R"({{"name": "job", "seed": 5, "backend": "mpi",
            "dataset": {{"generate": "communities", "vertices": 2000, "edges": 15000}},
            "model": {{"type": "gcn", "hidden": 32}}, "strategy": {{"type": "full_graph"}},
            "train": {{"epochs": {}, "checkpoint_every": 3}}{}}})",
        epochs, more);
    return file.string();
  }
  /// The first JSON object of standard output (nothing else may be printed there).
  nlohmann::ordered_json printed() const { return nlohmann::ordered_json::parse(read("out")); }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / fmt::format("orrery-job-{}", ::getpid());
};

/// GPUs that are emulated, and do no more than somebody waits for.
inline const std::string kOnGpus = "ORRERY_CUDA_LIBRARY='" ORRERY_EMULATED_LIBRARY
                                   "' ORRERY_EMULATE_LAZILY=1 ORRERY_CUDA_POISON=0 ";

}  // namespace orrery::testing

#endif
