// The program whose simulator dies.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace orrery {
namespace {

/// A process whose parent is `parent`, or −1.
pid_t child_of(pid_t parent) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream in(entry.path() / "stat");
    std::string number, name, state;
    pid_t its_parent = -1;
    if (in >> number >> name >> state >> its_parent && its_parent == parent)
      return static_cast<pid_t>(std::stol(number));
  }
  return -1;
}

TEST(Simulator, ThatIsKilledIsAnErrorAndLeavesNobodyBehind) {
  // Counts alone, so that recording takes no time, and 128 GPUs for many epochs, so that the replay
  // is under way when it is killed.
  const pid_t program = ::fork();
  if (program == 0) {
    ::execl(ORRERY_BINARY, ORRERY_BINARY, "run",
            ORRERY_SOURCES "/configs/mg-gcn/papers100m-statistics.json", "--backend", "sim",
            "--set", R"(cluster={"file": "fat-tree", "servers": 16, "gpus_per_server": 8})",
            "--set", "train.epochs=30", "--set", "simulation.epochs=30", "--quiet", "--force",
            "--out", (::testing::TempDir() + "killed").c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  pid_t server = -1, replay = -1;
  for (int i = 0; i < 600 && replay < 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    server = child_of(program);
    if (server > 0) replay = child_of(server);
  }
  ::kill(replay > 0 ? server : program, SIGKILL);
  int status = 0;
  ::waitpid(program, &status, 0);

  ASSERT_GT(replay, 0) << "no replay began";
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1);
  for (int i = 0; i < 100 && ::kill(replay, 0) == 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  std::ifstream left("/proc/" + std::to_string(replay) + "/stat");
  std::string number, name, state = "gone";
  left >> number >> name >> state;
  EXPECT_TRUE(state == "gone" || state == "Z") << "the replay goes on: " << state;
}

}  // namespace
}  // namespace orrery
