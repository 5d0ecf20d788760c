// The text that the program prints beside the numbers of a run: notes, and what to try next.
#include <gtest/gtest.h>

#include "tests/experiments/commands/started_program.hpp"

namespace orrery {
namespace {

class Told : public testing::StartedProgram {
 protected:
  /// The text that is printed after a run of a few epochs with these arguments.
  std::string next(const std::string& arguments, const std::string& more = "") {
    std::filesystem::remove_all(in("a"));
    const std::string file = experiment(R"(, "train": {"epochs": 2})" + more);
    EXPECT_EQ(orrery("run " + file + " --out " + in("a").string() + " " + arguments), 0)
        << read("err");
    const std::string out = read("out");
    return out.substr(std::min(out.find("Try next"), out.size()));
  }
};

TEST_F(Told, NextStepsFitTheRun) {
  const std::string one = R"(, "strategy": {"type": "full_graph"})";

  std::string steps = next("", one);
  EXPECT_NE(steps.find("report " + in("a").string()), std::string::npos) << steps;
  EXPECT_NE(steps.find("plan "), std::string::npos) << steps;
  EXPECT_NE(steps.find("cluster.ranks=2"), std::string::npos) << steps;
  EXPECT_NE(steps.find(ORRERY_BINARY), std::string::npos) << "the program as it was called";

  steps = next("--set cluster.ranks=2 --set 'dataset.mixing=0.3'", one);
  EXPECT_EQ(steps.find("run "), std::string::npos) << steps;
  EXPECT_NE(steps.find("--set cluster.ranks=2 --set dataset.mixing=0.3\n"), std::string::npos)
      << "a plan of what was run: " << steps;

  steps = next("", one + R"(, "sweep": {"seed": [1, 2]})");
  EXPECT_EQ(steps.find("plan "), std::string::npos) << steps;
}

TEST_F(Told, NothingIsReadFromAPipeTwice) {
  const std::string file = experiment(R"(, "strategy": {"type": "full_graph"})");

  ASSERT_EQ(
      shell(fmt::format("sh -c \"cat '{}' | '{}' run /dev/stdin --set train.epochs=2 --out '{}'\"",
                        file, ORRERY_BINARY, in("a").string())),
      0)
      << read("err");

  EXPECT_EQ(read("out").find("/dev/stdin"), std::string::npos) << read("out");
}

TEST_F(Told, NotesExplainWhatNumbersMean) {
  next(
      "--set cluster.ranks=4 --set dataset.vertices=3 --set dataset.edges=0 --set "
      "dataset.classes=1",
      R"(, "strategy": {"type": "full_graph"}, "partition": {"method": "block"})");

  const std::string err = read("err");
  EXPECT_NE(err.find("note: the graph has no edges"), std::string::npos) << err;
  EXPECT_NE(err.find("note: all labels have one class"), std::string::npos) << err;
  EXPECT_NE(err.find("note: 1 of 4 parts hold no vertex"), std::string::npos) << err;
}

/// Files of the working directory come before those that ship.
TEST_F(Told, FilesThatTakeThePlaceOfShippedOnesAreToldSo) {
  const std::string cluster = "configs/clusters/dgx-1.json",
                    device = "configs/devices/v100-sxm2-32gb.json";
  const auto shadow = [&](const std::string& file, const std::string& more) {
    std::filesystem::create_directories(in(file).parent_path());
    std::ifstream shipped(std::filesystem::path(ORRERY_SOURCES) / file);
    std::ofstream(in(file)) << shipped.rdbuf() << more;
  };
  const std::string note = "note: cluster file ./" + cluster +
                           ", not the one that ships with Orrery\n",
                    of_device = "note: device profile ./" + device +
                                ", not the one that ships with Orrery\n";
  const auto here = [&](const std::string& words) {
    return shell(fmt::format("cd '{}' && '{}' {}", folder_.string(), ORRERY_BINARY, words));
  };
  const std::string simulated =
      "run " + experiment(R"(, "strategy": {"type": "full_graph"}, "backend": "sim",
                              "cluster": {"file": "dgx-1", "gpus": 1}, "train": {"epochs": 1})") +
      " --force --out " + in("a").string();

  shadow(cluster, "");  // the same as the shipped one
  ASSERT_EQ(here("cluster show dgx-1"), 0) << read("err");
  EXPECT_EQ(read("err").find("note: cluster file"), std::string::npos) << read("err");

  shadow(cluster, "\n");
  shadow(device, "\n");
  ASSERT_EQ(here("cluster show dgx-1"), 0) << read("err");
  EXPECT_NE(read("err").find(note), std::string::npos) << read("err");
  ASSERT_EQ(here(simulated), 0) << read("err");
  EXPECT_NE(read("err").find(note), std::string::npos) << read("err");
  EXPECT_NE(read("err").find(of_device), std::string::npos) << read("err");
  ASSERT_EQ(here(simulated + " --quiet"), 0) << read("err");
  EXPECT_EQ(read("err"), "");

  const std::string file = in("e.json").string(), out = " --out " + folder_.string(),
                    trained = in("trained").string();
  ASSERT_EQ(here("run " + file +
                 " --backend threads --set train.checkpoint_every=1 --quiet --out " + trained),
            0)
      << read("err");
  const auto times_told = [&](const std::string& line) {
    const std::string err = read("err");
    int times = 0;
    for (auto at = err.find(line); at != std::string::npos; at = err.find(line, at + 1)) ++times;
    return times;
  };
  for (const auto& [words, reads_device] :
       {std::pair("plan " + file, false), std::pair("trace " + file + out + "/t", true),
        std::pair("infer " + file + out + "/i", true),
        std::pair("advise " + file + " --search strategy.type=full_graph,spmm_1d", true),
        std::pair("predict " + trained + out + R"(/p --set 'cluster={"file": "dgx-1", "gpus": 1}')",
                  false)}) {
    ASSERT_EQ(here(words), 0) << words << ": " << read("err");
    EXPECT_EQ(times_told(note), 1) << words << ": " << read("err");
    EXPECT_EQ(times_told(of_device), reads_device ? 1 : 0) << words << ": " << read("err");
  }
}

TEST_F(Told, RanksThatShareCoresAreToldSo) {
  next("--set cluster.ranks=64", R"(, "strategy": {"type": "full_graph"})");
  EXPECT_NE(read("err").find("note: 64 ranks take turns on "), std::string::npos) << read("err");
}

TEST_F(Told, EmptyPartsAreToldByPartition) {
  const std::string file = experiment(R"(, "strategy": {"type": "full_graph"})");

  ASSERT_EQ(orrery("partition " + file + " --method block --parts 600"), 0) << read("err");

  EXPECT_NE(read("err").find("note: 100 of 600 parts hold no vertex"), std::string::npos)
      << read("err");
}

/// One that does not fit is an answer: the others are run, and the exit code says that all is done.
TEST_F(Told, OutOfMemoryOfACombinationIsARowOfRunAndSweepAlike) {
  const std::string file = experiment(
      R"(, "strategy": {"type": "full_graph"}, "train": {"epochs": 2},
          "cluster": {"ranks": 1, "device_bytes": "4 MiB"}, "sweep": {"model.hidden": [8192, 16]})");
  for (const std::string command : {"run", "sweep"}) {
    EXPECT_EQ(orrery(command + " " + file + " --out " + in(command).string()), 0) << read("err");

    EXPECT_NE(read("out").find("out of memory"), std::string::npos) << read("out");
    const auto result = json(command + "/sweep.json");
    EXPECT_EQ(result["missing"], 0);
    EXPECT_TRUE(result["sweep"][0].contains("out_of_memory"));
    EXPECT_FALSE(result["sweep"][1]["test_accuracy"].is_null());
  }
}

}  // namespace
}  // namespace orrery
