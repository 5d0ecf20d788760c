#include "core/base/removed_if_interrupted.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "core/terminal/message.hpp"

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

/// Takes all memory, then asks for the registry for the first time in this process.
[[noreturn]] void register_without_memory() {
  ::alarm(20);  // it would wait for itself
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_AS, &none);
  for (std::size_t bytes = std::size_t{1} << 20U; bytes >= 16; bytes -= bytes > 4096 ? 4096 : 16)
    while (std::malloc(bytes) != nullptr) {
    }
  end_when_memory_ends(remove_unfinished_if_free);
  { const auto lock = RemovedIfInterrupted::finishing(); }
  ::_exit(0);
}

TEST(RemovedIfInterrupted, NeedsNoMemoryToBeAsked) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers end a process without memory themselves";
#endif
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a process of its own, from its start on
  EXPECT_EXIT(register_without_memory(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace orrery
