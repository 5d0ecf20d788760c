// Checkpoint files.
#include "experiments/results/checkpoint.hpp"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/base/error.hpp"
#include "core/base/rng.hpp"
#include "experiments/config/experiment.hpp"
#include "tests/experiments/results/contents.hpp"

namespace orrery {
namespace {

using ::testing::HasSubstr;

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

class CheckpointFile : public ::testing::Test {
 protected:
  CheckpointFile() { fs::create_directories(folder_); }
  ~CheckpointFile() override { fs::remove_all(folder_); }

  static Json experiment(const std::vector<std::string>& overrides = {}) {
    const std::string text = R"({"name": "x", "dataset": {"generate": "rmat", "vertices": 100},
                                 "model": {"type": "gcn"}, "strategy": {"type": "full_graph"}})";
    return parse_experiments(text, "test", overrides).front().resolved;
  }
  std::string problem_with(const std::string& bytes, const Json& resolved) const {
    try {
      parse_checkpoint(bytes, "c", resolved);
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  }

  const fs::path folder_ =
      fs::temp_directory_path() / fmt::format("orrery-checkpoint-{}", ::getpid());
  const fs::path file_ = folder_ / "checkpoint.bin";
  const Checkpoint checkpoint_{7, {{1.5F, -2, 3e-30F}, {}, {4}}};
};

TEST_F(CheckpointFile, ComesBackAsItWas) {
  write_checkpoint(file_, checkpoint_, experiment());

  const Checkpoint back = parse_checkpoint(contents_of(file_), "c", experiment());

  EXPECT_EQ(back.epochs, 7);
  EXPECT_EQ(back.state, checkpoint_.state);
  EXPECT_FALSE(fs::exists(file_.string() + ".part"));
}

TEST_F(CheckpointFile, TellsAnotherUseHowWideItsModelIs) {
  write_checkpoint(file_, checkpoint_, experiment(), FromData{10, 5});
  const ModelCheckpoint back = parse_checkpoint_of_model(contents_of(file_), "c", experiment());
  write_checkpoint(file_, checkpoint_, experiment());
  const ModelCheckpoint unknown = parse_checkpoint_of_model(contents_of(file_), "c", experiment());

  ASSERT_TRUE(back.data);
  EXPECT_EQ(back.data->features, 10);
  EXPECT_EQ(back.data->classes, 5);
  EXPECT_EQ(back.checkpoint.state, checkpoint_.state);
  EXPECT_FALSE(unknown.data);
}

TEST_F(CheckpointFile, GoesOnWithTheDataItWasTrainedOnAlone) {
  write_checkpoint(file_, checkpoint_, experiment(), FromData{10, 5, "0123abcd"});
  const std::string bytes = contents_of(file_);
  EXPECT_EQ(parse_checkpoint(bytes, "c", experiment(), "0123abcd").epochs, 7);
  EXPECT_EQ(parse_checkpoint(bytes, "c", experiment()).epochs, 7) << "parts on disk tell nothing";
  try {
    parse_checkpoint(bytes, "c", experiment(), "0123abce");
    FAIL() << "other data was taken";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("dataset: is other data than c was trained on (fingerprint "
                                        "0123abcd, found 0123abce)"));
  }
  write_checkpoint(file_, checkpoint_, experiment(), FromData{10, 5});
  EXPECT_EQ(parse_checkpoint(contents_of(file_), "c", experiment(), "0123abce").epochs, 7)
      << "written before fingerprints were kept";
}

TEST_F(CheckpointFile, OfAModelByRelationServesOnlyTheSameRelationsInTheSameOrder) {
  ModelCheckpoint kept;
  EXPECT_NO_THROW(require_same_relations(kept, {"a.b.c"}, "train.weights"));
  kept.relations = {"author.writes.paper", "author.reviews.paper"};

  EXPECT_NO_THROW(require_same_relations(kept, kept.relations, "train.weights"));
  for (const std::vector<std::string>& others :
       {std::vector<std::string>{"author.reviews.paper", "author.writes.paper"}, {}})
    EXPECT_THROW(require_same_relations(kept, others, "train.weights"), ConfigError);
}

TEST_F(CheckpointFile, ServesDataOfTheSameWidthsAlone) {
  ModelCheckpoint kept;
  EXPECT_NO_THROW(require_same_widths(kept, {9, 4}, "--weights")) << "written before it was told";
  kept.data = FromData{8, 4};
  EXPECT_NO_THROW(require_same_widths(kept, {8, 4}, "--weights"));
  const auto refusal = [&](const FromData& now) -> std::string {
    try {
      require_same_widths(kept, now, "--weights");
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "accepted";
  };

  EXPECT_THAT(refusal({9, 4}),
              HasSubstr("--weights: has weights that were trained with 8 columns of "
                        "features, and the data set has 9"));
  EXPECT_THAT(refusal({8, 3}), HasSubstr("trained with 4 classes, and the data set has 3"));
}

/// The features that they were trained on are not in the data.
TEST_F(CheckpointFile, OfLearnedFeaturesServesNoOtherUse) {
  const auto with = [](const std::string& learns) {
    return experiment({R"(strategy={"type": "mini_batch", "fanouts": [5, 5], "learn_features": )" +
                       learns + "}"});
  };
  write_checkpoint(file_, checkpoint_, with("true"));
  try {
    parse_checkpoint_of_model(contents_of(file_), "c", experiment());
    ADD_FAILURE() << "accepted";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("inference.weights: c: its model works on features that"));
  }
  EXPECT_EQ(problem_with(contents_of(file_), with("true")), "accepted");
  EXPECT_THAT(problem_with(contents_of(file_), with("false")),
              HasSubstr("strategy.learn_features"));
  write_checkpoint(file_, checkpoint_, with("false"));
  EXPECT_NO_THROW(parse_checkpoint_of_model(contents_of(file_), "c", experiment()));
}

TEST_F(CheckpointFile, ServesOtherRanksStrategiesAndLengthsOfTheSameExperiment) {
  write_checkpoint(file_, checkpoint_, experiment());

  EXPECT_EQ(problem_with(contents_of(file_),
                         experiment({"strategy.type=spmm_1d", "cluster.ranks=3", "train.epochs=900",
                                     "train.checkpoint_every=5", "partition.method=random"})),
            "accepted");
}

/// The rest of the epoch would have other batches.
TEST_F(CheckpointFile, FromWithinAnEpochServesTheSameStrategyOnTheSameRanks) {
  const auto with = [](const std::string& seeds, const std::vector<std::string>& more = {}) {
    std::vector<std::string> settings{
        R"(strategy={"type": "mini_batch", "fanouts": [5, 5], "batch": 10, "seeds": ")" + seeds +
        "\"}"};
    settings.insert(settings.end(), more.begin(), more.end());
    return experiment(settings);
  };
  const Checkpoint within{7, {{1.5F}}, 3, {0.1, 1.0 / 3}};
  for (const std::string seeds : {"local", "global"}) {
    write_checkpoint(file_, within, with(seeds));
    const std::string bytes = contents_of(file_);

    const Checkpoint back = parse_checkpoint(bytes, "c", with(seeds, {"train.epochs=900"}));

    EXPECT_EQ(back.steps, 3);
    EXPECT_EQ(back.losses, within.losses) << "to the bit";
    EXPECT_EQ(problem_with(bytes, with(seeds, {"strategy.cache={\"bytes\": 64}"})), "accepted");
    EXPECT_NE(problem_with(bytes, with(seeds, {"strategy.batch=20"})).find("strategy.batch"),
              std::string::npos);
    EXPECT_EQ(problem_with(bytes, with(seeds, {"cluster.ranks=3"})) == "accepted",
              seeds == "global");
  }
}

TEST_F(CheckpointFile, OfAnotherExperimentIsRefusedByTheKeyThatDiffers) {
  write_checkpoint(file_, checkpoint_, experiment());
  const std::string bytes = contents_of(file_);

  for (const auto& [setting, words] : std::vector<std::pair<std::string, std::string>>{
           {"model.hidden=32", "model.hidden: is 32 here, but 64 in c"},
           {"seed=3", "seed: is 3 here, but 0"},
           {"dataset.vertices=50", "dataset.vertices: is 50 here, but 100"},
           {"train.learning_rate=0.5", "train.learning_rate: is 0.5 here, but 0.01"}})
    EXPECT_EQ(problem_with(bytes, experiment({setting})).substr(0, words.size()), words);
}

TEST_F(CheckpointFile, OfLocalModelsServesTheSamePartsAlone) {
  const std::string parts = R"(strategy={"type": "model_averaging", "hops": 1})";
  const Json kept = experiment({parts, "partition.parts=4", "cluster.ranks=2"});
  write_checkpoint(folder_ / "c", {7, {{1, 2}}}, kept);
  const std::string bytes = contents_of(folder_ / "c");

  EXPECT_EQ(problem_with(bytes, experiment({parts, "partition.parts=4", "cluster.ranks=4"})),
            "accepted");
  EXPECT_NE(problem_with(bytes, experiment({parts, "partition.parts=5"})).find("partition.parts"),
            std::string::npos);
  EXPECT_NE(problem_with(bytes, experiment()).find("strategy"), std::string::npos);
}

/// The learned weights depend on what is drawn, how much, and by which rank.
TEST_F(CheckpointFile, OfSampledTrainingServesTheSameDrawsAlone) {
  const std::string local = R"(strategy={"type": "mini_batch", "batch": 10, "fanouts": [5, 5, 5]})";
  write_checkpoint(file_, checkpoint_, experiment({local, "model.layers=3"}));
  const std::string bytes = contents_of(file_);
  const auto problem = [&](const std::string& setting) {
    return problem_with(bytes, experiment({local, "model.layers=3", setting}));
  };
  EXPECT_EQ(problem("train.epochs=900"), "accepted");
  EXPECT_EQ(problem(R"(strategy.cache={"bytes": 1000})"), "accepted");
  EXPECT_THAT(problem("strategy.batch=20"), HasSubstr("strategy.batch: is 20 here, but 10 in c"));
  EXPECT_THAT(problem("strategy.fanouts=[5,5,4]"), HasSubstr("strategy.fanouts"));
  EXPECT_THAT(problem("strategy.seeds=global"), HasSubstr("strategy.seeds"));
  EXPECT_THAT(problem("partition.method=random"), HasSubstr("partition.method"));
  EXPECT_THAT(problem("cluster.ranks=3"), HasSubstr("cluster.ranks"));
  EXPECT_THAT(problem(R"(cluster={"servers": 2, "ranks_per_server": 2})"), HasSubstr("cluster."));
  EXPECT_THAT(problem(R"(strategy={"type": "full_graph"})"), HasSubstr("strategy"));
}

TEST_F(CheckpointFile, OfGlobalSeedsServesAnyCut) {
  const std::string global =
      R"(strategy={"type": "mini_batch", "fanouts": [5, 5, 5], "seeds": "global"})";
  write_checkpoint(file_, checkpoint_, experiment({global, "model.layers=3"}));

  EXPECT_EQ(
      problem_with(contents_of(file_), experiment({global, "model.layers=3", "cluster.ranks=3",
                                                   "partition.method=random"})),
      "accepted");
}

TEST_F(CheckpointFile, OfInexactTrainingServesTheSameCutAlone) {
  const std::string some = "strategy.boundary_sampling=0.5";
  write_checkpoint(file_, checkpoint_, experiment({some}));

  EXPECT_EQ(problem_with(contents_of(file_), experiment({some, "strategy.overlap=false"})),
            "accepted");
  EXPECT_THAT(problem_with(contents_of(file_), experiment()),
              HasSubstr("strategy: the weights here are learned on the whole graph, with exact "
                        "gradients, but those in c with {"));
  EXPECT_THAT(problem_with(contents_of(file_), experiment({some, "cluster.ranks=5"})),
              HasSubstr("cluster.ranks"));
}

/// A step of averaged gradients is of as many parts as there are ranks.
TEST_F(CheckpointFile, OfAveragedGradientsServesTheSameRanksAlone) {
  const std::string parts = R"(strategy={"type": "model_averaging", "averaging": "gradient"})";
  write_checkpoint(file_, checkpoint_, experiment({parts, "partition.parts=4", "cluster.ranks=2"}));

  EXPECT_THAT(
      problem_with(contents_of(file_), experiment({parts, "partition.parts=4", "cluster.ranks=4"})),
      HasSubstr("cluster.ranks"));
}

/// The number of parts says all about the memory that they were chosen for.
TEST_F(CheckpointFile, OfLocalModelsServesAnotherWorkingMemory) {
  const std::string parts = R"(strategy={"type": "model_averaging", "hops": 1})";
  Json kept = experiment({parts, "partition.parts=4"});
  write_checkpoint(file_, checkpoint_, kept);
  kept["partition"]["working_bytes"] = 99000;

  EXPECT_EQ(problem_with(contents_of(file_), kept), "accepted");
}

TEST_F(CheckpointFile, CutOrDamagedAnywhereIsNoticed) {
  write_checkpoint(file_, checkpoint_, experiment());
  const std::string bytes = contents_of(file_);

  for (std::size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_NE(problem_with(bytes.substr(0, i), experiment()), "accepted") << "cut at " << i;
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    EXPECT_NE(problem_with(damaged, experiment()), "accepted") << "damaged at " << i;
  }
}

}  // namespace
}  // namespace orrery
