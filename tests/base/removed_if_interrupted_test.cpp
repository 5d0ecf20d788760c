#include "core/base/removed_if_interrupted.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace orrery {
namespace {

namespace fs = std::filesystem;

TEST(RemovedIfInterrupted, GoesWithAnInterruptedProcessAndTakesTheFoldersMadeForIt) {
  const fs::path root =
      fs::path(::testing::TempDir()) / ("unfinished-" + std::to_string(::getpid()));
  fs::create_directories(root);
  const pid_t child = ::fork();
  if (child == 0) {
    const RemovedIfInterrupted half(root / "a/b/half");
    fs::create_directories(root / "a/b/half");
    std::ofstream(root / "a/b/half/file") << "x";
    { const RemovedIfInterrupted whole(root / "whole"); }
    std::ofstream(root / "whole") << "x";
    remove_unfinished();
    ::_exit(0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);

  EXPECT_EQ(status, 0);
  EXPECT_FALSE(fs::exists(root / "a"));
  EXPECT_TRUE(fs::exists(root / "whole"));
  fs::remove_all(root);
}

TEST(RemovedIfInterrupted, LeavesAFolderThatHoldsSomethingElse) {
  const fs::path root = fs::path(::testing::TempDir()) / ("beside-" + std::to_string(::getpid()));
  const pid_t child = ::fork();
  if (child == 0) {
    const RemovedIfInterrupted half(root / "half");
    fs::create_directories(root / "half");
    std::ofstream(root / "other") << "x";
    remove_unfinished();
    ::_exit(0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);

  EXPECT_FALSE(fs::exists(root / "half"));
  EXPECT_TRUE(fs::exists(root / "other"));
  fs::remove_all(root);
}

}  // namespace
}  // namespace orrery
