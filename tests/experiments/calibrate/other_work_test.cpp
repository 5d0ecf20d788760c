#include "experiments/calibrate/other_work.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "core/base/error.hpp"
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

OtherWork of_cores(double busy) {
  OtherWork work;
  work.cores = busy;
  work.of_cores = 4;
  return work;
}

TEST(OtherWork, IsWaitedForUntilItEnds) {
  int looks = 0;
  wait_for_quiet(5, [&] { return of_cores(++looks < 3 ? 1.5 : 0.1); });
  EXPECT_EQ(looks, 3);
}

TEST(OtherWork, ThatDoesNotEndIsAnError) {
  int looks = 0;
  try {
    wait_for_quiet(5, [&] {
      ++looks;
      return of_cores(1.5);
    });
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("keep 1.5 of 4 cores busy"), std::string::npos) << text;
    EXPECT_NE(text.find("--busy-ok"), std::string::npos) << text;
  }
  EXPECT_EQ(looks, 5);
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

/// A rank that computed for `own` of ten seconds on a processor that was busy for `busy`.
WorkReading rank(const std::string& machine, int processor, double busy, double own) {
  return {machine, 2.5, 4, 10, own, {{processor, busy}}};
}

TEST(OtherWork, OfRanksThatEachSeeAProcessorIsWhatRemainsOfAllThatTheyDid) {
  // Bound to a core each, and each took some time on the other's: 18 busy seconds, 11 of them ours.
  const OtherWork work = work_of_others({rank("a", 0, 10, 4), rank("a", 1, 8, 7)});

  EXPECT_DOUBLE_EQ(work.cores.value(), 0.7);
  EXPECT_EQ(work.of_cores, 2);
  EXPECT_EQ(work.load_before, 2.0) << "4 processes were ready to run, 2 of them ranks";
  EXPECT_EQ(work.words("it was"),
            "this machine was at work while it was measured: other programs kept 0.7 of its 2 "
            "cores busy");
}

TEST(OtherWork, OfRanksThatShareTheirProcessorsCountsThoseOnce) {
  const OtherWork work = work_of_others({rank("a", 0, 9.9, 4.9), rank("a", 0, 10, 5)});

  EXPECT_NEAR(work.cores.value(), 0.01, 1e-12);
  EXPECT_FALSE(work.disturbs());
}

TEST(OtherWork, IsThatOfTheMachineWhereItIsMost) {
  const OtherWork work =
      work_of_others({rank("a", 0, 9, 9), rank("b", 0, 10, 4), rank("c", 0, 9, 8)});

  EXPECT_DOUBLE_EQ(work.cores.value(), 0.6);
  EXPECT_EQ(work.words("it was"),
            "a machine of the job was at work while it was measured: other programs kept 0.6 of "
            "its 1 cores busy");
}

TEST(OtherWork, IsNotKnownOfAMachineWhereOneRankCouldNotTell) {
  WorkReading silent = rank("a", 0, 0, 5);
  silent.busy_seconds.clear();

  EXPECT_FALSE(work_of_others({silent, rank("a", 1, 9, 5)}).cores);
}

TEST(OtherWork, IsTheSameAfterAReadingHasTravelled) {
  const WorkReading sent{"m", 1.25, 7, 0.5, 0.125, {{3, 0.25}, {11, 0.1}}};

  const WorkReading read = reading_from_text(to_text(sent));

  EXPECT_EQ(read.machine, sent.machine);
  EXPECT_EQ(std::tuple(read.load, read.running, read.seconds, read.own_seconds),
            std::tuple(sent.load, sent.running, sent.seconds, sent.own_seconds));
  EXPECT_EQ(read.busy_seconds, sent.busy_seconds);
}

}  // namespace
}  // namespace orrery::calibrate
