// A body that is not training: forward passes with parameters for inference, on every rank.
#include <gtest/gtest.h>

#include <map>

#include "core/model/network.hpp"
#include "core/runtime/check/check.hpp"
#include "core/runtime/recorder.hpp"
#include "core/runtime/recording.hpp"
#include "core/strategy/train/step_data.hpp"
#include "tests/support/problems.hpp"

namespace orrery {
namespace {

using testing::make_problem;
using testing::random_dataset;

/// Logits by global vertex; ranks write different ones.
using Logits = std::vector<std::vector<float>>;

/// As many passes over the whole graph as the problem has epochs.
class ForwardBody final : public Body {
 public:
  ForwardBody(const Strategy& strategy, const Problem& problem, ModelUse use,
              Logits* logits = nullptr)
      : strategy_(strategy), problem_(problem), use_(use), logits_(logits) {}

  int ranks() const override { return problem_.ranks(); }
  int epochs() const override { return problem_.train.epochs; }
  void run(Runtime& rt, RunObserver& observer, const RunControl& control = {}) const override {
    rt.phase({Stage::setup});
    const DataFacts facts = problem_.facts();
    StepData data(rt, strategy_.load(rt, strategy_.prepare(rt.rank())), problem_.model, facts);
    rt.wait(Lane::compute, rt.record(Lane::copy));
    const auto network = make_network(rt, problem_.model, problem_.train, FirstLayer::exact,
                                      facts.features, facts.classes, use_);
    network->attach(data.products(), data.features());
    rt.sync(rt.record(Lane::compute));
    for (int pass = 0; pass < control.epochs.value_or(epochs()); ++pass) {
      const Tensor out = network->forward(data.features(), Stage::forward, pass, std::nullopt);
      const auto saved = std::make_shared<std::vector<float>>();
      rt.wait(Lane::copy, rt.record(Lane::compute));
      rt.submit(Lane::copy, Save{out, saved});
      rt.phase({Stage::evaluate, pass});
      rt.sync(rt.record(Lane::copy));
      keep(*saved, data.products().vertices());
      if (!observer.epoch_done({pass, std::nullopt, std::nullopt})) break;
    }
  }

 private:
  void keep(const std::vector<float>& values, const IndexList& vertices) const {
    if (logits_ == nullptr || values.empty()) return;
    const auto& rows = *vertices.numbers();
    const std::size_t width = values.size() / rows.size();
    for (std::size_t i = 0; i < rows.size(); ++i)
      (*logits_)[orrery::at(rows[i])].assign(values.begin() + static_cast<long>(i * width),
                                             values.begin() + static_cast<long>((i + 1) * width));
  }

  const Strategy& strategy_;
  const Problem& problem_;
  ModelUse use_;
  Logits* logits_;
};

struct Case {
  std::string name;
  ModelType type;
  int recompute;
  bool layer_norm;
};

class ForwardPasses : public ::testing::TestWithParam<Case> {
 protected:
  static Problem problem(int ranks) {
    Problem p = make_problem(random_dataset(70, 300, 12, 5, true), ranks, StrategyType::full_graph);
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
  EXPECT_DEATH(parameters.update(rt, {}, 1), "not updated");
}

}  // namespace
}  // namespace orrery
