// Structures that are drawn for every step: prepared while other steps compute, or in their place.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/base/error.hpp"
#include "core/runtime/check/check.hpp"
#include "core/strategy/train/record.hpp"
#include "tests/support/as_recorded.hpp"
#include "tests/support/drawn_steps.hpp"
#include "tests/support/problems.hpp"

namespace orrery {
namespace {

using testing::DrawnSteps;
using testing::losses;
using testing::make_problem;
using testing::random_dataset;
using testing::watched;

Problem drawn_problem(int ranks) {
  Problem p = make_problem(random_dataset(120, 300, 12, 4, true), ranks, "full_graph");
  p.model.layers = 2;
  p.train.epochs = 6;
  return p;
}

DrawnSteps drawn(const Problem& problem, int ahead) {
  return DrawnSteps(problem, {ahead, {}, nullptr});
}

Outcome execute_drawn(const Problem& p, int ahead, const ExecuteOptions& options = watched()) {
  return execute_on_threads(TrainingBody(drawn(p, ahead), p), options, {});
}

TEST(Prefetch, LossesAndScoresAreTheSameBitsHoweverFarAhead) {
  const Problem p = drawn_problem(2);
  const Outcome in_place = execute_drawn(p, 0);
  for (const int ahead : {1, 2, 5}) {
    const Outcome got = execute_drawn(p, ahead);

    EXPECT_EQ(losses(got), losses(in_place)) << ahead;
    for (std::size_t e = 0; e < got.epochs.size(); ++e)
      EXPECT_EQ(got.epochs[e].scores->test, in_place.epochs[e].scores->test);
  }
}

/// Three ranks have a share of the seeds each, and in every third step two of them have none.
TEST(Prefetch, LossesAreThoseOfOneRankWithAllSeeds) {
  const auto one = losses(execute_drawn(drawn_problem(1), 1));
  const auto three = losses(execute_drawn(drawn_problem(3), 1));

  ASSERT_EQ(one.size(), three.size());
  for (std::size_t e = 0; e < one.size(); ++e) EXPECT_NEAR(three[e], one[e], 1e-5 * one[e]);
}

TEST(Prefetch, ProgramsAreThoseOfTheRealRunAndSafe) {
  const Problem p = drawn_problem(3);
  for (const int ahead : {0, 1, 2, 4}) {
    const DrawnSteps strategy = drawn(p, ahead);
    SCOPED_TRACE(ahead);
    testing::expect_as_recorded(strategy, p);
  }
}

/// Without the waits of the compute lane its products would read what is still being copied.
TEST(Prefetch, TheCheckFindsAMissingWaitForTheCopies) {
  const Problem p = drawn_problem(1);
  Program program = record_training(drawn(p, 1), p, 1, {}).front();
  ASSERT_TRUE(find_local_problems(program).empty());
  for (Step& step : program.steps) {
    auto* wait = std::get_if<WaitStep>(&step);
    if (wait != nullptr && wait->lane == Lane::compute && wait->event.lane == Lane::copy)
      wait->event.position = 0;
  }

  const auto findings = find_local_problems(program);

  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings.front().problem.substr(0, 5), "race:");
}

std::int64_t samplings(const Program& program) {
  return std::count_if(program.steps.begin(), program.steps.end(),
                       [](const Step& s) { return std::holds_alternative<HostStep>(s); });
}

TEST(Prefetch, EveryStepIsPreparedOnceAndReportsItsWork) {
  const Problem p = drawn_problem(2);
  std::int64_t steps = 0;
  for (int epoch = 0; epoch < p.train.epochs; ++epoch) steps += DrawnSteps::steps_of(epoch);
  for (const int ahead : {1, 3}) {
    const DrawnSteps strategy = drawn(p, ahead);
    for (const Program& program : record_training(strategy, p, p.train.epochs, {})) {
      std::vector<HostWork> work;
      std::set<std::uint32_t> joined;
      for (const Step& step : program.steps) {
        if (const auto* host = std::get_if<HostStep>(&step)) work.push_back(host->work);
        if (const auto* join = std::get_if<JoinStep>(&step)) joined.insert(join->task.id);
      }
      ASSERT_EQ(static_cast<std::int64_t>(work.size()), steps);
      EXPECT_EQ(static_cast<std::int64_t>(joined.size()), steps);
      std::size_t i = 0;
      for (int epoch = 0; epoch < p.train.epochs; ++epoch)
        for (int s = 0; s < DrawnSteps::steps_of(epoch); ++s)
          EXPECT_EQ(work[i++], strategy.prepare(program.rank, {s, epoch})->work);
    }
  }
  EXPECT_EQ(samplings(record_training(drawn(p, 0), p, 2, {}).front()), 0);
}

/// Bytes of a class that are held after each step of a program.
std::vector<std::int64_t> held(const Program& program, std::string_view of_class) {
  std::map<std::uint32_t, std::int64_t> tensors, patterns;
  std::int64_t sum = 0;
  std::vector<std::int64_t> after;
  const auto counts = [&](const std::string& name) { return tensor_class(name) == of_class; };
  for (const Step& step : program.steps) {
    if (const auto* a = std::get_if<AllocStep>(&step); a != nullptr && counts(a->name))
      sum += tensors[a->tensor.id] = a->tensor.bytes();
    if (const auto* r = std::get_if<ReleaseStep>(&step))
      sum -= std::exchange(tensors[r->tensor.id], 0);
    if (const auto* d = std::get_if<DeclareStep>(&step); d != nullptr && counts(d->name))
      sum += patterns[d->sparse.id] = d->sparse.bytes();
    if (const auto* r = std::get_if<ReleaseSparseStep>(&step))
      sum -= std::exchange(patterns[r->sparse.id], 0);
    after.push_back(sum);
  }
  return after;
}

/// Where each optimiser step of a program is submitted.
std::vector<std::size_t> updates(const Program& program) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const auto* submit = std::get_if<SubmitStep>(&program.steps[i]);
    if (submit != nullptr && std::holds_alternative<Adam>(submit->op)) places.push_back(i);
  }
  return places;
}

TEST(Prefetch, TheDeviceHoldsTheStructuresOfTwoStepsAndTheLedgerSaysSo) {
  Problem p = drawn_problem(2);
  p.train.eval_every = 0;
  for (const std::string of_class : {"graph", "features", "labels"}) {
    const Program in_place = record_training(drawn(p, 0), p, p.train.epochs, {}).front();
    const auto at_all = held(in_place, of_class);
    std::vector<std::int64_t> of_step;
    for (const std::size_t place : updates(in_place)) of_step.push_back(at_all[place]);
    const auto largest = std::max_element(of_step.begin(), of_step.end());
    std::int64_t pair = 0;
    for (std::size_t i = 0; i + 1 < of_step.size(); ++i)
      pair = std::max(pair, of_step[i] + of_step[i + 1]);
    ASSERT_GT(pair, *largest);
    EXPECT_EQ(*std::max_element(at_all.begin(), at_all.end()), *largest);

    for (const int ahead : {1, 2, 4}) {
      const Program program = record_training(drawn(p, ahead), p, p.train.epochs, {}).front();
      const auto ahead_of = held(program, of_class);

      EXPECT_EQ(*std::max_element(ahead_of.begin(), ahead_of.end()), pair) << of_class;
      EXPECT_GT(program.peak_bytes[0], in_place.peak_bytes[0]);
    }
  }
}

/// The largest pair of structures is not there when the network is largest, so the ledger's classes
/// are those of one moment: they add up to its peak.
TEST(Prefetch, PeaksByClassAddUp) {
  const Problem p = drawn_problem(2);
  for (const Program& program : record_training(drawn(p, 2), p, 3, {})) {
    std::int64_t sum = 0;
    for (const auto& [name, bytes] : program.peak_by_class) sum += bytes;
    EXPECT_EQ(sum, program.peak_bytes[0]);
  }
}

class KeepsBuffers : public ::testing::TestWithParam<ModelType> {};

/// Each buffer of the network is only ever made again to be larger; where a step is as large as any
/// before, nothing is.
TEST_P(KeepsBuffers, AndMakesAnewWhatIsTooSmall) {
  Problem p = drawn_problem(2);
  p.model.type = GetParam();
  p.model.layers = 3;
  p.model.layer_norm = p.model.type != ModelType::resgcn;
  p.train.eval_every = 0;
  for (const Program& program : record_training(drawn(p, 1), p, p.train.epochs, {})) {
    std::map<std::string, std::vector<std::int64_t>> made;
    std::size_t last = 0;
    for (std::size_t i = 0; i < program.steps.size(); ++i) {
      const auto* a = std::get_if<AllocStep>(&program.steps[i]);
      if (a == nullptr) continue;
      const auto of_class = tensor_class(a->name);
      if (of_class != "activations" && of_class != "scratch") continue;
      made[a->name].push_back(a->tensor.bytes());
      last = i;
    }
    ASSERT_GT(made.size(), 5U);
    for (const auto& [name, sizes] : made) {
      EXPECT_TRUE(std::is_sorted(sizes.begin(), sizes.end(), std::less_equal<>())) << name;
    }
    const auto ends = updates(program);
    EXPECT_LT(last, ends[ends.size() / 2]) << "of steps in the second half none is the largest";
  }
}
INSTANTIATE_TEST_SUITE_P(Models, KeepsBuffers,
                         ::testing::Values(ModelType::gcn, ModelType::sage, ModelType::resgcn),
                         [](const auto& model) {
                           return std::string(model.param == ModelType::gcn    ? "Gcn"
                                              : model.param == ModelType::sage ? "Sage"
                                                                               : "ResGcn");
                         });

double overlap_of(const Span& a, const Span& b) {
  return std::max(0.0, std::min(a.end, b.end) - std::max(a.begin, b.begin));
}

TEST(Prefetch, TheNextStructureIsPreparedWhileAStepComputes) {
  Problem p = make_problem(random_dataset(600, 3000, 64, 4, true), 1, "full_graph");
  p.model.hidden = 64;
  p.train.epochs = 3;
  p.train.eval_every = 0;
  const DrawnSteps strategy(p, {1, std::chrono::milliseconds(20), nullptr});

  const Outcome run = execute_on_threads(TrainingBody(strategy, p), watched(), {});

  // For each step: the task that prepares it, and its computation.
  std::vector<Span> prepared;
  std::vector<std::vector<Span>> computed(1);
  for (const Span& span : run.ranks[0].timeline.spans) {
    if (span.lane == Lane::sampler) prepared.push_back(span);
    if (span.lane != Lane::compute || !span.phase.in_epoch()) continue;
    computed.back().push_back(span);
    if (span.kind == "adam") computed.emplace_back();
  }
  computed.pop_back();
  ASSERT_EQ(prepared.size(), computed.size());
  std::size_t beside = 0;
  double waited = 0;  // within the second epoch, for its later steps
  for (std::size_t i = 0; i + 1 < computed.size(); ++i) {
    const bool within =
        computed[i].front().phase.epoch == 1 && computed[i + 1].front().phase.epoch == 1;
    if (within) waited += std::max(0.0, prepared[i + 1].end - computed[i].back().end);
    double seconds = 0;
    for (const Span& span : computed[i]) seconds += overlap_of(prepared[i + 1], span);
    if (seconds > 0) ++beside;
    EXPECT_LE(prepared[i].end, computed[i].front().begin) << "a step without its structure";
  }
  EXPECT_GE(2 * beside, computed.size()) << "of " << computed.size() << " steps";
  // On a machine that computes slowly, computation may hide all of it.
  EXPECT_GE(run.ranks[0].epochs[1].breakdown.sample, 0.5 * waited) << "what no computation hides";
}

TEST(Prefetch, ResumesAtAnyEpochWithTheSameBits) {
  const Problem p = drawn_problem(2);
  for (const int ahead : {0, 1, 3}) {
    std::vector<Checkpoint> kept;
    ExecuteOptions options = watched();
    options.control.checkpoint_every = 1;
    options.keep = [&](const Checkpoint& checkpoint) { kept.push_back(checkpoint); };
    const auto whole = losses(execute_drawn(p, ahead, options));
    ASSERT_EQ(kept.size(), 6U);
    for (const std::size_t at : {std::size_t{0}, std::size_t{1}, std::size_t{3}}) {
      options.control.resume = std::make_shared<const Checkpoint>(kept[at]);
      options.keep = {};

      const Outcome rest = execute_drawn(p, ahead, options);

      EXPECT_EQ(losses(rest), std::vector<double>(whole.begin() + kept[at].epochs, whole.end()))
          << "ahead " << ahead << ", from epoch " << kept[at].epochs;
    }
  }
}

TEST(Prefetch, AnEarlyStopLeavesNothingBehind) {
  const Problem p = drawn_problem(2);
  for (const int ahead : {0, 1, 4}) {
    std::atomic<bool> stop = false;
    ExecuteOptions options = watched();
    options.stop = &stop;
    const DrawnSteps strategy = drawn(p, ahead);
    const Outcome run = execute_on_threads(TrainingBody(strategy, p), options,
                                           [&](const EpochReport& report, double) {
                                             if (report.epoch == 1) stop = true;
                                           });

    EXPECT_LT(run.epochs.size(), 6U);
    EXPECT_TRUE(run.interrupted);
    for (const RankOutcome& rank : run.ranks) {
      EXPECT_EQ(rank.final_bytes, 0);
      EXPECT_TRUE(find_local_problems(rank.program).empty());
    }
  }
}

TEST(Prefetch, WhatCannotBePreparedEndsTheRunWithItsReason) {
  const Problem p = drawn_problem(2);
  for (const int ahead : {0, 1, 2}) {
    std::atomic<bool> broken = false;
    const DrawnSteps strategy(p, {ahead, {}, &broken});
    EXPECT_THROW(execute_on_threads(TrainingBody(strategy, p), watched(),
                                    [&](const EpochReport& report, double) {
                                      if (report.epoch == 2) broken = true;
                                    }),
                 Error);
  }
}

/// A strategy that prepares ahead, which it does not do by itself.
class Ahead final : public Strategy {
 public:
  Ahead(const Problem& problem, int ahead) : real_(make_strategy(problem)), ahead_(ahead) {}
  Schedule schedule(int rank) const override {
    Schedule schedule = real_->schedule(rank);
    if (ahead_ > 0) schedule.ahead = StagesAhead{ahead_};
    return schedule;
  }
  std::shared_ptr<const Structure> prepare(int rank, StructureId which) const override {
    return real_->prepare(rank, which);
  }
  std::unique_ptr<RankProducts> load(Runtime& rt,
                                     std::shared_ptr<const Structure> structure) const override {
    return real_->load(rt, std::move(structure));
  }

 private:
  std::unique_ptr<Strategy> real_;
  int ahead_;
};

TEST(Prefetch, OneStructureForAllStepsStaysWhateverAhead) {
  const Problem p = drawn_problem(2);

  EXPECT_EQ(to_string(record_training(Ahead(p, 2), p, 2, {})[0]),
            to_string(record_training(Ahead(p, 0), p, 2, {})[0]));
}

std::vector<testing::NamedStrategy> strategies_of_several_structures() {
  auto list = testing::local_model_strategies();
  StrategyConfig redrawn;
  redrawn.type = "shared_preloading";
  redrawn.ranks_per_server = 2;
  redrawn.sampling = SamplingConfig{{2, 2}, true};
  StrategyConfig batches = redrawn, taped = redrawn;
  batches.batches = 3;
  batches.evaluate_on = EvaluateOn::graph;
  taped.sampling.reset();
  taped.batches = 2;
  taped.memory = Memory::autograd;
  list.push_back({"RedrawnSamples", redrawn});
  list.push_back({"RedrawnBatches", batches});
  list.push_back({"BatchesWithATape", taped});
  return list;
}

class AnyStrategyAhead : public ::testing::TestWithParam<testing::NamedStrategy> {};

/// Halos, local models, tapes and evaluations on other structures, on four ranks.
TEST_P(AnyStrategyAhead, TrainsTheSameBitsWithSafePrograms) {
  Problem p = make_problem(random_dataset(90, 400, 12, 4, true), 4, GetParam().config);
  p.train.epochs = 4;
  p.train.eval_every = 2;
  const Outcome in_place = execute_on_threads(TrainingBody(*make_strategy(p), p), watched(), {});
  for (const int ahead : {1, 3}) {
    const Ahead strategy(p, ahead);
    EXPECT_NO_THROW(check(record_training(strategy, p, p.train.epochs, {})));

    const Outcome got = execute_on_threads(TrainingBody(strategy, p), watched(), {});

    EXPECT_EQ(losses(got), losses(in_place)) << ahead;
    EXPECT_EQ(got.epochs.back().scores->validation, in_place.epochs.back().scores->validation);
    for (const RankOutcome& rank : got.ranks) EXPECT_EQ(rank.final_bytes, 0);
  }
}
INSTANTIATE_TEST_SUITE_P(All, AnyStrategyAhead,
                         ::testing::ValuesIn(strategies_of_several_structures()),
                         [](const auto& strategy) { return strategy.param.name; });

}  // namespace
}  // namespace orrery
