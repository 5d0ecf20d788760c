// The largest batch that fits, against every number of seeds.
#include "experiments/predict/fit_batch.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/strategy/make_strategy.hpp"
#include "core/strategy/structure/sampled_batches.hpp"
#include "core/strategy/train/record.hpp"
#include "experiments/config/load_problem.hpp"
#include "experiments/execute/execute.hpp"
#include "experiments/predict/fit.hpp"
#include "experiments/predict/prepared.hpp"
#include "experiments/predict/server_memory.hpp"

namespace orrery {
namespace {

constexpr const char* kFileWithBatches = R"({"name": "t",
    "dataset": {"generate": "communities", "vertices": 200, "edges": 900, "features": 12},
    "model": {"type": "sage", "layers": 2, "hidden": 16},
    "partition": {"method": "ldg"},
    "strategy": {"type": "mini_batch", "fanouts": [3, 2]},
    "train": {"epochs": 3}, "backend": "threads",
    "cluster": {"servers": 2, "ranks_per_server": 2}})";

/// The experiment with batches of so many seeds, or "fit", and so much device memory (0: not given).
Experiment with_batch(const std::string& seeds, std::int64_t room,
                      std::vector<std::string> settings) {
  settings.push_back("strategy.batch=" + seeds);
  if (room > 0) settings.push_back(fmt::format("cluster.device_bytes={}", room));
  return parse_experiments(kFileWithBatches, "test.json", settings).front();
}

PreparedExperiment prepared_with(const std::string& seeds, std::int64_t room,
                                 const std::vector<std::string>& settings) {
  static DatasetCache datasets;
  const Experiment asked = with_batch(seeds, room, settings);
  return prepare(asked, datasets.load(asked));
}

std::int64_t peak_of(const Strategy& strategy, const Problem& problem, int epochs,
                     Space space = Space::device) {
  std::int64_t most = 0;
  for (const Program& program : record_training(strategy, problem, epochs, {}))
    most = std::max(most, program.peak_bytes[at(space)]);
  return most;
}

/// What these seeds take: any batch of them, and what a run draws.
std::int64_t bound_of(std::int64_t seeds, const std::vector<std::string>& settings) {
  const PreparedExperiment p = prepared_with(std::to_string(seeds), 0, settings);
  return peak_of(*p.strategy->with_largest_batches(), *p.problem, 2);
}
std::int64_t drawn_of(std::int64_t seeds, const std::vector<std::string>& settings) {
  const PreparedExperiment p = prepared_with(std::to_string(seeds), 0, settings);
  return peak_of(*p.strategy, *p.problem, p.problem->train.epochs);
}

std::int64_t seeds_in(const PreparedExperiment& prepared) {
  return prepared.experiment.resolved["strategy"]["batch"].get<std::int64_t>();
}

std::string refusal_of_batch(const std::string& seeds, std::int64_t room,
                             const std::vector<std::string>& settings) {
  try {
    return fmt::format("accepted: {}", seeds_in(prepared_with(seeds, room, settings)));
  } catch (const ConfigError& error) {
    return error.what();
  }
}

/// Settings, and the most seeds that a step can have with them.
struct BatchCase {
  std::vector<std::string> settings;
  std::int64_t most;
};

class LargestBatch : public ::testing::TestWithParam<BatchCase> {};

TEST_P(LargestBatch, IsTheLargestOfAllThatFitAnyBatch) {
  const auto& [settings, most] = GetParam();
  std::vector<std::int64_t> bounds{0};
  for (std::int64_t seeds = 1; seeds <= most; ++seeds) bounds.push_back(bound_of(seeds, settings));
  ASSERT_TRUE(std::is_sorted(bounds.begin(), bounds.end()));
  for (const std::int64_t room :
       {bounds[1], bounds[1] + 1, bounds[2] - 1, bounds[at(most / 2)],
        (bounds[1] + bounds.back()) / 2, bounds.back() - 1, bounds.back(), 2 * bounds.back()}) {
    if (room < bounds[1]) continue;
    const auto largest = std::upper_bound(bounds.begin(), bounds.end(), room) - bounds.begin() - 1;

    const PreparedExperiment made = prepared_with("fit", room, settings);

    EXPECT_EQ(seeds_in(made), largest) << room << " bytes";
    EXPECT_LE(peak_of(*made.strategy, *made.problem, 3), room);
    EXPECT_EQ(fitted_numbers(made.experiment)["strategy.batch"], largest);
  }
  EXPECT_NE(
      refusal_of_batch("fit", bounds[1] - 1, settings).find("strategy.batch: not even 1 fits"),
      std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    Of, LargestBatch,
    ::testing::Values(BatchCase{{"train.eval_every=0"}, 35}, BatchCase{{}, 35},
                      BatchCase{{"strategy.seeds=global", "train.eval_every=0"}, 140},
                      BatchCase{{"strategy.seeds=server", "train.eval_every=0"}, 35},
                      BatchCase{{"strategy.cooperative=true", "train.eval_every=0"}, 35},
                      BatchCase{{"strategy.sampler=labor", "model.type=gat", "train.eval_every=0"},
                                35},
                      BatchCase{{"strategy={\"type\": \"mini_batch\", \"sampler\": \"saint-walk\"}",
                                 "train.eval_every=0"},
                                100},
                      BatchCase{{"backend=sim", "strategy.sizes=largest",
                                 "cluster={\"file\": \"dgx-1\", \"gpus\": 4}"},
                                35}));

/// Part of a server's training vertices: parts are cut unequally, so the largest one decides.
TEST(LargestBatchOfParts, IsTheLargestOfAllThatFitAnyBatch) {
  const std::vector<std::string> settings{
      R"(strategy={"type": "model_averaging", "fanouts": [3, 2]})", "partition.parts=5",
      "cluster={\"ranks\": 2}", "train.eval_every=0"};
  const PreparedExperiment all = prepared_with("1", 0, settings);
  const std::int64_t most = all.strategy->most_seeds();
  ASSERT_GT(most, 140 / 5 - 1);
  std::vector<std::int64_t> bounds{0};
  for (std::int64_t seeds = 1; seeds <= most; ++seeds) {
    bounds.push_back(bound_of(seeds, settings));
    const PreparedExperiment drawn = prepared_with(std::to_string(seeds), 0, settings);
    EXPECT_LE(peak_of(*drawn.strategy, *drawn.problem, 3), bounds.back());
    EXPECT_LE(bounds.back(), 4 * peak_of(*drawn.strategy, *drawn.problem, 3));
  }
  ASSERT_TRUE(std::is_sorted(bounds.begin(), bounds.end()));
  for (const std::int64_t room :
       {bounds[1], bounds[3] - 1, bounds[at(most / 2)], bounds.back() - 1, bounds.back()}) {
    const auto largest = std::upper_bound(bounds.begin(), bounds.end(), room) - bounds.begin() - 1;
    const PreparedExperiment made = prepared_with("fit", room, settings);
    EXPECT_EQ(seeds_in(made), largest);
    EXPECT_EQ(made.problem->strategy.batch, largest);
    EXPECT_EQ(made.experiment.strategy.batch, largest);
  }
}

TEST(LargestDrawnBatch, FitsWhatTheRunDrawsAndOneMoreDoesNot) {
  for (const std::vector<std::string>& settings :
       {std::vector<std::string>{"train.eval_every=0"},
        std::vector<std::string>{R"(strategy={"type": "model_averaging", "fanouts": [3, 2]})",
                                 "partition.parts=5", "cluster={\"ranks\": 2}",
                                 "train.eval_every=0"}}) {
    const std::int64_t least = drawn_of(1, settings), most = drawn_of(1000, settings);
    for (const double share : {0.0, 0.3, 0.6, 0.9}) {
      const auto room =
          least + static_cast<std::int64_t>(share * static_cast<double>(most - least));
      const std::int64_t seeds = seeds_in(prepared_with("fit_drawn", room, settings));
      EXPECT_LE(drawn_of(seeds, settings), room);
      EXPECT_GT(drawn_of(seeds + 1, settings), room);
      if (bound_of(1, settings) <= room) {
        EXPECT_LE(seeds_in(prepared_with("fit", room, settings)), seeds);
      }
    }
  }
}

TEST(LargestBatchOfLinks, HasNegativesOfOthers) {
  const std::vector<std::string> settings{
      "links={\"negatives\": \"in_batch\", \"negatives_per_link\": 3}", "train.eval_every=0",
      "cluster={\"ranks\": 2}"};
  std::vector<std::int64_t> bounds(4, 0);
  for (std::int64_t seeds = 4; seeds <= 60; ++seeds) bounds.push_back(bound_of(seeds, settings));
  ASSERT_TRUE(std::is_sorted(bounds.begin(), bounds.end()));

  const PreparedExperiment made = prepared_with("fit", bounds[50], settings);

  EXPECT_EQ(seeds_in(made),
            std::upper_bound(bounds.begin(), bounds.end(), bounds[50]) - bounds.begin() - 1);
  EXPECT_NE(refusal_of_batch("fit", bounds[4] - 1, settings).find("links.negatives_per_link"),
            std::string::npos);
}

TEST(BatchThatFits, HasHostMemoryToo) {
  const auto with_host = [](std::int64_t host) {
    return std::vector<std::string>{
        fmt::format(R"(cluster={{"file": "dgx-1", "gpus": 2, "host_bytes": {}}})", host),
        "backend=sim", "train.eval_every=0", "dataset.features=400"};
  };
  const auto pinned = [&](std::int64_t seeds) {
    const PreparedExperiment p = prepared_with(std::to_string(seeds), 0, with_host(1LL << 40));
    const auto largest = p.strategy->with_largest_batches();
    std::int64_t sum = 2 * in_flight(*largest).value().bound;
    for (const Program& program : record_training(*largest, *p.problem, 2, {}))
      for (const Space space : {Space::host, Space::pinned_host, Space::server_host})
        sum += program.peak_bytes[at(space)];
    return sum;
  };

  EXPECT_EQ(seeds_in(prepared_with("fit", 0, with_host(pinned(7)))), 7);
  EXPECT_NE(refusal_of_batch("fit", 0, with_host(pinned(1) - 1)).find("host memory of a server"),
            std::string::npos);
}

TEST(BatchThatFits, SaysWhatIsMissingAndWhatWouldHelp) {
  const std::vector<std::string> none;
  const std::int64_t whole = bound_of(1, none), alone = bound_of(1, {"train.eval_every=0"});
  ASSERT_LT(alone, whole);

  EXPECT_EQ(refusal_of_batch("fit", 0, none),
            "strategy.batch: \"fit\" needs the device memory: set cluster.device_bytes, or name a "
            "cluster.file");
  EXPECT_NE(refusal_of_batch("fit", whole - 1, none)
                .find("without evaluations of the whole graph it would fit: set train.eval_every"),
            std::string::npos);
  const std::string tight = refusal_of_batch("fit", alone - 1, none);
  EXPECT_NE(tight.find("or \"fit_drawn\", which counts only"), std::string::npos) << tight;
  EXPECT_NE(tight.find("set train.eval_every to 0, lower strategy.fanouts"), std::string::npos)
      << tight;
  EXPECT_NE(tight.find("device memory of a rank: it can take"), std::string::npos) << tight;
  EXPECT_EQ(
      refusal_of_batch("fit", 64, {R"(strategy={"type": "mini_batch", "sampler": "saint-walk"})"})
          .find("strategy.fanouts"),
      std::string::npos)
      << "it has none";
  EXPECT_EQ(refusal_of_batch("most", whole, none),
            "strategy.batch: found \"most\", expected a number or \"fit\" or \"fit_drawn\"");
  EXPECT_NE(refusal_of_batch("fit", whole, {"strategy={\"type\": \"full_graph\"}"})
                .find("strategy.batch"),
            std::string::npos);
  EXPECT_NE(refusal_of_batch("fit_drawn", whole, {"backend=sim", "strategy.sizes=largest"})
                .find("with strategy.sizes \"largest\" none is: use \"fit\""),
            std::string::npos);
  EXPECT_NE(
      refusal_of_batch("fit", whole,
                       {R"(strategy={"type": "mini_batch", "sampler": "cluster", "clusters": 8})"})
          .find("leave it out"),
      std::string::npos);
}

/// The written file is that of a run with this number.
TEST(BatchThatFits, IsInTheFileAndTrainsAsIfItHadBeenAskedFor) {
  const std::vector<std::string> settings{"train.eval_every=0"};
  const std::int64_t room = bound_of(11, settings);
  const PreparedExperiment made = prepared_with("fit", room, settings);
  const PreparedExperiment asked = prepared_with(std::to_string(seeds_in(made)), room, settings);
  EXPECT_EQ(made.experiment.resolved, asked.experiment.resolved);
  EXPECT_EQ(mini_batch_of(made.problem->strategy).batch, seeds_in(made));
  EXPECT_EQ(mini_batch_of(made.experiment.strategy).batch, seeds_in(made));

  ExecuteOptions options;
  options.capacities = memory_capacities(made.experiment);
  const Outcome found = execute_on_threads(made.body(), options, {});
  const Outcome given = execute_on_threads(asked.body(), options, {});

  ASSERT_EQ(found.epochs.size(), given.epochs.size());
  for (std::size_t e = 0; e < found.epochs.size(); ++e)
    EXPECT_EQ(found.epochs[e].loss, given.epochs[e].loss);
}

}  // namespace
}  // namespace orrery
