// The files of `meson install` work by themselves, wherever they are moved, also as a job of Slurm.
#include <gmock/gmock.h>

#include "tests/experiments/commands/started_program.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

/// The installed tree, moved to a folder that nobody told it of: made once, for all tests here.
class InstalledTree {
 public:
  InstalledTree() {
    std::string name = (fs::path(::testing::TempDir()) / "orrery_installed_XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    EXPECT_EQ(std::system(fmt::format("meson install -C '{}' --no-rebuild --quiet --destdir '{}' "
                                      ">/dev/null",
                                      ORRERY_BUILD, (folder_ / "image").string())
                              .c_str()),
              0);
    // The prefix of the build, such as usr/local.
    fs::path found;
    for (const auto& entry : fs::recursive_directory_iterator(folder_ / "image"))
      if (entry.path().filename() == "libexec") found = entry.path().parent_path();
    if (!found.empty()) fs::rename(found, moved());
  }
  ~InstalledTree() { fs::remove_all(folder_); }
  fs::path moved() const { return folder_ / "moved"; }

 private:
  fs::path folder_;
};

class Installed : public testing::StartedProgram {
 protected:
  static fs::path tree(const std::string& path) {
    static const InstalledTree made;
    return made.moved() / path;
  }
  static std::string text_of(const std::string& path) {
    std::stringstream text;
    text << std::ifstream(tree(path)).rdbuf();
    return text.str();
  }
  /// Exit status of the installed program, in a folder of its own.
  int installed(const std::string& arguments) const {
    fs::create_directories(in("elsewhere"));
    return shell(fmt::format("cd '{}' && HOME='{}' '{}' {}", in("elsewhere").string(),
                             in("home").string(), tree("bin/orrery").string(), arguments));
  }
};

TEST_F(Installed, WorksFromAnotherFolderWithWhatWasInstalledBesideIt) {
  // A cluster that only the installed tree has: whoever looked into the source tree would miss it.
  fs::copy_file(tree("share/orrery/configs/clusters/dgx-1.json"),
                tree("share/orrery/configs/clusters/ours.json"));

  const std::string quickstart = tree("share/orrery/configs/quickstart.json").string();

  EXPECT_EQ(installed("cluster show ours --svg ours.svg"), 0) << read("err");
  EXPECT_TRUE(fs::exists(in("elsewhere/ours.svg"))) << "drawn by analysis/";
  EXPECT_EQ(installed("plan " + quickstart +
                      " --json --set "
                      "strategy.type=spmm_1d --set dataset.vertices=500 --set dataset.edges=2000"),
            0)
      << read("err");
  EXPECT_EQ(installed("run " + quickstart +
                      " --quiet --json --backend "
                      "sim --set strategy.type=spmm_1d --set dataset.vertices=500 --set "
                      "dataset.edges=2000 --set 'cluster={\"file\": \"ours\", \"gpus\": 2}' --set "
                      "simulate_on=[] --out result"),
            0)
      << read("err");
  EXPECT_EQ(installed("report result"), 0) << read("err");
}

TEST_F(Installed, AdvisesCommandsThatCanBeTyped) {
  const std::string run =
      "run " + tree("share/orrery/configs/quickstart.json").string() +
      " --backend sim --set strategy.type=spmm_1d --set dataset.vertices=500 --set "
      "dataset.edges=2000 --set 'cluster={\"file\": \"dgx-1\", \"gpus\": 2}' --set simulate_on=[]";

  EXPECT_EQ(installed(run + " --out typed"), 0) << read("err");
  EXPECT_NE(read("out").find("\n  " + tree("bin/orrery").string() + " "), std::string::npos)
      << read("out");
  EXPECT_EQ(shell(fmt::format("cd '{}' && PATH='{}':$PATH orrery {} --out found",
                              in("elsewhere").string(), tree("bin").string(), run)),
            0)
      << read("err");
  EXPECT_NE(read("out").find("\n  orrery "), std::string::npos) << read("out");
}

TEST_F(Installed, BringsCompletionsTheManualPageAndItsRevision) {
  ASSERT_EQ(orrery("completion bash"), 0);
  const std::string bash = read("out");

  EXPECT_EQ(text_of("share/bash-completion/completions/orrery"), bash);
  EXPECT_THAT(text_of("share/zsh/site-functions/_orrery"), ::testing::StartsWith("#compdef"));
  EXPECT_THAT(text_of("share/fish/vendor_completions.d/orrery.fish"), HasSubstr("complete -c"));
  EXPECT_THAT(text_of("share/man/man1/orrery.1"), ::testing::StartsWith(".TH ORRERY 1"));
  EXPECT_THAT(text_of("share/doc/orrery/LICENSE"), HasSubstr("Apache License"));
  EXPECT_FALSE(fs::exists(tree("share/orrery/configs/clusters/this-machine.json")));
  std::ofstream(tree("share/orrery/revision")) << "noted\n";
  EXPECT_EQ(installed("--version"), 0);
  EXPECT_THAT(read("out"), HasSubstr("revision noted"));
}

/// Starts an installed program as a job of a Slurm that consists of this machine alone.
class SlurmJob : public Installed {
 protected:
  /// Exit status of the job; 77 where Slurm cannot be started.
  int submit(const std::string& options) const {
    return shell(
        fmt::format("cd '{}' && '{}/tests/experiments/command_line/one_node_slurm' '{}' sbatch "
                    "--wait {} '{}'",
                    in("elsewhere").string(), ORRERY_SOURCES, in("slurm").string(), options,
                    in("job.sh").string()));
  }
};

TEST_F(SlurmJob, StopsAtItsSignalWithAResultAndGoesOnWhenItIsQueuedAgain) {
  constexpr int kCannotStart = 77;
  fs::create_directories(in("elsewhere"));
  const std::string file =
      experiment(R"(, "strategy": {"type": "full_graph"}, "cluster": {"ranks": 2},
      "train": {"epochs": 1000000, "checkpoint_every": 5, "eval_every": 0})");
  ASSERT_EQ(installed("run " + file + " --out done --print-job slurm"), 0) << read("err");
  fs::copy_file(in("out"), in("job.sh"));
  ASSERT_THAT(read("job.sh"), HasSubstr(tree("bin/orrery").string()));

  // The signal of the script, so near to the end of a minute that the test need not wait for an
  // hour.
  const int first = submit("--time=1 --signal=USR1@55 --cpus-per-task=1");
  if (first == kCannotStart) GTEST_SKIP() << read("err");

  EXPECT_EQ(first, 1) << read("err") << read("slurm/log/slurmd.log");
  const auto interrupted = json("elsewhere/done/result.json");
  EXPECT_EQ(interrupted["interrupted"], true);
  const int before = interrupted["epochs"];
  EXPECT_GT(before, 0);
  EXPECT_TRUE(fs::exists(in("elsewhere/done/checkpoint.bin")));

  // It asks for the epochs that are done already, and some more.
  ASSERT_EQ(installed(fmt::format("run {} --out done --print-job slurm --set train.epochs={}", file,
                                  before + 20)),
            0);
  fs::copy_file(in("out"), in("job.sh"), fs::copy_options::overwrite_existing);
  EXPECT_EQ(submit("--cpus-per-task=1"), 0) << read("err");
  const auto complete = json("elsewhere/done/result.json");
  EXPECT_EQ(complete["interrupted"], false);
  EXPECT_EQ(complete["epochs"], before + 20);
}

}  // namespace
}  // namespace orrery
