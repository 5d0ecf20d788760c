// Runs something in a process of its own and brings numbers back: SimGrid allows one engine per
// process.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <vector>

namespace orrery::sim {

inline std::vector<double> in_child(const std::function<std::vector<double>()>& work) {
  int ends[2];
  if (::pipe(ends) != 0) return {};
  const pid_t child = ::fork();
  if (child == 0) {
    const std::vector<double> numbers = work();
    const auto bytes = numbers.size() * sizeof(double);
    const bool whole = ::write(ends[1], numbers.data(), bytes) == static_cast<ssize_t>(bytes);
    ::_exit(whole ? 0 : 1);
  }
  ::close(ends[1]);
  std::vector<double> numbers;
  double number = 0;
  while (::read(ends[0], &number, sizeof number) == sizeof number) numbers.push_back(number);
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "the child failed";
  return numbers;
}

}  // namespace orrery::sim
