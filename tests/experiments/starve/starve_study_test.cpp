// Whom the trainer waits for: a stage that is made slow on purpose is named, and replays find a
// setting that would help.
#include "experiments/starve/starve_study.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <fstream>
#include <numeric>
#include <sstream>

#include "core/base/error.hpp"
#include "experiments/config/validate_json.hpp"
#include "experiments/starve/starve_report.hpp"

namespace orrery {
namespace {

constexpr const char* kSampled = R"({
  "name": "t", "dataset": {"generate": "communities", "vertices": 1000, "edges": 8000,
                           "features": 32, "classes": 4},
  "model": {"type": "sage", "layers": 2, "hidden": 32}, "partition": {"method": "random"},
  "train": {"epochs": 8}, "strategy": {"type": "mini_batch", "batch": 100, "fanouts": [5, 5]},
  "cluster": {"file": "a6000-1x2-nvlink", "gpus": 2}, "backend": "sim"})";

StarveStudy study_of(const std::vector<std::string>& overrides, bool tries) {
  DatasetCache datasets;
  Simulator simulator;
  return study_starving(parse_experiments(kSampled, "t", overrides).front(), 3, tries, datasets,
                        simulator);
}

/// Each by a thousand times its price: kinds of operations and of host tasks that no other stage has.
TEST(Starve, NamesTheStageThatIsThrottled) {
  for (const auto& [kind, stage] : {std::pair{"sample", BatchStage::sample},
                                    {"serve", BatchStage::fetch},
                                    {"load", BatchStage::load},
                                    {"gemm", BatchStage::train}})
    for (const char* pipeline :
         {R"({"sample": 2, "fetch": 0, "load": 1})", R"({"sample": 3, "fetch": 2, "load": 2})"}) {
      const StarveStudy study = study_of({fmt::format(R"(simulation.scale={{"{}": 1000}})", kind),
                                          fmt::format("strategy.pipeline={}", pipeline)},
                                         false);
      EXPECT_EQ(study.now.batch.limit(), stage)
          << kind << " " << pipeline << ": " << name_of(study.now.batch.limit());
      if (stage == BatchStage::train)
        EXPECT_LT(study.now.waiting(), 0.05);
      else
        EXPECT_GT(study.now.waiting(), 0.3) << "beside it, the ranks wait for each other";
    }
}

/// If no stage works ahead, a batch takes all stages one after the other; ahead of the trainer they
/// take as long as the slowest. The first number that is as good as the best is enough.
TEST(Starve, SaysWhatWouldBeEnough) {
  const StarveStudy study = study_of({R"(simulation.scale={"sample": 20, "gemm": 20})"}, true);

  ASSERT_GE(study.capacities.size(), 5U);
  const Fed &off = study.capacities.front(), &most = study.capacities.back();
  EXPECT_EQ(off.ahead.together(), 1);
  const double sum = std::accumulate(off.batch.busy.begin(), off.batch.busy.end(), 0.0);
  EXPECT_NEAR(off.batch.seconds, sum, 0.1 * sum);
  EXPECT_GE(most.batch.seconds, 0.95 * off.batch.busy[0]) << "drawing takes as long as before";
  EXPECT_LT(most.epoch_seconds, 0.9 * off.epoch_seconds);
  const Fed& enough = study.capacities[*study.enough_capacity];
  EXPECT_LE(enough.epoch_seconds, 1.02 * most.epoch_seconds);
  for (std::size_t i = 0; i < *study.enough_capacity; ++i)
    EXPECT_GT(study.capacities[i].epoch_seconds, enough.epoch_seconds);
  ASSERT_EQ(study.caches.size(), 5U);
  EXPECT_EQ(study.caches.front().cache_bytes, 0);
  EXPECT_LT(study.caches.back().batch.busy[1], study.caches.front().batch.busy[1])
      << "fewer rows are pulled";
}

/// Throws if the output is not what the schema says.
void require_told(nlohmann::ordered_json told) {
  std::stringstream schema;
  schema << std::ifstream(ORRERY_SOURCES "/experiments/config/schemas/starve.json").rdbuf();
  told["other_work"] = nullptr;
  validate_against(schema.str(), told);
}

/// In ever smaller servers the most batches ahead are the first that do not fit; the others are told.
TEST(Starve, TellsTriesThatDoNotFit) {
  for (std::int64_t bytes = 8 << 20; bytes > 1 << 16; bytes = bytes * 4 / 5) {
    const StarveStudy study = study_of({fmt::format("cluster.host_bytes={}", bytes)}, true);
    ASSERT_TRUE(study.now.does_not_fit.empty());
    const Fed& most = study.capacities.back();
    if (most.does_not_fit.empty()) continue;

    EXPECT_EQ(most.ahead.sample, 25);
    EXPECT_NE(most.does_not_fit.find("does NOT fit"), std::string::npos) << most.does_not_fit;
    EXPECT_TRUE(study.capacities.front().does_not_fit.empty());
    ASSERT_TRUE(study.enough_capacity);
    EXPECT_TRUE(study.capacities[*study.enough_capacity].does_not_fit.empty());
    const auto told = starving_json("t", study);
    EXPECT_NO_THROW(require_told(told));
    EXPECT_TRUE(told["capacities"].back()["epoch_seconds"].is_null());
    EXPECT_EQ(told["capacities"].back()["does_not_fit"], most.does_not_fit);
    return;
  }
  FAIL() << "all fit";
}

TEST(Starve, NothingIsEnoughIfNothingFits) {
  Fed fits, not_there;
  fits.epoch_seconds = 2;
  not_there.does_not_fit = "no room";
  EXPECT_EQ(first_enough({not_there}), std::nullopt);
  EXPECT_EQ(first_enough({not_there, fits}), 1U);
}

/// One process does not measure ranks that are processes: it simulates them on their cluster.
TEST(Starve, OfMpiIsSimulatedOnItsCluster) {
  const StarveStudy study = study_of({"backend=mpi"}, true), simulated = study_of({}, true);
  EXPECT_FALSE(study.measured);
  EXPECT_EQ(study.now.epoch_seconds, simulated.now.epoch_seconds);
  EXPECT_EQ(study.capacities.size(), simulated.capacities.size());
}

TEST(Starve, SaysHowFarTheForecastIs) {
  StarveStudy study;
  study.now.batch.seconds = 2;
  study.now.batch.waited[0] = 0.5;
  EXPECT_EQ(study.forecast_points(), std::nullopt);
  study.forecast = study.now;
  study.forecast->batch.waited[0] = 0.3;
  EXPECT_NEAR(*study.forecast_points(), -10, 1e-9);
}

TEST(Starve, TellsMachinesWhatItsSchemaSays) {
  auto told = starving_json("t", study_of({}, true));
  EXPECT_NO_THROW(require_told(told));
  EXPECT_EQ(told["now"]["pipeline"]["sample"], 2);
  EXPECT_EQ(told["capacities"].size(), 7U);
}

TEST(Starve, RefusesWhatHasNoBatches) {
  const auto refusal = [](const std::vector<std::string>& overrides, int epochs) -> std::string {
    DatasetCache datasets;
    Simulator simulator;
    try {
      study_starving(parse_experiments(kSampled, "t", overrides).front(), epochs, true, datasets,
                     simulator);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal({R"(strategy={"type": "full_graph"})"}, 3),
            "strategy.type: full_graph has no batches that are drawn, fetched and loaded one after "
            "the other: mini_batch does");
  EXPECT_EQ(refusal({}, 1), "--epochs: expected at least 2: the first epoch does not count");
  EXPECT_EQ(
      refusal({R"(strategy.cache={"policy": "lru", "bytes": 4096})", "strategy.pipeline.fetch=1"},
              3),
      "strategy.pipeline.fetch: strategy.cache.policy \"lru\" keeps rows for one batch at a "
      "time: set it to 0, or use degree, presampled or vip");
}

}  // namespace
}  // namespace orrery
