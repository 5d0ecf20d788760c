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

TEST_F(OddFiles, APipeThatNobodyWritesIsNotWaitedFor) {
  for (const char* name : {"pipe", "pipe.csv", "config.json"})
    ASSERT_EQ(::mkfifo(path(name).c_str(), 0600), 0);
  std::ofstream(path("edges.txt")) << "0 1\n1 2\n";

  EXPECT_NE(error_of({"plan", path("pipe")}, 2).find("is empty; expected an experiment file"),
            std::string::npos);
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"partition", path("edges.txt"), "--parts", "2", "--method", "file", "--set",
            "partition.file=" + path("pipe")},
           {"dataset", "convert", path("pipe.csv"), path("made")},
           {"predict", folder_.string()}})
    EXPECT_NE(error_of(words).find("expected a regular file"), std::string::npos) << words.front();
}

TEST_F(OddFiles, NeitherAPipeNorADeviceHoldsWeights) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  std::ofstream(path("config.json"))
      << R"({"name": "odd", "dataset": {"generate": "rmat", "vertices": 64, "edges": 300},
      "model": {"type": "gcn"}, "strategy": {"type": "full_graph"}, "train": {"epochs": 1}})";

  for (const std::string& weights : {path("pipe"), std::string("/dev/zero")})
    EXPECT_NE(error_of({"predict", folder_.string(), "--weights", weights})
                  .find("expected a regular file"),
              std::string::npos)
        << weights;
}

TEST_F(OddFiles, AnExperimentComesThroughAPipe) {
  std::ofstream(path("e.json"))
      << R"({"name": "odd", "dataset": {"generate": "rmat", "vertices": 64, "edges": 300},
      "model": {"type": "gcn"}, "strategy": {"type": "full_graph"}})";
  const auto shown = run_program(
      {"bash", "-c", ORRERY_BINARY " plan <(sleep 0.2; cat '" + path("e.json") + "') 2>&1"},
      "/dev/null");

  EXPECT_EQ(shown->status, 0) << shown->output;
}

TEST_F(OddFiles, AVeryLongNameIsToldByItsEnds) {
  const std::string name(100000, 'p');
  std::ofstream(path("e.json"))
      << R"({"name": "odd", "dataset": {"path": ")" << name
      << R"("}, "model": {"type": "gcn"}, "strategy": {"type": "full_graph"}})";

  const std::string said = error_of({"plan", path("e.json")});

  EXPECT_NE(said.find("ppp [...] "), std::string::npos);
  EXPECT_LT(said.size(), 5000U);
}

/// Results, which are JSON, name their folder.
TEST_F(OddFiles, ANameThatIsNoUtf8IsRefusedBeforeAnythingIsDone) {
  const std::string said = error_of({"run", path("e.json"), "--out", path("r\xe9s")}, 2);

  EXPECT_NE(said.find("r\\xe9s: is not UTF-8, in which all results are written"), std::string::npos)
      << said;
}

TEST_F(OddFiles, AFileOfSeveralFaultsHasALineForEach) {
  std::ofstream(path("e.json")) << R"({"name": "odd"})";

  EXPECT_EQ(error_of({"plan", path("e.json")}, 2),
            "orrery: error: dataset: is required\nand 2 more:\n  model: is required\n"
            "  strategy: is required\n");
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
