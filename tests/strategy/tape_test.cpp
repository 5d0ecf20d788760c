// The memory of a framework with a tape, against numbers counted by hand.
#include "core/model/network/tape.hpp"

#include <gtest/gtest.h>

#include "core/base/error.hpp"
#include "core/runtime/summary.hpp"
#include "core/strategy/make_strategy.hpp"
#include "core/strategy/train/record.hpp"
#include "tests/support/problems.hpp"

namespace orrery {
namespace {

using testing::make_problem;
using testing::random_dataset;

/// A chain 0 - 1 - 2 - 3 - 4 - 5 on two ranks of three vertices: each receives one row and sends
/// one.
Problem chain(ModelType type, int layers, double dropout) {
  auto data = std::make_shared<Dataset>(*random_dataset(6, 1, 5, 2, true));
  EdgeList edges{6, {0, 1, 2, 3, 4}, {1, 2, 3, 4, 5}};
  data->graph = std::make_shared<const Csr>(symmetrise(build_csr(edges)));
  data->split.assign(6, Split::train);
  Problem p = make_problem(std::move(data), 2, "full_graph", "block");
  p.strategy.first_layer = FirstLayer::recompute;
  p.strategy.memory = Memory::autograd;
  p.model = {.type = type, .layers = layers, .hidden = 4, .dropout = dropout};
  p.train.epochs = 1;
  p.train.eval_every = 0;
  return p;
}

/// What is saved and what is received.
std::int64_t tape_bytes(const Problem& p) {
  const auto by_class = record_training(*make_strategy(p), p, 1, {}).front().peak_by_class;
  const auto received = by_class.find("tape halo");
  return by_class.at("tape") + (received == by_class.end() ? 0 : received->second);
}

// Widths 5 → 4 → 2; n = m = 3, h = s = 1. Layer 1: the input with halo rows (3 + 1)·5, the
// aggregated input 3·5. Layer 2: 4·4 and 3·4. Received: 2·5 and 2·4. Then log-softmax 3·2, and
// two gradients of the largest operand, 4·5.
TEST(TapeTest, OfGraphSage) {
  EXPECT_EQ(tape_bytes(chain(ModelType::sage, 2, 0)),
            4 * ((20 + 15) + (16 + 12) + 10 + 8 + 6 + 2 * 20));
}

// Buffers to receive into have a class of their own, as no gradient needs what is in them.
TEST(TapeTest, TellsWhatIsReceivedFromWhatIsSaved) {
  const Problem p = chain(ModelType::sage, 2, 0);

  const auto by_class = record_training(*make_strategy(p), p, 1, {}).front().peak_by_class;

  EXPECT_EQ(by_class.at("tape halo"), 4 * (10 + 8));
}

// Dropout adds its result (the first layer's 3·5 are our own) and a byte of mask an element, here
// multiples of 4.
TEST(TapeTest, OfGraphSageWithDropout) {
  EXPECT_EQ(tape_bytes(chain(ModelType::sage, 2, 0.5)) - tape_bytes(chain(ModelType::sage, 2, 0)),
            (4 * (20 - 15) + 20) + (4 * 16 + 16));
}

// Rows that are transformed first are aggregated without being kept.
TEST(TapeTest, OfGcnHasNoAggregatedInput) {
  EXPECT_EQ(tape_bytes(chain(ModelType::sage, 2, 0)) - tape_bytes(chain(ModelType::gcn, 2, 0)),
            4 * (15 + 12));
}

// If aggregation comes first, the aggregated inputs, 3·5 and 3·4, are ours.
TEST(TapeTest, OfGraphSageThatAggregatesFirst) {
  Problem p = chain(ModelType::sage, 2, 0);
  p.model.order = LayerOrder::aggregate_first;

  EXPECT_EQ(tape_bytes(chain(ModelType::sage, 2, 0)) - tape_bytes(p), 4 * (15 + 12));
}

// Widths 5 → 4 and then 4 → 2 without neighbours: dropout's result 3·4 and its mask 12 bytes of the
// dense layer, nothing to receive; a second such layer of 4 → 4 has as much again.
TEST(TapeTest, OfDenseLayers) {
  Problem one = chain(ModelType::gcn, 1, 0.5), two = one;
  one.model.dense_layers = 1;
  two.model.dense_layers = 2;

  EXPECT_EQ(tape_bytes(one),
            4 * 20 + (4 * (20 - 15) + 20) + 4 * 10 + (4 * 12 + 12) + 4 * 6 + 4 * 2 * 20);
  EXPECT_EQ(tape_bytes(two) - tape_bytes(one), 4 * 12 + 12);
}

// Widths of 4; a block: halo rows of the norm's input 1·4, mean and deviation of 4 rows less our 3,
// ReLU 4·4, dropout 4·4 less our 3·4, its mask 16 bytes, the aggregated input 3·4, and 2·4 to
// receive into. After: log-softmax 3·2, the head's mean 3, ReLU's result 3·4 and mask 12 bytes, two
// gradients of 4·4.
TEST(TapeTest, OfResGcnByBlocks) {
  const std::int64_t block = 4 * (4 + (8 - 3) + 16 + (16 - 12) + 12 + 8) + 16;
  const std::int64_t after = 4 * (6 + 3 + 12 + 2 * 16) + 12;

  EXPECT_EQ(tape_bytes(chain(ModelType::resgcn, 1, 0.5)), block + after);
  EXPECT_EQ(tape_bytes(chain(ModelType::resgcn, 5, 0.5)), 5 * block + after);
}

TEST(TapeTest, OfOneSegmentWhereTheOthersAreComputedAgain) {
  Problem p = chain(ModelType::resgcn, 6, 0.5);
  const std::int64_t all = tape_bytes(p);
  p.model.recompute = 2;

  const std::int64_t saved_by_block = 4 * (4 + (8 - 3) + 16 + (16 - 12) + 12) + 16;
  EXPECT_EQ(tape_bytes(p), all - 4 * saved_by_block);
}

TEST(TapeTest, IsWhatRunsOutOfMemoryFirst) {
  Problem p = chain(ModelType::resgcn, 5, 0.5);
  p.strategy.memory = Memory::lean;
  const std::int64_t lean = record_training(*make_strategy(p), p, 1, {}).front().peak_bytes[0];
  Capacities little;
  little.bytes[static_cast<std::size_t>(Space::device)] = lean;

  EXPECT_NO_THROW(record_training(*make_strategy(p), p, 1, little));
  p.strategy.memory = Memory::autograd;
  EXPECT_THROW(record_training(*make_strategy(p), p, 1, little), OutOfMemory);
}

TEST(TapeTest, ChangesNothingThatIsLearned) {
  Problem p = chain(ModelType::resgcn, 2, 0.5);
  p.train.epochs = 4;
  const auto held = testing::execute(p);
  p.strategy.memory = Memory::lean;
  const auto lean = testing::execute(p);

  for (std::size_t e = 0; e < 4; ++e) EXPECT_EQ(held.epochs[e].loss, lean.epochs[e].loss);
}

}  // namespace
}  // namespace orrery
