// Files that are none, in place of those that commands read: an error within a second.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/base/child_process.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;

class OddFiles : public ::testing::Test {
 protected:
  OddFiles() {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~OddFiles() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  /// What the command prints as an error; a command that goes on for ten seconds is ended.
  static std::string error_of(std::vector<std::string> words, int status = 1) {
    std::string command = "timeout 10 " ORRERY_BINARY;
    for (const std::string& word : words) command += " '" + word + "'";
    const auto ended = run_program({"bash", "-c", command + " 2>&1 >/dev/null"}, "/dev/null");
    if (!ended) return "";
    EXPECT_EQ(WEXITSTATUS(ended->status), status) << ended->output;
    return ended->output;
  }

  fs::path folder_ = fs::path(::testing::TempDir()) / "orrery-odd-files";
};

TEST_F(OddFiles, AnExperimentWithoutEndIsRefused) {
  EXPECT_NE(error_of({"plan", "/dev/zero"}, 2)
                .find("/dev/zero: expected an experiment file, found "
                      "more than 16 MiB"),
            std::string::npos);
}

TEST_F(OddFiles, APipeIsNoDataSet) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  ASSERT_EQ(::mkfifo(path("edges.npy").c_str(), 0600), 0);
  std::ofstream(path("meta.json")) << R"({"num_nodes": 3, "num_edges": 2})";

  EXPECT_NE(error_of({"dataset", "info", path("pipe")}).find("expected a regular file"),
            std::string::npos);
  EXPECT_NE(error_of({"dataset", "info", folder_.string()}).find("expected a regular file"),
            std::string::npos);
}

/// Nobody writes into the pipe, and no command may wait for a writer.
TEST_F(OddFiles, APipeIsNeitherEdgesNorWeightsNorACheckpoint) {
  for (const char* name : {"pipe.npy", "pipe.bin", "checkpoint.bin"})
    ASSERT_EQ(::mkfifo(path(name).c_str(), 0600), 0);
  std::ofstream(path("e.json"))
      << R"({"name": "odd", "dataset": {"generate": "rmat", "vertices": 64, "edges": 300},
      "model": {"type": "gcn"}, "strategy": {"type": "full_graph"}, "inference": {},
      "train": {"epochs": 1, "checkpoint_every": 1}})";
  const std::string list =
      R"(dataset={"edge_list": {"files": ")" + path("pipe.bin") + R"(", "format": "uint32"},
                  "features": {"random": 4}})";

  for (const char* name : {"pipe.npy", "pipe.bin"})
    EXPECT_NE(error_of({"partition", path(name), "--stream", "--parts", "2"}).find("regular file"),
              std::string::npos);
  EXPECT_NE(error_of({"infer", path("e.json"), "--set", list, "--set",
                      "inference.weights=/dev/zero", "--out", path("made")})
                .find("regular file"),
            std::string::npos);
  EXPECT_NE(error_of({"infer", path("e.json"), "--set", list, "--set",
                      "inference.weights=" ORRERY_BINARY, "--out", path("made")}),
            "");
  std::ofstream(path(".lock"));
  EXPECT_NE(error_of({"run", path("e.json"), "--out", folder_.string(), "--resume"})
                .find("expected a regular file"),
            std::string::npos);
}

TEST_F(OddFiles, AFolderOfClustersBesideThoseThatShipHidesNone) {
  fs::create_directories(folder_ / "configs/clusters");
  std::ofstream(path("configs/clusters/mine.json")) << "{}";
  const auto shown = [&](const std::string& name) {
    return run_program(
        {"bash", "-c",
         "cd '" + folder_.string() + "' && " ORRERY_BINARY " cluster show " + name + " 2>&1"},
        "/dev/null");
  };

  EXPECT_EQ(shown("dgx-1")->status, 0);
  const std::string unknown = shown("none-such")->output;
  EXPECT_NE(unknown.find("dgx-1"), std::string::npos) << unknown;
  EXPECT_NE(unknown.find("mine"), std::string::npos) << unknown;
}

}  // namespace
}  // namespace orrery
