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

/// A data set, a model and a strategy that take no time, for more keys.
constexpr const char* kSmall = R"("dataset": {"generate": "rmat", "vertices": 300, "edges": 2000,
    "features": 8, "classes": 3}, "model": {"type": "gcn", "hidden": 8},
    "strategy": {"type": "full_graph"}, "train": {"epochs": 2}, "backend": "threads")";

/// The result of validating such a file, which fails.
Json validated(const std::string& name, const std::string& keys) {
  const fs::path folder = fs::path(::testing::TempDir()) / ("validate_" + name);
  fs::remove_all(folder);
  fs::create_directories(folder);
  std::ofstream(folder / "file.json") << "{\"name\": \"" << name << "\", " << kSmall << keys << "}";
  const int status =
      std::system((std::string(ORRERY_BINARY) + " validate " + (folder / "file.json").string() +
                   " --quiet --out " + (folder / "out").string() + " >/dev/null 2>&1")
                      .c_str());
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 1);
  std::ifstream in(folder / "out/validate.json");
  Json all = Json::parse(in);
  fs::remove_all(folder);
  return all;
}

TEST(Validate, GoesOnAfterAnExperimentThatFailsAndSaysSo) {
  const Json all = validated("two", R"(, "cluster": {"file": "r5-16-25gbe", "gpus": 1},
                                        "sweep": {"simulation.library": ["nccl", "mpi"]})");

  ASSERT_EQ(all["rows"].size(), 1U);
  EXPECT_EQ(all["rows"][0]["label"], "simulation.library=mpi");
  ASSERT_EQ(all["failures"].size(), 1U);
  EXPECT_NE(all["failures"][0]["error"].get<std::string>().find("nccl"), std::string::npos);
}

// An inference is compared by its stages: here that of threads with the same operations on the
// cluster that the file names.
TEST(Validate, ComparesTheInferenceOfAFileThatHasOne) {
  const fs::path folder = fs::path(::testing::TempDir()) / "validate_inference";
  fs::remove_all(folder);
  fs::create_directories(folder);
  std::ofstream(folder / "file.json") << "{\"name\": \"inferred\", " << kSmall
                                      << R"(, "cluster": {"file": "r5-16-25gbe", "servers": 2},
            "simulation": {"library": "mpi"},
            "inference": {"fanout": 3}, "sweep": {"inference.columns": [1, 2]}})";
  const int status =
      std::system((std::string(ORRERY_BINARY) + " validate " + (folder / "file.json").string() +
                   " --quiet --repeats 3 --out " + (folder / "out").string() + " >/dev/null 2>&1")
                      .c_str());
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  std::ifstream in(folder / "out/validate.json");
  const Json all = Json::parse(in);
  ASSERT_EQ(all["rows"].size(), 2U);
  for (const Json& row : all["rows"]) {
    EXPECT_TRUE(row["classes"].is_null());
    double real = 0, simulated = 0;
    for (const Json& stage : row["stages"]) {
      real += stage["real_seconds"].get<double>();
      simulated += stage["simulated_seconds"].get<double>();
    }
    EXPECT_GT(real, 0);
    EXPECT_NEAR(row["real_seconds"].get<double>(), real, 1e-12);
    EXPECT_NEAR(row["simulated_seconds"].get<double>(), simulated, 1e-12);
  }
  fs::remove_all(folder);
}

// The simulation would have all ranks in one server: another experiment.
TEST(Validate, RefusesServersThatShareThisMachine) {
  const Json all = validated(
      "servers", R"(, "cluster": {"servers": 2}, "sweep": {"strategy.overlap": [true, false]})");

  EXPECT_TRUE(all["rows"].empty());
  ASSERT_EQ(all["failures"].size(), 2U);
  EXPECT_NE(all["failures"][0]["error"].get<std::string>().find("validate.netcluster"),
            std::string::npos);
}

}  // namespace
}  // namespace orrery
