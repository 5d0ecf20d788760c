// orrery predict: what it says where weights and data do not fit.
#include <gtest/gtest.h>

#include "core/base/error.hpp"
#include "experiments/score/predictions.hpp"
#include "tests/experiments/commands/started_program.hpp"

namespace orrery {
namespace {

class PredictCommand : public testing::StartedProgram {};

TEST_F(PredictCommand, NamesTheWidthsOfTrainingAndOfTheData) {
  const std::string run = in("run").string();
  ASSERT_EQ(orrery("run " + experiment(R"(, "strategy": {"type": "full_graph"},
                                 "train": {"epochs": 2, "keep_best": true, "eval_every": 1})") +
                   " --set dataset.features=8 --set dataset.classes=4 --quiet --out " + run),
            0)
      << read("err");

  ASSERT_EQ(orrery("predict " + run + " --quiet"), 0) << read("err");
  EXPECT_NE(orrery("predict " + run + " --force --set dataset.features=9"), 0);
  EXPECT_NE(read("err").find("trained with 8 columns of features, and the data set has 9"),
            std::string::npos)
      << read("err");
  EXPECT_NE(orrery("predict " + run + " --force --set dataset.classes=5"), 0);
  EXPECT_NE(read("err").find("trained with 4 classes, and the data set has 5"), std::string::npos)
      << read("err");
}

TEST_F(PredictCommand, TellsWhatMayDifferWhereTheWeightsDoNotSayHowWideTheyAre) {
  const Experiment trained =
      load_experiments(experiment(R"(, "strategy": {"type": "full_graph"})"), {}).front();
  const Experiment forward = forward_experiment(trained.resolved, 1);
  DatasetCache datasets;
  std::string problem;
  try {
    predict(forward, datasets.load(forward), {1, {{1, 2, 3}}});
  } catch (const Error& error) {
    problem = error.what();
  }

  EXPECT_NE(problem.find("the weights are 3 numbers"), std::string::npos) << problem;
  EXPECT_NE(problem.find("the width of the features or the number of classes differs"),
            std::string::npos)
      << problem;
}

}  // namespace
}  // namespace orrery
