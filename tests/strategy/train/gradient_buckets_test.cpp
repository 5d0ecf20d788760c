// Gradients in buckets: the same sums, sooner.
#include "core/strategy/train/gradient_buckets.hpp"

#include <gtest/gtest.h>

#include "core/runtime/check/check.hpp"
#include "core/strategy/make_strategy.hpp"
#include "core/strategy/train/record.hpp"
#include "tests/support/problems.hpp"

namespace orrery {
namespace {

using testing::execute;
using testing::losses;
using testing::make_problem;
using testing::random_dataset;

/// The buckets that leave in the first epoch.
struct Sent {
  std::vector<std::int64_t> floats;  ///< of each all-reduce of gradients
  std::vector<int> layers;           ///< whose backward pass began last when it left
};

Sent sent_by(const Program& program) {
  Sent sent;
  int layer = -1;
  Phase phase;
  for (const Step& step : program.steps) {
    if (const auto* mark = std::get_if<PhaseStep>(&step)) phase = mark->phase;
    if (!phase.in_epoch() || phase.epoch != 0) continue;
    if (phase.stage == Stage::backward) layer = phase.layer;
    const auto* submit = std::get_if<SubmitStep>(&step);
    if (submit == nullptr || phase.stage != Stage::synchronise) continue;
    if (const auto* sum = std::get_if<AllReduce>(&submit->op)) {
      sent.floats.push_back(sum->x.shape.size());
      sent.layers.push_back(layer);
    }
  }
  return sent;
}

Problem gcn(std::int64_t bucket_bytes) {
  Problem p = make_problem(random_dataset(50, 250, 12, 4, true), 2, "full_graph");
  p.model.layers = 3;
  p.model.hidden = 20;
  p.train.bucket_bytes = bucket_bytes;
  return p;
}
Sent sent_with(std::int64_t bucket_bytes) {
  const Problem p = gcn(bucket_bytes);
  return sent_by(record_training(*make_strategy(p), p, 1, {}).front());
}

// W1 12·20, b1 20, W2 20·20, b2 20, W3 20·4, b3 4. All gradients of a layer are there when its
// backward pass ends.
TEST(GradientBuckets, TakeWholeParametersFromTheLastOneDown) {
  using Floats = std::vector<std::int64_t>;

  EXPECT_EQ(sent_with(0).floats, (Floats{240 + 20 + 400 + 20 + 80 + 4}));
  EXPECT_EQ(sent_with(4).floats, (Floats{4, 80, 20, 400, 20, 240}));
  EXPECT_EQ(sent_with(4 * 100).floats, (Floats{4 + 80 + 20, 400, 20 + 240}));
  EXPECT_EQ(sent_with(4 * 500).floats, (Floats{4 + 80 + 20 + 400, 20 + 240}));
  EXPECT_EQ(sent_with(4 * 765).floats, (Floats{764}));
}

TEST(GradientBuckets, LeaveWhenTheBackwardPassOfTheirLowestLayerEnds) {
  EXPECT_EQ(sent_with(4).layers, (std::vector<int>{3, 3, 2, 2, 1, 1}));
  EXPECT_EQ(sent_with(4 * 100).layers, (std::vector<int>{2, 2, 1}));
}

// The encoder, two blocks with 2·(8 + 8·8) numbers and a bias of 8, the head's norm and weights.
TEST(GradientBuckets, OfResGcnLeaveBlockByBlock) {
  Problem p = gcn(4 * 8);
  p.model = {.type = ModelType::resgcn, .layers = 2, .hidden = 8};

  const Sent sent = sent_by(record_training(*make_strategy(p), p, 1, {}).front());

  // Head: b 4 + W 32; norm 8, 8. Block: b 8, W 64, W 64, norm 8, 8. Encoder: b 8, W 96.
  EXPECT_EQ(sent.floats,
            (std::vector<std::int64_t>{4 + 32, 8, 8, 8, 64, 64, 8, 8, 8, 64, 64, 8, 8, 8, 96}));
  EXPECT_EQ(sent.layers, (std::vector<int>{2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 0, 0}));
}

class Buckets : public ::testing::TestWithParam<testing::NamedStrategy> {};

/// Ranks that are threads add in the order of their numbers, whatever leaves together.
TEST_P(Buckets, GiveTheSameLossesToTheBit) {
  Problem p = make_problem(random_dataset(101, 700, 24, 5, true), 4, GetParam().config);
  p.model.layers = 3;
  p.train.epochs = 5;
  const auto together = losses(execute(p));

  for (const std::int64_t bytes : {1, 500, 1 << 20}) {
    p.train.bucket_bytes = bytes;
    EXPECT_EQ(losses(execute(p)), together) << bytes;
  }
  EXPECT_NO_THROW(check(record_training(*make_strategy(p), p, 2, {})));
}

/// Those that average gradients.
std::vector<testing::NamedStrategy> strategies_that_average_gradients() {
  auto all = testing::all_strategies();
  const auto inexact = testing::inexact_strategies();
  all.insert(all.end(), inexact.begin(), inexact.end());
  return all;
}
INSTANTIATE_TEST_SUITE_P(Strategies, Buckets,
                         ::testing::ValuesIn(strategies_that_average_gradients()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace orrery
