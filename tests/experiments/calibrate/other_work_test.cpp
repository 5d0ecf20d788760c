#include "experiments/calibrate/other_work.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>
#include <vector>

#include "core/base/parallel.hpp"

namespace orrery::calibrate {
namespace {

using Clock = std::chrono::steady_clock;

void work_for(double seconds) {
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (Clock::now() < end) {
  }
}

double own_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec);
}

TEST(OtherWork, IsSeenWhileAnotherProcessWorks) {
  const pid_t other = ::fork();
  if (other == 0) {
    work_for(30);
    ::_exit(0);
  }
  const WorkWatch watch;
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  const OtherWork seen = watch.seen();
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);

  if (!seen.cores) GTEST_SKIP() << "this system does not tell what its processors do";
  EXPECT_TRUE(seen.disturbs()) << *seen.cores;
  EXPECT_NE(seen.words("it was").find("at work while it was measured"), std::string::npos);
}

TEST(OtherWork, IsNotOurOwn) {
  const int cores = available_cores();
  const WorkWatch watch;
  const double before = own_seconds();
  const auto begin = Clock::now();
  std::vector<std::thread> threads;
  for (int i = 0; i < cores; ++i) threads.emplace_back(work_for, 0.7);
  for (std::thread& thread : threads) thread.join();
  const OtherWork seen = watch.seen();
  const double wall = std::chrono::duration<double>(Clock::now() - begin).count();

  if (!seen.cores) GTEST_SKIP() << "this system does not tell what its processors do";
  EXPECT_LE(*seen.cores, cores - (own_seconds() - before) / wall + 0.2);
}

TEST(OtherWork, IsJudgedByTheLoadBeforeWhereNothingElseIsKnown) {
  EXPECT_TRUE((OtherWork{2.0, std::nullopt}.disturbs()));
  EXPECT_FALSE((OtherWork{0.1, std::nullopt}.disturbs()));
  EXPECT_FALSE((OtherWork{2.0, 0.0}.disturbs())) << "it had ended before";
}

}  // namespace
}  // namespace orrery::calibrate
