// The program on terminals of common widths.
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <stdexcept>

#include "core/terminal/terminal.hpp"
#include "tests/experiments/commands/started_program.hpp"
#include "tests/support/terminals.hpp"

namespace orrery {
namespace {

using Clock = std::chrono::steady_clock;

class OnTerminal : public testing::OnTerminals<testing::StartedProgram> {
 protected:
  /// Starts the program in the test's folder on a terminal of this many columns, with standard
  /// output there too or in `out`.
  void start_on_terminal(unsigned short columns, std::vector<std::string> words, bool whole) {
    words.insert(words.begin(), ORRERY_BINARY);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    winsize size{24, columns, 0, 0};
    const std::string folder = folder_.string(), out = in("out").string();
    program_ = ::forkpty(&master_, nullptr, nullptr, &size);
    // A signal to -1 would reach every process.
    if (program_ < 0) throw std::runtime_error("no terminal could be opened");
    if (program_ != 0) return;
    ::setenv("TERM", "xterm", 1);
    if (!whole) ::dup2(::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644), STDOUT_FILENO);
    if (::chdir(folder.c_str()) == 0) ::execv(ORRERY_BINARY, arguments.data());
    ::_exit(127);
  }
  /// The output of this many seconds, or until the program has ended.
  std::string read_for(double seconds) const {
    std::string all;
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    while (Clock::now() < end) {
      pollfd ready{master_, POLLIN, 0};
      if (::poll(&ready, 1, 20) <= 0) continue;
      char part[4096];
      const ssize_t n = ::read(master_, part, sizeof part);
      if (n <= 0) return all;
      all.append(part, static_cast<std::size_t>(n));
    }
    return all;
  }
  void resize(unsigned short columns) const {
    const winsize size{24, columns, 0, 0};
    ::ioctl(master_, TIOCSWINSZ, &size);
  }
  int ended() {
    const int status = wait_for(program_);
    ::close(master_);
    return status;
  }
  std::vector<std::string> training(const std::string& epochs) const {
    return {"run",
            experiment(R"(, "strategy": {"type": "spmm_1d"}, "cluster": {"ranks": 2},
                                    "sweep": {"model.layers": [2, 3]})"),
            "--set",
            "train.epochs=" + epochs,
            "--out",
            "a"};
  }

  int master_ = -1;
  pid_t program_ = -1;
};

/// The texts that were drawn between two starts of a line.
std::vector<std::string> drawn(const std::string& text) {
  std::vector<std::string> pieces{""};
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 3, "\033[K") == 0)
      i += 2;
    else if (text[i] == '\r' || text[i] == '\n')
      pieces.emplace_back();
    else
      pieces.back() += text[i];
  }
  std::erase(pieces, "");
  return pieces;
}

/// Those that tell how far a training is.
std::vector<std::string> epochs(const std::string& text) {
  std::vector<std::string> pieces = drawn(text);
  std::erase_if(pieces, [](const std::string& p) { return p.find("epoch ") == std::string::npos; });
  return pieces;
}

/// The text that is left on the screen: a carriage return starts the line anew, and only erasing
/// clears it.
std::string screen(const std::string& text) {
  std::string done, line;
  std::size_t column = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 3, "\033[K") == 0) {
      line.resize(std::min(line.size(), column));
      i += 2;
    } else if (text[i] == '\r') {
      column = 0;
    } else if (text[i] == '\n') {
      done += line + "\n";
      line.clear();
      column = 0;
    } else {
      line.resize(std::max(line.size(), column + 1));
      line[column++] = text[i];
    }
  }
  return done + line;
}

int widest(const std::vector<std::string>& pieces) {
  int width = 0;
  for (const std::string& piece : pieces) width = std::max(width, width_of(piece));
  return width;
}

TEST_F(OnTerminal, ProgressFitsIntoTheLineAndFollowsAResize) {
  for (const unsigned short columns : std::array<unsigned short, 2>{80, 60}) {
    std::filesystem::remove_all(in("a"));
    start_on_terminal(columns, training("1000000"), false);
    const std::string before = read_for(1.2);
    resize(30);
    read_for(0.3);  // what was on its way
    const std::string after = read_for(0.7);
    ::kill(program_, SIGINT);
    const std::string last = read_for(60);
    EXPECT_EQ(ended(), 1) << last;

    EXPECT_LT(widest(epochs(before)), columns) << before;
    EXPECT_GT(widest(epochs(before)), 40) << before;
    EXPECT_LT(widest(epochs(after)), 30) << after;
    EXPECT_GT(widest(epochs(after)), 10) << after;
    const std::string left = screen(before + after + last);
    EXPECT_EQ(left.find("epoch 1"), std::string::npos) << left;
    EXPECT_NE(left.find("stopping after this epoch; once more to stop now"), std::string::npos);
  }
}

TEST_F(OnTerminal, TablesFitIntoTheLine) {
  for (const unsigned short columns : std::array<unsigned short, 2>{80, 60}) {
    std::filesystem::remove_all(in("a"));
    start_on_terminal(columns, training("3"), true);
    const std::string text = read_for(60);
    ASSERT_EQ(ended(), 0) << text;

    const std::string left = screen(text);
    const std::size_t begin = left.find("small: 2 ranks"), end = left.find("Try next");
    ASSERT_LT(begin, end) << left;
    const std::string tables = left.substr(begin, end - begin);
    EXPECT_LE(widest(drawn(tables)), columns) << tables;
    for (const char* column : {"moved/epoch", "peak/rank", "val", "test", "gemm"})
      EXPECT_NE(tables.find(column), std::string::npos) << column << " is missing in\n" << tables;
  }
}

TEST_F(OnTerminal, PlansFitIntoTheLine) {
  start_on_terminal(
      80, {"plan", experiment(R"(, "strategy": {"type": "spmm_1d"}, "cluster": {"ranks": 8})")},
      true);
  const std::string text = read_for(60);
  ASSERT_EQ(ended(), 0) << text;

  EXPECT_LE(widest(drawn(text)), 80) << text;
  EXPECT_NE(text.find("rank 7"), std::string::npos) << text;
}

TEST_F(OnTerminal, SaysWhatTakesItsTime) {
  start_on_terminal(80,
                    {"plan", experiment(R"(, "strategy": {"type": "full_graph"})"), "--set",
                     "dataset.vertices=3000000", "--set", "dataset.edges=60000000"},
                    true);
  const std::string text = read_for(1.5);
  ::kill(program_, SIGINT);
  const std::string last = read_for(10);

  EXPECT_EQ(ended(), 130);
  EXPECT_NE(text.find("generating communities graph of 3000000 vertices, 60000000 und"),
            std::string::npos)
      << text;
  EXPECT_EQ(screen(text + last), "orrery: interrupted\n");
}

}  // namespace
}  // namespace orrery
