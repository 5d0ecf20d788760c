// The meaning of words of other programs.
#include "experiments/config/meanings.hpp"

#include <gtest/gtest.h>

#include "experiments/config/validate_json.hpp"

namespace orrery {
namespace {

using Words = std::vector<std::string>;

TEST(Meanings, OfAWordArePreferredToWordsThatLookLikeIt) {
  EXPECT_EQ(meant("gpu", {"threads", "mpi", "nccl", "sim", "model"}), "nccl");  // not mpi
  EXPECT_EQ(meant("gpu", {"cpu", "reference", "cuda"}), "cuda");                // not cpu
  EXPECT_EQ(meant("lr", {"epochs", "learning_rate"}), "learning_rate");
}

TEST(Meanings, AreFoundInAnotherCaseOrSpellingToo) {
  EXPECT_EQ(meant("CUDA", {"cpu", "cuda"}), "cuda");
  EXPECT_EQ(meant("learning-rate", {"epochs", "learning_rate"}), "learning_rate");
  EXPECT_EQ(meant("epoch", {"epochs", "learning_rate"}), "epochs");
  EXPECT_EQ(meant("trian", {"run", "plan"}), "run");
}

TEST(Meanings, OfWordsThatAreNearToNothingAreNone) {
  EXPECT_EQ(meant("zebra", {"epochs", "learning_rate"}), "");
  EXPECT_EQ(meant("", {"epochs"}), "");
  EXPECT_EQ(did_you_mean("zebra", {"epochs"}), "");
}

TEST(Meanings, OfKeysAreTheirPathsTheShortestFirst) {
  EXPECT_EQ(
      paths_meant(experiment_schema(), "epochs"),
      (Words{"train.epochs", "simulation.epochs", "timeline.epochs", "train.schedule.epochs"}));
  EXPECT_EQ(paths_meant(experiment_schema(), "cores"), Words{"cluster.ranks"});
  EXPECT_EQ(
      paths_meant(experiment_schema(), "symmetric"),
      (Words{"dataset.symmetric", "dataset.statistics.symmetric", "dataset.edge_list.symmetric"}));
}

TEST(Meanings, OfValuesAreSettings) {
  EXPECT_EQ(settings_meant(experiment_schema(), "metis").front(), "partition.method=metis");
  EXPECT_EQ(settings_meant(experiment_schema(), "gpu"),
            (Words{"backend=nccl", "kernels=cuda", "simulation.library=nccl"}));
  EXPECT_TRUE(settings_meant(experiment_schema(), "zebra").empty());
}

// Every key is found by its last component, whatever it is called elsewhere.
TEST(Meanings, OfEveryKeyOfTheSchemaIncludeItself) {
  const Words paths = key_paths(experiment_schema());
  ASSERT_GT(paths.size(), 80U);

  for (const std::string& path : paths) {
    const Words found = paths_meant(experiment_schema(), path.substr(path.rfind('.') + 1));
    EXPECT_NE(std::find(found.begin(), found.end(), path), found.end()) << path;
  }
}

}  // namespace
}  // namespace orrery
