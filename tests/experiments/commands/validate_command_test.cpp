// `orrery validate`.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

TEST(Validate, GoesOnAfterAnExperimentThatFailsAndSaysSo) {
  const fs::path folder = fs::path(::testing::TempDir()) / "validate_goes_on";
  fs::remove_all(folder);
  fs::create_directories(folder);
  std::ofstream(folder / "file.json")
      << R"({"name": "two", "dataset": {"generate": "rmat", "vertices": 300, "edges": 2000,
             "features": 8, "classes": 3}, "model": {"type": "gcn", "hidden": 8},
             "strategy": {"type": "full_graph"}, "train": {"epochs": 2}, "backend": "threads",
             "cluster": {"file": "r5-16-25gbe", "gpus": 1},
             "sweep": {"simulation.library": ["nccl", "mpi"]}})";

  const int status =
      std::system((std::string(ORRERY_BINARY) + " validate " + (folder / "file.json").string() +
                   " --quiet --out " + (folder / "out").string() + " >/dev/null 2>&1")
                      .c_str());

  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 1);
  std::ifstream in(folder / "out/validate.json");
  const Json all = Json::parse(in);
  ASSERT_EQ(all["rows"].size(), 1U);
  EXPECT_EQ(all["rows"][0]["label"], "simulation.library=mpi");
  ASSERT_EQ(all["failures"].size(), 1U);
  EXPECT_NE(all["failures"][0]["error"].get<std::string>().find("nccl"), std::string::npos);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace orrery
