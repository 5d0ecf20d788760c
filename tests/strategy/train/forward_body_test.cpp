// A body that is not training: forward passes with parameters for inference, on every rank.
#include <gtest/gtest.h>

#include <map>

#include "core/runtime/check/check.hpp"
#include "core/runtime/recorder.hpp"
#include "core/runtime/recording.hpp"
#include "tests/support/forward_body.hpp"
#include "tests/support/problems.hpp"

namespace orrery {
namespace {

using testing::ForwardBody;
using testing::Logits;
using testing::make_problem;
using testing::random_dataset;

struct Case {
  std::string name;
  ModelType type;
  int recompute;
  bool layer_norm;
};

class ForwardPasses : public ::testing::TestWithParam<Case> {
 protected:
  static Problem problem(int ranks) {
    Problem p = make_problem(random_dataset(70, 300, 12, 5, true), ranks, "full_graph");
    p.model.type = GetParam().type;
    p.model.layers = 4;
    p.model.recompute = GetParam().recompute;
    p.model.layer_norm = GetParam().layer_norm;
    p.train.epochs = 3;
    return p;
  }
  static Outcome run(const Problem& p, ModelUse use, Logits& logits) {
    ExecuteOptions options;
    options.kernels = "reference";
    options.keep_steps = true;
    options.guard_bytes = 64;
    logits.resize(at(p.data->vertices()));
    const auto strategy = make_strategy(p);
    return execute_on_threads(ForwardBody(*strategy, p, use, &logits), options, {});
  }
};

TEST_P(ForwardPasses, AreTheSameWithParametersForInferenceAndForTraining) {
  const Problem p = problem(3);
  Logits inference, training;

  const Outcome run_inference = run(p, ModelUse::inference, inference);
  const Outcome run_training = run(p, ModelUse::training, training);

  EXPECT_EQ(inference, training);
  EXPECT_EQ(inference.front().size(), 5U);
  EXPECT_EQ(run_inference.epochs.size(), 3U);
  EXPECT_LT(run_inference.ranks[0].peak_bytes, run_training.ranks[0].peak_bytes);
}

TEST_P(ForwardPasses, AreThoseOfOneRankOnThree) {
  Logits one, three;
  run(problem(1), ModelUse::inference, one);
  run(problem(3), ModelUse::inference, three);

  ASSERT_EQ(one.size(), three.size());
  for (std::size_t v = 0; v < one.size(); ++v)
    for (std::size_t c = 0; c < one[v].size(); ++c) EXPECT_NEAR(three[v][c], one[v][c], 1e-4);
}

TEST_P(ForwardPasses, AreRecordedCheckedExecutedAndSummedUpWithoutGradients) {
  const Problem p = problem(3);
  const auto strategy = make_strategy(p);
  const ForwardBody body(*strategy, p, ModelUse::inference);

  const auto programs = record_ranks(body, epochs_to_record(body), {});
  EXPECT_NO_THROW(check(programs));
  EXPECT_EQ(epochs_to_record(body), 2);

  Logits logits;
  const Outcome real = run(p, ModelUse::inference, logits);
  const auto whole = record_ranks(body, p.train.epochs, {});
  for (std::size_t r = 0; r < whole.size(); ++r) {
    EXPECT_EQ(to_string(real.ranks[r].program), to_string(whole[r]));
    EXPECT_EQ(real.ranks[r].final_bytes, 0);
    std::int64_t parameter_bytes = 0, gradients = 0;
    for (const Step& step : whole[r].steps) {
      const auto* alloc = std::get_if<AllocStep>(&step);
      if (alloc == nullptr) continue;
      const std::string& name = alloc->name;
      if (tensor_class(name) == "parameters") parameter_bytes += alloc->tensor.bytes();
      if (name.find("gradient") != std::string::npos || tensor_class(name) == "optimizer")
        ++gradients;
    }
    EXPECT_EQ(gradients, 0);
    EXPECT_GT(parameter_bytes, 0);
    EXPECT_EQ(whole[r].peak_by_class.at("parameters"), parameter_bytes) << "weights alone";
    for (const auto& [kind, totals] : summarise(whole[r], {}).epoch.by_kind)
      EXPECT_TRUE(kind != "adam" && kind != "all_reduce") << kind;
    EXPECT_GT(real.ranks[r].summary.epoch.sum().internal, 0) << "a halo is exchanged";
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ForwardPasses,
                         ::testing::Values(Case{"Gcn", ModelType::gcn, 0, false},
                                           Case{"GcnWithNorms", ModelType::gcn, 0, true},
                                           Case{"Sage", ModelType::sage, 0, true},
                                           Case{"ResGcn", ModelType::resgcn, 0, false},
                                           Case{"ResGcnInSegments", ModelType::resgcn, 2, false}),
                         [](const auto& one) { return one.param.name; });

/// Parameters for inference are the weights that training starts from.
TEST(ForwardPassesDeath, ABackwardPassIsAnErrorOfTheProgram) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Recorder rt({});
  Parameters parameters;
  parameters.add({2, 3}, Parameters::glorot(2, 3), true);
  parameters.allocate(rt, {}, ModelUse::inference);

  EXPECT_EQ(parameters.state().size(), 1U);
  EXPECT_DEATH(parameters.gradients(), "no gradients");
  EXPECT_DEATH(parameters.update(rt, {}, 0, 1), "not updated");
}

}  // namespace
}  // namespace orrery
