// Features of edges: the losses of one rank on several, what they take in memory, that attention learns what
// they tell, and who refuses them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/base/index.hpp"
#include "core/runtime/check/check.hpp"
#include "core/strategy/train/record.hpp"
#include "tests/support/typed.hpp"

namespace orrery {
namespace {

using testing::add_edge_features;
using testing::execute;
using ::testing::HasSubstr;
using testing::losses;
using testing::make_problem;
using testing::random_dataset;
using testing::refusal;

Problem with_gat(Problem problem) {
  problem.model.type = ModelType::gat;
  problem.model.heads = 4;
  problem.model.dropout = 0.2;
  problem.model.attention_dropout = 0.2;
  problem.train.epochs = 5;
  return problem;
}

void expect_equal(const std::vector<double>& got, const std::vector<double>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t e = 0; e < want.size(); ++e)
    EXPECT_NEAR(got[e], want[e], 1e-4 * want[e]) << "epoch " << e;
}

TEST(EdgeFeatures, GiveTheLossesOfOneRankOnSeveral) {
  for (const bool symmetric : {false, true}) {
    const auto data = random_dataset(61, 350, 12, 5, symmetric);
    const auto on = [&](int ranks, const std::string& kernels, bool features) {
      Problem p = with_gat(make_problem(data, ranks, "full_graph"));
      if (features) add_edge_features(p, 3);
      EXPECT_NO_THROW(check(record_training(*make_strategy(p), p, 1, {})));
      return losses(execute(p, kernels));
    };
    const auto want = on(1, "reference", true);
    EXPECT_GT(std::abs(want.back() - on(1, "reference", false).back()), 1e-3);
    for (const int ranks : {2, 3, 5})
      for (const char* kernels : {"reference", "cpu"}) expect_equal(on(ranks, kernels, true), want);
  }
}

TEST(EdgeFeatures, OfRelationsGiveTheLossesOfOneRankOnSeveral) {
  const auto data = testing::typed_dataset(70, 500, 11, 4, true);
  const auto on = [&](int ranks, const std::string& kernels) {
    Problem p = with_gat(testing::typed_problem(data, ranks, {}, 2, 8, 0, "random"));
    p.model.type = {"rgat"};
    add_edge_features(p, 2);
    return losses(execute(p, kernels));
  };
  const auto want = on(1, "reference");
  for (const int ranks : {2, 4})
    for (const char* kernels : {"reference", "cpu"}) expect_equal(on(ranks, kernels), want);
}

TEST(EdgeFeatures, TakeTheMemoryThatARecordingSays) {
  Problem p = with_gat(make_problem(random_dataset(61, 350, 12, 5, false), 3, "full_graph"));
  add_edge_features(p, 7);
  const auto programs = record_training(*make_strategy(p), p, p.train.epochs, {});

  const Outcome outcome = execute(p, "cpu");

  for (std::size_t rank = 0; rank < 3; ++rank)
    EXPECT_EQ(outcome.ranks[rank].peak_bytes, programs[rank].peak_bytes[0]) << rank;
}

// A vertex has its class from those of its in-neighbours whose edges have a 1. As many others, whose edges have
// a 0, are all of one other class. Its own features tell nothing.
TEST(EdgeFeatures, TellAttentionWhichNeighboursCount) {
  constexpr std::int64_t kVertices = 600, kClasses = 4, kOfEach = 6;
  Sequence draws(testing::kSeed, Purpose::edges, 5);
  auto data = std::make_shared<Dataset>(*random_dataset(kVertices, 1, 4, kClasses, false));
  const auto is_source = [](Vertex v) { return v < kVertices / 2; };
  std::vector<float> rows;
  for (Vertex v = 0; v < kVertices; ++v)
    for (std::int64_t c = 0; c < kClasses; ++c)
      rows.push_back(is_source(v) && data->labels.values[at(v)] == c ? 1.0F : 0.0F);
  data->features = dense_features(kVertices, kClasses, std::move(rows), "classes", true);
  EdgeList list;
  list.vertices = kVertices;
  std::map<std::pair<Vertex, Vertex>, bool> counts;
  for (Vertex v = kVertices / 2; v < kVertices; ++v) {
    data->split[at(v)] = v % 2 == 0 ? Split::train : Split::test;
    const auto of_v = data->labels.values[at(v)];
    const auto other = (of_v + 1 + static_cast<std::int32_t>(draws.below(kClasses - 1))) % kClasses;
    for (std::int64_t right = 0, wrong = 0; right < kOfEach || wrong < kOfEach;) {
      const auto u = static_cast<Vertex>(draws.below(kVertices / 2));
      const auto of_u = data->labels.values[at(u)];
      const bool same = of_u == of_v;
      if (!same && of_u != other) continue;
      if (counts.contains({v, u}) || (same ? right : wrong) == kOfEach) continue;
      ++(same ? right : wrong);
      counts[{v, u}] = same;
      list.source.push_back(u);
      list.destination.push_back(v);
    }
  }
  for (Vertex v = 0; v < kVertices / 2; ++v) data->split[at(v)] = Split::none;
  set_graph(*data, list);
  const auto accuracy = [&](bool features) {
    Problem p = with_gat(make_problem(data, 2, "full_graph"));
    p.model.layers = 1;
    p.model.output_heads = 4;
    p.model.dropout = p.model.attention_dropout = 0;
    p.train.learning_rate = 0.05;
    p.train.epochs = 60;
    if (features) {
      auto made = std::make_shared<EdgeFeatures>();
      made->row_of_entry.of_graph = {data->graph, {}};
      for (Vertex v = 0; v < kVertices; ++v)
        for (const Vertex u : data->graph->row(v))
          made->row_of_entry.of_graph.values.push_back(counts.at({v, u}) ? 1 : 0);
      made->rows = dense_features(3, 1, {0, 1, 0}, "which count", true);
      p.model.edge_features = 1;
      p.edge_features = made;
    }
    return *execute(p, "cpu").epochs.back().scores->test;
  };

  const double with = accuracy(true), without = accuracy(false);

  EXPECT_GT(with, 0.95);
  EXPECT_LT(without, 0.7) << "of two classes each is as likely";
}

TEST(EdgeFeatures, AreRefusedWhereNothingReadsThem) {
  Problem p = with_gat(make_problem(random_dataset(40, 200, 8, 3, true), 2, "full_graph"));
  add_edge_features(p, 3);
  EXPECT_EQ(refusal(p), "");
  Problem dot = p, gcn = p, staged = p;
  dot.model.attention = Attention::dot;
  gcn.model.type = ModelType::gcn;
  staged.strategy.type = "spmm_1d";
  EXPECT_THAT(refusal(dot), HasSubstr("model.attention to additive"));
  EXPECT_THAT(refusal(gcn), HasSubstr("dataset.edge_features: adds to the scores of edges"));
  EXPECT_THAT(refusal(staged),
              HasSubstr("dataset.edge_features: goes with strategy.type full_graph"));
}

}  // namespace
}  // namespace orrery
