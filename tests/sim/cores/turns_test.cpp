// Cores in turns: times that can be derived on paper, and the work that any order of tasks does.
#include "sim/cores/turns.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <utility>

namespace orrery::sim {
namespace {

constexpr double kMs = 1e-3, kTurn = 3 * kMs, kExactly = 1e-11;

/// Cores and a clock. Tasks are named by their tokens.
class Cores {
 public:
  explicit Cores(int cores) : turns_(cores, kTurn) {}
  void start(std::uint64_t task, double seconds, Thread thread = {}, int threads = 1) {
    turns_.start(now_, seconds, threads, task, thread);
  }
  /// `when_done` is told of tasks in the instant that they end.
  void run_until(double time, const std::function<void(std::uint64_t)>& when_done = {}) {
    while (turns_.until_next() <= time - now_)
      for (const std::uint64_t task : step())
        if (when_done) when_done(task);
    turns_.work(time - now_);
    now_ = time;
  }
  void run() {
    while (turns_.until_next() < std::numeric_limits<double>::infinity()) step();
  }
  double now() const { return now_; }
  double began(std::uint64_t task) const { return began_.at(task); }
  double ended(std::uint64_t task) const { return ended_.at(task); }

 private:
  /// To the end of a task or a turn. Returns the tasks that are done.
  std::vector<std::uint64_t> step() {
    const double next = turns_.until_next();
    turns_.work(next);
    now_ += next;
    std::vector<Done> done;
    turns_.end(now_, done);
    std::vector<std::uint64_t> tasks;
    for (const Done& d : done) {
      ended_[d.token] = now_;
      began_[d.token] = d.began;
      tasks.push_back(d.token);
    }
    return tasks;
  }
  Turns turns_;
  double now_ = 0;
  std::map<std::uint64_t, double> began_, ended_;
};

TEST(Turns, PassTheCoreOnWhenTheyAreOver) {
  Cores cores(1);
  cores.start(1, 5 * kMs);
  cores.start(2, 5 * kMs);
  cores.run();

  EXPECT_NEAR(cores.began(1), 0, kExactly);
  EXPECT_NEAR(cores.began(2), 3 * kMs, kExactly);
  EXPECT_NEAR(cores.ended(1), 8 * kMs, kExactly);
  EXPECT_NEAR(cores.ended(2), 10 * kMs, kExactly);
}

TEST(Turns, GoOnWithTheNextTaskOfTheSameThread) {
  Cores cores(1);
  cores.start(1, 1 * kMs, {7});
  cores.start(2, 5 * kMs, {8});
  cores.run_until(1 * kMs, [&](std::uint64_t task) {
    if (task == 1) cores.start(3, 4 * kMs, {7});
  });
  cores.run();

  // Its turn has 2 ms left.
  EXPECT_NEAR(cores.began(3), 1 * kMs, kExactly);
  EXPECT_NEAR(cores.began(2), 3 * kMs, kExactly);
  EXPECT_NEAR(cores.ended(3), 8 * kMs, kExactly);
}

TEST(Turns, EndWithAPause) {
  Cores cores(1);
  cores.start(1, 1 * kMs, {7});
  cores.start(2, 5 * kMs, {8});
  cores.run_until(1.5 * kMs);
  cores.start(3, 1 * kMs, {7});
  cores.run();

  EXPECT_NEAR(cores.began(2), 1 * kMs, kExactly);
  EXPECT_NEAR(cores.began(3), 4 * kMs, kExactly);
}

TEST(Turns, AreForgottenAsLongAsNobodyWaits) {
  Cores cores(1);
  cores.start(1, 9 * kMs);
  cores.run_until(3.5 * kMs);
  cores.start(2, 1 * kMs);
  cores.run();

  EXPECT_NEAR(cores.began(2), 6 * kMs, kExactly);  // at the end of the second turn
}

TEST(Turns, AreTakenByABriefThreadAsItWakes) {
  Cores cores(1);
  cores.start(1, 5 * kMs);
  cores.start(2, 5 * kMs);
  cores.run_until(1 * kMs);
  cores.start(3, 0.5 * kMs, {9, true});
  cores.run();

  // Whoever lost the core comes after the other: 2 until 4.5, 1 until 7.5, 2 until 9.5.
  EXPECT_NEAR(cores.ended(3), 1.5 * kMs, kExactly);
  EXPECT_NEAR(cores.began(2), 1.5 * kMs, kExactly);
  EXPECT_NEAR(cores.ended(2), 9.5 * kMs, kExactly);
  EXPECT_NEAR(cores.ended(1), 10.5 * kMs, kExactly);
}

TEST(Turns, ThatOnceWereOverAreNotLostToABriefThread) {
  Cores cores(1);
  cores.start(1, 10 * kMs);
  cores.start(2, 10 * kMs);
  cores.run_until(4 * kMs);  // the turn of 1 is over, 2 has the core
  cores.start(3, 0.5 * kMs, {9, true});
  cores.run();

  // Only 2 loses it: 1 from 4.5 to 7.5, 2 until 10.5, and so on; 2 worked for 1 ms before, and 1 for 3.
  EXPECT_NEAR(cores.ended(1), 17.5 * kMs, kExactly);
  EXPECT_NEAR(cores.ended(2), 20.5 * kMs, kExactly);
}

TEST(Turns, ThatBeginAsABriefThreadWakesKeepTheirPlace) {
  Cores cores(1);
  cores.start(1, 4 * kMs);
  cores.start(2, 2 * kMs);
  cores.start(3, 2 * kMs);
  // At 3 ms the turn of 1 ends, and 2 gets the core. The brief thread takes it in the same instant.
  cores.run_until(3 * kMs);
  cores.start(4, 1 * kMs, {9, true});
  cores.run();

  EXPECT_NEAR(cores.ended(2), 6 * kMs, kExactly);
  EXPECT_NEAR(cores.ended(3), 8 * kMs, kExactly);
  EXPECT_NEAR(cores.ended(1), 9 * kMs, kExactly);
}

TEST(Turns, GoOnWithTheNextTaskOfABriefThread) {
  Cores cores(1);
  cores.start(1, 1 * kMs, {1, true});
  cores.start(2, 1 * kMs, {2, true});
  cores.run_until(1 * kMs, [&](std::uint64_t task) {
    if (task == 1) cores.start(3, 1 * kMs, {1, true});
  });
  cores.run();

  EXPECT_NEAR(cores.ended(3), 2 * kMs, kExactly);
  EXPECT_NEAR(cores.ended(2), 3 * kMs, kExactly);
}

TEST(Turns, OfAThreadThatContinuesAreNotOverBecauseItWasAlone) {
  Cores cores(1);
  cores.start(1, 5 * kMs, {1});
  cores.run_until(5 * kMs, [&](std::uint64_t) {
    cores.start(2, 4 * kMs, {2});
    cores.start(3, 4 * kMs, {1});
  });
  cores.run();

  EXPECT_NEAR(cores.began(3), 5 * kMs, kExactly);
  EXPECT_NEAR(cores.began(2), 6 * kMs, kExactly);  // at the end of the second turn
}

TEST(Turns, OfSeveralThreadsTakeTheirCoresBack) {
  Cores cores(3);
  cores.start(1, 1 * kMs, {1}, 2);
  cores.start(2, 4 * kMs, {2}, 2);
  cores.run_until(1 * kMs, [&](std::uint64_t) { cores.start(3, 1 * kMs, {1}, 2); });
  cores.run();

  EXPECT_NEAR(cores.ended(3), 2 * kMs, kExactly);
  EXPECT_NEAR(cores.ended(2), 5 * kMs, kExactly);  // with one core for 2 ms
}

TEST(Turns, OfBriefThreadsComeInTheOrderInWhichTheyWake) {
  Cores cores(1);
  cores.start(1, 1 * kMs, {1, true});
  cores.start(2, 1 * kMs, {2, true});
  cores.run();

  EXPECT_NEAR(cores.ended(1), 1 * kMs, kExactly);
  EXPECT_NEAR(cores.ended(2), 2 * kMs, kExactly);
}

TEST(Turns, OfSeveralThreadsTakeTheCoresThatAreFree) {
  Cores cores(3);
  cores.start(1, 2 * kMs, {}, 2);
  cores.start(2, 2 * kMs, {}, 2);
  cores.run();

  // One core for 2 ms, which is half of its work, and then two for 1 ms.
  EXPECT_NEAR(cores.ended(1), 2 * kMs, kExactly);
  EXPECT_NEAR(cores.ended(2), 3 * kMs, kExactly);
}

/// Whatever the order, a core that always has work to do ends with the last of it.
TEST(Turns, LeaveNoCoreIdleWhileSomebodyWaits) {
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> uniform(0, 1);
    Cores cores(1);
    std::vector<double> came, seconds;
    double idle_from = 0;
    for (std::uint64_t task = 0; task < 40; ++task) {
      came.push_back(cores.now());
      seconds.push_back(8 * kMs * uniform(random));
      idle_from = std::max(idle_from, cores.now()) + seconds.back();
      cores.start(task, seconds.back(), {static_cast<int>(task % 5), uniform(random) < 0.3});
      cores.run_until(cores.now() + 6 * kMs * uniform(random));
    }
    cores.run();

    double last = 0;
    for (std::uint64_t task = 0; task < 40; ++task) {
      last = std::max(last, cores.ended(task));
      EXPECT_GE(cores.began(task), came[task] - kExactly);
      EXPECT_GE(cores.ended(task), cores.began(task) + seconds[task] - kExactly);
    }
    EXPECT_NEAR(last, idle_from, 1e-9) << seed;
  }
}

}  // namespace
}  // namespace orrery::sim
