// The program where nobody hears it: standard output and error that are full or closed.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace orrery {
namespace {

namespace fs = std::filesystem;

class LostOutput : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists("/dev/full")) GTEST_SKIP() << "this system has no /dev/full";
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// Exit status of a shell's `orrery arguments`; -1 where it was killed.
  static int orrery(const std::string& arguments) {
    const int status = std::system((ORRERY_BINARY " " + arguments).c_str());
    // A shell tells of a killed program by a status above 128.
    return WIFEXITED(status) && WEXITSTATUS(status) < 128 ? WEXITSTATUS(status) : -1;
  }
  std::string a_run() const {
    return "run '" ORRERY_SOURCES
           "/configs/quickstart.json' --set sweep={} --set train.epochs=2 "
           "--set simulate_on=[] --out '" +
           folder_.string() + "'";
  }

  const fs::path folder_ = fs::path(::testing::TempDir()) / "lost_output";
};

TEST_F(LostOutput, OfErrorsDoesNotEndARun) {
  EXPECT_EQ(orrery(a_run() + " >/dev/null 2>/dev/full"), 0);
  EXPECT_TRUE(fs::exists(folder_ / "result.json"));
}

TEST_F(LostOutput, OfAllThatWasOpenDoesNotEndARunNorMixItsFiles) {
  EXPECT_EQ(orrery(a_run() + " <&- >&- 2>&-"), 0);
  EXPECT_TRUE(fs::exists(folder_ / "result.json"));
  EXPECT_EQ(fs::file_size(folder_ / ".lock"), 0U);
}

/// `| head` has gone before the run tells anything.
TEST_F(LostOutput, OfAReaderThatHasGoneDoesNotEndARun) {
  EXPECT_EQ(orrery(a_run() + " 2>&1 | true"), 0);
  EXPECT_TRUE(fs::exists(folder_ / "result.json"));
}

TEST_F(LostOutput, OfAReaderThatHasGoneEndsACommandAsItEndsOthers) {
  const std::string words =
      "{ sleep 0.3; " ORRERY_BINARY " cluster show dgx-1; } | true; exit ${PIPESTATUS[0]}";
  const int status = std::system(("bash -c '" + words + "' 2>/dev/null").c_str());

  EXPECT_EQ(WEXITSTATUS(status), 128 + SIGPIPE);
}

TEST_F(LostOutput, OfAMistakeKeepsItsStatus) {
  EXPECT_EQ(orrery("plan /nowhere.json 2>/dev/full"), orrery("plan /nowhere.json 2>/dev/null"));
  EXPECT_EQ(orrery("plan /nowhere.json 2>&-"), orrery("plan /nowhere.json 2>/dev/null"));
}

TEST_F(LostOutput, OfResultsIsAFailure) {
  const std::string file = " '" ORRERY_SOURCES "/configs/quickstart.json'";

  EXPECT_EQ(orrery("plan" + file + " --json >/dev/full 2>/dev/null"), 1);
  EXPECT_EQ(orrery("plan" + file + " >/dev/full 2>/dev/null"), 1);
  EXPECT_EQ(orrery(a_run() + " --json >/dev/full 2>/dev/null"), 1);
  EXPECT_EQ(orrery("run" + file + " --print-job slurm >/dev/full 2>/dev/null"), 1);
  EXPECT_EQ(orrery("--help >/dev/full 2>/dev/null"), 1);
}

}  // namespace
}  // namespace orrery
