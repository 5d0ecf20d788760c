// Messages about activities, on a terminal and elsewhere.
#include "core/terminal/activity.hpp"

#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "core/terminal/tell.hpp"
#include "tests/support/terminals.hpp"

namespace orrery {
namespace {

using std::chrono::milliseconds;

using ActivityOnTerminal = testing::OnTerminals<>;

/// While an object lives, standard error is a terminal with this number of columns.
class OnTerminal {
 public:
  explicit OnTerminal(unsigned short columns, const char* name = "xterm")
      : before_(::dup(STDERR_FILENO)) {
    winsize size{24, columns, 0, 0};
    int terminal = -1;
    EXPECT_EQ(::openpty(&master_, &terminal, nullptr, nullptr, &size), 0);
    ::dup2(terminal, STDERR_FILENO);
    ::close(terminal);
    ::setenv("TERM", name, 1);
    tell_activities(true);
  }
  ~OnTerminal() {
    tell_activities(false);
    ::dup2(before_, STDERR_FILENO);
    ::close(before_);
    ::close(master_);
  }
  OnTerminal(const OnTerminal&) = delete;
  OnTerminal& operator=(const OnTerminal&) = delete;

  void resize(unsigned short columns) const {
    const winsize size{24, columns, 0, 0};
    ::ioctl(master_, TIOCSWINSZ, &size);
  }
  /// The text that was written since the last call. A terminal hands it over piece by piece, so a
  /// mark of our own is written and awaited.
  std::string read() const {
    constexpr char kMark = '\1';
    EXPECT_EQ(::write(STDERR_FILENO, &kMark, 1), 1);
    std::string text;
    std::array<char, 4096> piece{};
    while (!text.ends_with(kMark)) {
      const ssize_t n = ::read(master_, piece.data(), piece.size());
      if (n <= 0) return text;
      text.append(piece.data(), static_cast<std::size_t>(n));
    }
    text.pop_back();
    return text;
  }

 private:
  int master_ = -1, before_;
};

TEST_F(ActivityOnTerminal, IsToldWithinASecondAndErasedAtItsEnd) {
  const OnTerminal terminal(80);
  {
    const Activity cutting("cutting into 4 parts");
    std::this_thread::sleep_for(milliseconds(900));
  }

  const std::string text = terminal.read();

  EXPECT_TRUE(text.starts_with("\r\033[Kcutting into 4 parts  0 s")) << text;
  EXPECT_TRUE(text.ends_with("\r\033[K")) << text;
}

TEST_F(ActivityOnTerminal, TakesTheLongestFormThatFitsAndFollowsAResize) {
  const OnTerminal terminal(60);
  Activity training("training");
  const std::vector<std::string> forms{std::string(59, 'a'), std::string(39, 'b'),
                                       std::string(30, 'c')};

  training.update(forms, false);
  EXPECT_TRUE(terminal.read().ends_with("\r\033[K" + forms[0]));
  terminal.resize(40);
  std::this_thread::sleep_for(milliseconds(150));
  training.update(forms, false);
  EXPECT_TRUE(terminal.read().ends_with("\r\033[K" + forms[1]));
  terminal.resize(20);
  std::this_thread::sleep_for(milliseconds(150));
  training.update(forms, false);
  EXPECT_TRUE(terminal.read().ends_with("\r\033[K" + std::string(16, 'c') + "..."));
}

TEST_F(ActivityOnTerminal, MakesRoomForOtherWords) {
  const OnTerminal terminal(80);
  std::this_thread::sleep_for(milliseconds(150));  // what was drawn last was drawn a while ago
  Activity training("training");
  training.update({"epoch 1"});

  tell("note\n");

  EXPECT_NE(terminal.read().find("epoch 1  0 s\r\033[Knote\r\n"), std::string::npos);
}

TEST_F(ActivityOnTerminal, IsALineNowAndThenWhereNothingIsDrawnOver) {
  ::testing::internal::CaptureStderr();
  tell_activities(true, milliseconds(600));
  {
    const Activity outer("generating");
    const Activity inner("sorting");
    std::this_thread::sleep_for(milliseconds(1300));
  }
  tell_activities(false);
  const std::string text = ::testing::internal::GetCapturedStderr();

  EXPECT_TRUE(text.starts_with("sorting  ")) << text;
  EXPECT_NE(text.find(" s\n"), std::string::npos) << text;
  EXPECT_EQ(text.find('\r'), std::string::npos) << text;
}

TEST_F(ActivityOnTerminal, NotesAreToldOnceAndToNobodyWhoWantsNone) {
  {
    const OnTerminal terminal(80);
    tell_note("one");
    tell_note("two");
    tell_note("one");

    EXPECT_EQ(terminal.read(), "note: one\r\nnote: two\r\n");
  }
  ::testing::internal::CaptureStderr();
  tell_note("three");  // activities are not told now

  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST_F(ActivityOnTerminal, IsPlainOnADumbTerminal) {
  const OnTerminal terminal(80, "dumb");
  {
    Activity training("training");
    training.update({"epoch 1"});
    tell("note\n");
  }

  EXPECT_EQ(terminal.read(), "note\r\n");
}

TEST_F(ActivityOnTerminal, IsSilentUnlessAskedFor) {
  ::testing::internal::CaptureStderr();
  {
    Activity training("training");
    training.update({"epoch 1"});
    std::this_thread::sleep_for(milliseconds(600));
  }

  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST_F(ActivityOnTerminal, MayBeginAndEndInManyThreadsAtOnce) {
  const OnTerminal terminal(80);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([] {
      for (int i = 0; i < 50; ++i) {
        Activity activity("reading");
        activity.update({"reading further"});
      }
    });
  for (std::thread& thread : threads) thread.join();
  {
    const Activity last("reading on");  // all others may have been too short to be shown
    std::this_thread::sleep_for(milliseconds(700));
  }

  EXPECT_NE(terminal.read().find("reading"), std::string::npos);
}

}  // namespace
}  // namespace orrery
