// Steps that take the batches of an earlier one: which, how often, and that they do what that one did.
#include "core/strategy/batches/resampled_steps.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "core/base/index.hpp"
#include "core/strategy/train/record.hpp"
#include "tests/support/problems.hpp"

namespace orrery {
namespace {

using Step = ResampledSteps::Step;

/// Seven steps of 100 seeds, and one of 30, in each epoch.
const std::vector<std::int64_t> kSeedsOfSteps{100, 100, 100, 100, 100, 100, 100, 30};

TEST(ResampledSteps, DrawsTheFirstOfEachKindAndTakesThemAgain) {
  const ResampledSteps steps(3, kSeedsOfSteps, 7);
  for (int step = 0; step < 3; ++step) EXPECT_EQ(steps.of({0, step}), (Step{0, step}));
  for (int epoch = 0; epoch < 3; ++epoch)
    EXPECT_EQ(steps.of({epoch, 7}), (Step{epoch, 7})) << "one of this kind in each epoch";

  std::map<Step, int> taken;
  constexpr int kEpochs = 400;
  for (int epoch = 3; epoch < kEpochs; ++epoch)
    for (int step = 0; step < 8; ++step) {
      const Step from = steps.of({epoch, step});
      EXPECT_EQ(kSeedsOfSteps[at(from.number)], kSeedsOfSteps[at(step)]);
      ++taken[from];
    }

  ASSERT_EQ(taken.size(), 6U) << "three of each kind";
  for (const auto& [step, times] : taken) {
    // binomial: a third of the draws of its kind, within five standard deviations
    const double draws = (step.number == 7 ? 1 : 7) * (kEpochs - 3);
    EXPECT_NEAR(times, draws / 3, 5 * std::sqrt(draws * 2 / 9)) << step.epoch << " " << step.number;
  }
}

TEST(ResampledSteps, AreAFunctionOfTheSeed) {
  const ResampledSteps one(4, kSeedsOfSteps, 1), again(4, kSeedsOfSteps, 1),
      other(4, kSeedsOfSteps, 2), all(0, kSeedsOfSteps, 1);
  int same = 0;
  for (int epoch = 0; epoch < 50; ++epoch)
    for (int step = 0; step < 8; ++step) {
      EXPECT_EQ(one.of({epoch, step}), again.of({epoch, step}));
      EXPECT_EQ(all.of({epoch, step}), (Step{epoch, step}));
      same += one.of({epoch, step}) == other.of({epoch, step}) ? 1 : 0;
    }
  EXPECT_LT(same, 200) << "a quarter by chance, and those that are drawn";
}

Problem problem_of(int drawn, SeedsFrom seeds, bool learned = false) {
  MiniBatchSettings settings;
  settings.batch = 8;
  settings.seeds = seeds;
  settings.fanouts = {4, 3};
  settings.drawn_steps = drawn;
  StrategyConfig config;
  config.type = "mini_batch";
  config.own = std::move(settings);
  if (learned) config.learned = LearnedFeatures{};
  Problem problem =
      testing::make_problem(testing::random_dataset(150, 900, 12, 4, true), 3, config);
  problem.train.epochs = 3;
  problem.train.eval_every = 0;
  return problem;
}

std::vector<Program> recorded(const Problem& problem) {
  return record_training(*make_strategy(problem), problem, problem.train.epochs, {});
}

/// What the host drew for each step of the run, and how many rows a step pulled.
std::vector<HostWork> drawn(const Program& program) {
  std::vector<HostWork> works;
  for (const orrery::Step& step : program.steps)
    if (const auto* host = std::get_if<HostStep>(&step); host && host->lane == Lane::sampler)
      works.push_back(host->work);
  return works;
}

/// All ranks take the batches of the same step, so what they exchange fits together.
TEST(ResampledSteps, DoWhatTheDrawnOnesDid) {
  for (const bool learned : {false, true})
    for (const SeedsFrom seeds : {SeedsFrom::own, SeedsFrom::all}) {
      const Problem all = problem_of(0, seeds, learned), some = problem_of(2, seeds, learned);
      const auto whole = recorded(all), part = recorded(some);
      const auto training = make_strategy(some)->schedule(0).training;
      const int steps = training->count(0);
      ASSERT_GT(steps, 3);
      for (std::size_t rank = 0; rank < whole.size(); ++rank) {
        const auto own = drawn(whole[rank]), taken = drawn(part[rank]);
        ASSERT_EQ(own.size(), taken.size());
        std::int64_t resampled = 0;
        for (int i = 0; i < 3 * steps; ++i) {
          const StructureId from = training->at(i / steps, i % steps).structure;
          const std::size_t first = at(from.draw * steps + from.number);
          EXPECT_EQ(taken[at(i)].items, own[first].items) << rank << " " << i;
          resampled += first == at(i) ? 0 : 1;
        }
        EXPECT_GT(resampled, steps);
      }
    }
}

TEST(ResampledSteps, ThatAreAllDrawnChangeNothing) {
  const auto whole = recorded(problem_of(0, SeedsFrom::own)),
             drawn = recorded(problem_of(1000, SeedsFrom::own));
  for (std::size_t rank = 0; rank < whole.size(); ++rank)
    EXPECT_EQ(to_string(whole[rank]), to_string(drawn[rank]));
}

}  // namespace
}  // namespace orrery
