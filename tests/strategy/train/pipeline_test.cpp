// The stages before a step and their capacities: what is learned does not depend on them, and memory
// is bounded by them.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "core/base/index.hpp"
#include "core/base/rng.hpp"
#include "core/runtime/check/check.hpp"
#include "core/strategy/product/batch_products.hpp"
#include "core/strategy/train/record.hpp"
#include "tests/support/as_recorded.hpp"
#include "tests/support/problems.hpp"

namespace orrery {
namespace {

using testing::execute;
using testing::losses;
using testing::make_problem;
using testing::random_dataset;

constexpr std::int64_t kWidth = 12;

Problem problem_of(int ranks, const StagesAhead& ahead, std::int64_t kept_rows = 0,
                   std::vector<int> fanouts = {4, 3}) {
  MiniBatchSettings settings;
  settings.batch = 40;
  settings.fanouts = std::move(fanouts);
  settings.seeds = SeedsFrom::all;
  settings.cache = {CachePolicy::presampled, kept_rows * kWidth * 4};
  settings.ahead = ahead;
  StrategyConfig config;
  config.type = "mini_batch";
  config.first_layer = FirstLayer::recompute;
  config.own = settings;
  Problem p = make_problem(random_dataset(150, 900, kWidth, 4, true), ranks, config);
  p.train.epochs = 3;
  return p;
}

std::string text_of(const StagesAhead& ahead) {
  return fmt::format("sample {}, fetch {}, load {}", ahead.sample, ahead.fetch, ahead.load);
}

/// Each stage off, all off, the default, and some at random.
std::vector<StagesAhead> capacities() {
  std::vector<StagesAhead> list{{0, 0, 0}, {2, 0, 1},  {1, 0, 0}, {0, 1, 0},
                                {0, 0, 3}, {25, 5, 1}, {1, 1, 1}};
  Sequence draws(testing::kSeed, Purpose::edges, 1);
  for (int i = 0; i < 5; ++i)
    list.push_back({static_cast<int>(draws.below(5)), static_cast<int>(draws.below(5)),
                    static_cast<int>(draws.below(5))});
  return list;
}

TEST(Pipeline, LearnsTheSameToTheBitWhateverTheCapacities) {
  for (const std::int64_t kept : {0, 25}) {
    const Outcome want = execute(problem_of(3, {2, 0, 1}));
    for (const StagesAhead& ahead : capacities()) {
      const Outcome got = execute(problem_of(3, ahead, kept));
      EXPECT_EQ(losses(got), losses(want)) << text_of(ahead) << ", " << kept << " rows kept";
      EXPECT_EQ(got.epochs.back().scores->test, want.epochs.back().scores->test);
      for (const RankOutcome& rank : got.ranks) EXPECT_EQ(rank.final_bytes, 0);
    }
  }
}

TEST(Pipeline, ProgramsAreThoseOfTheRealRunAndSafe) {
  for (const StagesAhead& ahead : capacities()) {
    SCOPED_TRACE(text_of(ahead));
    const Problem p = problem_of(2, ahead, 25);
    testing::expect_as_recorded(*make_strategy(p), p);
  }
}

/// The largest peak, in bytes, that any rank of the recorded programs has in this space.
std::int64_t most_of(const std::vector<Program>& programs, Space space) {
  std::int64_t most = 0;
  for (const Program& program : programs) most = std::max(most, program.peak_bytes[at(space)]);
  return most;
}

/// The allocator counts what is recorded, however late a lane is, and never more than the largest
/// batches would take. If batches are as large as they can be, that is no more than twice as much.
TEST(Pipeline, MemoryIsWhatWasPlannedAndWithinItsBound) {
  for (const bool whole : {false, true})
    for (const StagesAhead& ahead : capacities()) {
      SCOPED_TRACE(fmt::format("{}, {}", text_of(ahead), whole ? "all neighbours" : "sampled"));
      Problem p = problem_of(2, ahead, 25, whole ? std::vector{-1, -1} : std::vector{4, 3});
      p.train.eval_every = 0;
      const auto strategy = make_strategy(p);
      const Outcome real = execute(p);
      const auto recorded = record_training(*strategy, p, p.train.epochs, {});
      const auto largest = record_training(*strategy->with_largest_batches(), p, 1, {});
      std::int64_t device = 0, pinned = 0;
      for (std::size_t r = 0; r < real.ranks.size(); ++r) {
        EXPECT_EQ(real.ranks[r].peak_bytes, recorded[r].peak_bytes[at(Space::device)]);
        EXPECT_EQ(real.ranks[r].pinned_peak_bytes, recorded[r].peak_bytes[at(Space::pinned_host)]);
        device = std::max(device, real.ranks[r].peak_bytes);
        pinned = std::max(pinned, real.ranks[r].pinned_peak_bytes);
      }
      EXPECT_LE(device, most_of(largest, Space::device));
      EXPECT_LE(pinned, most_of(largest, Space::pinned_host));
      if (!whole) continue;
      EXPECT_LE(most_of(largest, Space::device), 2 * device);
      EXPECT_LE(most_of(largest, Space::pinned_host), 2 * pinned);
    }
}

/// The arrays of a batch, one by one.
TEST(Pipeline, HostBytesOfABatchAreThoseOfItsArrays) {
  const Problem p = problem_of(2, {2, 0, 1}, 25);
  const SampledBatches batches(p);
  const SampledBatch batch = batches.batch(1, 0, 0);
  std::size_t bytes = 4 * batch.vertices->size();
  for (const SampledBatch::Layer& layer : batch.layers)
    for (const SparseMatrix* m : {&layer.forward, layer.adjoint ? &*layer.adjoint : nullptr})
      if (m != nullptr)
        bytes += 8 * m->csr().offsets.size() + 4 * m->csr().columns.size() + 4 * m->values->size();
  bytes += 4 * (batch.features.pulled.numbers->size() + batch.features.places->size()) + 2 * 8;

  EXPECT_EQ(host_bytes(batch, {}), static_cast<std::int64_t>(bytes)) << "and nothing is spare";

  const BatchSizes sizes = *make_strategy(p)->batch_sizes();
  EXPECT_GE(sizes.host_bytes.most, static_cast<std::int64_t>(bytes));
  EXPECT_GE(sizes.host_bytes.bound, sizes.host_bytes.most);
}

std::int64_t live_most(const Program& program, std::string_view name) {
  std::map<std::uint32_t, bool> live;
  std::int64_t now = 0, most = 0;
  for (const Step& step : program.steps) {
    if (const auto* made = std::get_if<AllocStep>(&step); made && made->name == name) {
      live[made->tensor.id] = true;
      most = std::max(most, ++now);
    }
    if (const auto* gone = std::get_if<ReleaseStep>(&step); gone && live[gone->tensor.id]) {
      live[gone->tensor.id] = false;
      --now;
    }
  }
  return most;
}

/// The device holds `load` batches and that of the step; pinned memory the rows of `fetch` and those
/// that are being loaded.
TEST(Pipeline, NoStageHoldsMoreBatchesThanItsCapacity) {
  for (const StagesAhead& ahead : capacities()) {
    SCOPED_TRACE(text_of(ahead));
    Problem p = problem_of(2, ahead);
    p.train.eval_every = 0;
    for (const Program& program : record_training(*make_strategy(p), p, p.train.epochs, {})) {
      EXPECT_EQ(live_most(program, "labels"), ahead.load + 1);
      EXPECT_EQ(live_most(program, "store/rows fetched"), ahead.fetch > 0 ? ahead.fetch + 1 : 0);
    }
  }
}

/// Drawn and joined tasks of a program: how many are open at most.
TEST(Pipeline, NoMoreBatchesAreDrawnAheadThanThereIsRoomFor) {
  for (const StagesAhead& ahead : capacities()) {
    SCOPED_TRACE(text_of(ahead));
    const Problem p = problem_of(1, ahead);
    std::int64_t open = 0, most = 0;
    const auto programs = record_training(*make_strategy(p), p, 3, {});
    for (const Step& step : programs.front().steps) {
      if (std::holds_alternative<HostStep>(step)) most = std::max(most, ++open);
      if (std::holds_alternative<JoinStep>(step)) --open;
    }
    EXPECT_EQ(most, std::clamp(ahead.sample, 1, 9)) << "of nine batches";
    EXPECT_EQ(open, 0);
  }
}

/// A step waits for its own batch: with several on their way, not for the last of them.
TEST(Pipeline, AStepDoesNotWaitForTheCopiesOfLaterBatches) {
  const Problem p = problem_of(1, {2, 0, 3});
  std::uint32_t copied = 0;  // items of the copy lane so far
  bool behind = false;
  const auto programs = record_training(*make_strategy(p), p, 1, {});
  for (const Step& step : programs.front().steps) {
    if (const auto* submit = std::get_if<SubmitStep>(&step); submit && submit->lane == Lane::copy)
      ++copied;
    const auto* wait = std::get_if<WaitStep>(&step);
    if (wait && wait->lane == Lane::copy) ++copied;
    if (const auto* declare = std::get_if<DeclareStep>(&step))
      copied += declare->lane == Lane::copy ? 1 : 0;
    if (wait && wait->lane == Lane::compute && wait->event.lane == Lane::copy)
      behind = behind || wait->event.position < copied;
  }
  EXPECT_TRUE(behind);
}

TEST(Pipeline, GoesOnWithOtherCapacitiesAsIfItHadNeverStopped) {
  const auto want = losses(execute(problem_of(2, {2, 0, 1})));
  for (const StagesAhead& ahead : {StagesAhead{5, 3, 2}, {0, 0, 0}}) {
    Checkpoint kept;
    ExecuteOptions options;
    options.kernels = "reference";
    options.control.checkpoint_every = 1;
    options.control.epochs = 1;
    options.keep = [&](const Checkpoint& checkpoint) { kept = checkpoint; };
    const Problem first = problem_of(2, {1, 1, 1}), rest = problem_of(2, ahead, 25);
    execute_on_threads(TrainingBody(*make_strategy(first), first), options, {});
    options.control = {};
    options.control.resume = std::make_shared<const Checkpoint>(kept);
    const Outcome got = execute_on_threads(TrainingBody(*make_strategy(rest), rest), options, {});
    ASSERT_EQ(got.epochs.size(), 2U);
    EXPECT_EQ(losses(got), (std::vector<double>{want[1], want[2]}));
  }
}

}  // namespace
}  // namespace orrery
