#include "core/base/child_process.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <thread>

#include "core/base/error.hpp"

namespace orrery {
namespace {

std::string text_of(const std::string& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(ChildProcess, GetsItsWordsAsTheyAre) {
  const auto run = run_program({"printf", "%s|", "a b", "$HOME", "'", "\"", ";", ""});

  ASSERT_TRUE(run);
  EXPECT_EQ(run->output, "a b|$HOME|'|\"|;||");
  EXPECT_TRUE(run->succeeded());
}

TEST(ChildProcess, ReadsWhatItIsGiven) {
  const std::string much(1 << 20, 'x');

  EXPECT_EQ(run_program({"wc", "-c"}, {}, much)->output, "1048576\n");
  EXPECT_TRUE(run_program({"true"}, {}, much)->succeeded()) << "it may also leave it";
}

TEST(ChildProcess, TellsHowItEnded) {
  EXPECT_EQ(run_program({"sh", "-c", "exit 3"})->ending(), "status 3");
  EXPECT_EQ(run_program({"sh", "-c", "kill -9 $$"})->ending(), "signal 9");
  EXPECT_FALSE(run_program({"false"})->succeeded());
}

TEST(ChildProcess, LeavesItsErrorsInAFile) {
  const std::string file = ::testing::TempDir() + "child-errors";

  const auto run = run_program({"sh", "-c", "echo out; echo 'no luck' >&2"}, file);

  EXPECT_EQ(run->output, "out\n");
  EXPECT_EQ(text_of(file), "no luck\n");
}

TEST(ChildProcess, ThatIsNotThereSaysSo) {
  const std::string file = ::testing::TempDir() + "child-errors";

  const auto run = run_program({"orrery-nowhere"}, file);

  EXPECT_EQ(run->ending(), "status 127");
  EXPECT_EQ(text_of(file), "orrery-nowhere: not found\n");
}

TEST(ChildProcess, WhoseErrorsGoNowhereIsNotStarted) {
  EXPECT_FALSE(run_program({"true"}, "/nowhere/errors"));
  EXPECT_THROW(ChildProcess({"true"}, "/nowhere/errors"), Error);
}

TEST(ChildProcess, AnswersWhatIsWrittenToIt) {
  ChildProcess echo({"cat"});

  ASSERT_EQ(::write(echo.input(), "hello", 5), 5);
  char answer[5];
  ASSERT_EQ(::read(echo.output(), answer, 5), 5);

  EXPECT_EQ(std::string(answer, 5), "hello");
  EXPECT_EQ(echo.wait(), 0);
}

/// What an open descriptor of this process stands for, such as "pipe:[123]".
std::string name_of(int descriptor) {
  return std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(descriptor));
}

TEST(ChildProcess, HasNoPipeOfAnother) {
  const ChildProcess other({"cat"});

  const auto run = run_program({"ls", "-l", "/proc/self/fd"});

  EXPECT_NE(run->output.find("pipe:["), std::string::npos) << "its own";
  for (const int end : {other.input(), other.output()})
    EXPECT_EQ(run->output.find(name_of(end)), std::string::npos) << run->output;
}

/// As an interrupted program does with all that it has started.
TEST(ChildProcess, ThatSomebodyElseHasWaitedForHasNotSucceeded) {
  ChildProcess child({"true"});
  EXPECT_GT(::waitpid(-1, nullptr, 0), 0);

  EXPECT_FALSE((ProgramRun{"", child.wait()}.succeeded()));
}

TEST(ChildProcess, EndsWithTheThreadThatStartedIt) {
  const auto begin = std::chrono::steady_clock::now();
  std::optional<ChildProcess> sleeper;
  std::thread([&] {
    sleeper.emplace(std::vector<std::string>{"sh", "-c", "echo here; exec sleep 100"});
    char here = 0;
    EXPECT_EQ(::read(sleeper->output(), &here, 1), 1);
  }).join();

  const int status = sleeper->wait();

  EXPECT_EQ((ProgramRun{"", status}.ending()), "signal 15");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(50));
}

TEST(ProgramBeside, IsFoundByItsPathInTheBuildFolder) {
  const auto self = program_beside("tests/base/test_base");

  ASSERT_TRUE(self);
  EXPECT_TRUE(std::filesystem::equivalent(*self, this_program()));
  EXPECT_FALSE(program_beside("tests/base/nowhere"));
}

}  // namespace
}  // namespace orrery
