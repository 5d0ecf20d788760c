// The program as a user starts it, in a folder of the test's own.
#pragma once

#include <fcntl.h>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace orrery::testing {

class StartedProgram : public ::testing::Test {
 protected:
  StartedProgram() {
    std::string name = (std::filesystem::path(::testing::TempDir()) / "orrery_XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~StartedProgram() override { std::filesystem::remove_all(folder_); }

  /// A few epochs of a small generated graph; `more`: further keys, with a comma in front.
  std::string experiment(const std::string& more = "") const {
    const std::filesystem::path file = folder_ / "e.json";
    std::ofstream(file) << R"({"name": "small", "seed": 5,
        "dataset": {"generate": "communities", "vertices": 500, "edges": 3000},
        "model": {"type": "gcn", "hidden": 16})"
                        << more << "}";
    return file.string();
  }
  std::filesystem::path in(const std::string& name) const { return folder_ / name; }
  std::string read(const std::string& name) const {
    std::stringstream text;
    text << std::ifstream(folder_ / name).rdbuf();
    return text.str();
  }
  nlohmann::ordered_json json(const std::string& name) const {
    return nlohmann::ordered_json::parse(read(name));
  }

  /// Exit status of a shell's command, negative for a signal; its output is in `out` and `err`.
  int shell(const std::string& command) const {
    const int status = std::system(
        fmt::format("{} >'{}' 2>'{}' </dev/null", command, in("out").string(), in("err").string())
            .c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  int orrery(const std::string& arguments, const std::string& environment = "") const {
    return shell(fmt::format("{} '{}' {}", environment, ORRERY_BINARY, arguments));
  }

  /// Starts the program as the leader of a process group of its own, as a shell would.
  pid_t start(std::vector<std::string> words) const {
    words.insert(words.begin(), ORRERY_BINARY);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const std::string out = in("out").string(), err = in("err").string();
    const pid_t child = ::fork();
    if (child != 0) return child;
    ::setpgid(0, 0);
    ::dup2(::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644), STDOUT_FILENO);
    ::dup2(::open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644), STDERR_FILENO);
    ::execv(ORRERY_BINARY, arguments.data());
    ::_exit(127);
  }
  static int wait_for(pid_t child) {
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  std::filesystem::path folder_;
};

}  // namespace orrery::testing
