// Features of edges: the losses of one rank on several, what they take in memory, that attention learns what
// they tell, and who refuses them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/base/index.hpp"
#include "core/runtime/check/check.hpp"
#include "core/strategy/edges/relation_structure.hpp"
#include "core/strategy/product/batch_products.hpp"
#include "core/strategy/train/record.hpp"
#include "tests/support/as_recorded.hpp"
#include "tests/support/one_step.hpp"
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

// ---- batches

Problem in_batches(const std::shared_ptr<const Dataset>& data, int ranks, bool by_relation,
                   const StrategyConfig& strategy) {
  Problem p =
      with_gat(by_relation ? testing::typed_problem(data, ranks, strategy, 2, 8, 0, "random")
                           : make_problem(data, ranks, strategy));
  if (by_relation) p.model.type = {"rgat"};
  p.strategy.first_layer = FirstLayer::recompute;
  add_edge_features(p, 3);
  return p;
}

TEST(EdgeFeatures, OfBatchesOfAllNeighboursHaveTheLossAndGradientOfTheWholeGraph) {
  for (const bool by_relation : {false, true}) {
    const auto data = by_relation ? testing::typed_dataset(70, 500, 11, 4, true)
                                  : random_dataset(61, 350, 12, 5, true);
    for (const int ranks : {1, 2, 3})
      for (const bool cooperative : {false, true}) {
        if (by_relation && cooperative) continue;
        MiniBatchSettings all{.batch = 1 << 20, .fanouts = {-1, -1}};
        all.cooperative = cooperative;
        StrategyConfig strategy = testing::batches_of(all);
        if (cooperative) strategy.ranks_per_server = ranks;
        SCOPED_TRACE(ranks);
        testing::expect_equal_steps(in_batches(data, ranks, by_relation, strategy),
                                    in_batches(data, ranks, by_relation, {}), 1e-6);
      }
  }
}

TEST(EdgeFeatures, OfDrawnNeighboursDoNotDependOnRanks) {
  for (const bool by_relation : {false, true}) {
    const auto data = by_relation ? testing::typed_dataset(80, 700, 9, 3, true)
                                  : random_dataset(90, 900, 9, 3, false);
    const auto on = [&](int ranks, const std::string& kernels, bool features) {
      Problem p = in_batches(
          data, ranks, by_relation,
          testing::batches_of({.batch = 12, .seeds = SeedsFrom::all, .fanouts = {4, 3}}));
      // Adam would make steps of one size from gradients that are rounding alone.
      p.train.optimizer = OptimizerType::sgd;
      p.train.learning_rate = 0.02;
      if (!features) {
        p.edge_features = nullptr;
        p.model.edge_features = 0;
      }
      return losses(execute(p, kernels));
    };
    const auto want = on(1, "reference", true);
    EXPECT_GT(std::abs(want.back() - on(1, "reference", false).back()), 1e-3);
    for (const int ranks : {1, 2, 3}) expect_equal(on(ranks, "cpu", true), want);
  }
}

/// Each entry of a drawn batch has the row of its edge, which is looked for one by one.
TEST(EdgeFeatures, AreThoseOfTheDrawnEdges) {
  for (const bool by_relation : {false, true}) {
    const auto data = by_relation ? testing::typed_dataset(80, 700, 9, 3, true)
                                  : random_dataset(90, 900, 9, 3, false);
    const Problem p =
        in_batches(data, 1, by_relation, testing::batches_of({.batch = 12, .fanouts = {4, 3}}));
    const SampledBatches batches(p);
    const SampledBatch batch = batches.batch(0, 0, 0);
    const auto layers = edges_of(p.model, batch, batches.relations(), p.edge_features);
    std::int64_t checked = 0;
    const auto expect_rows = [&](const EdgeStructure& edges, const EntryValues<Vertex>& rows,
                                 const auto& vertex_of_row, const auto& vertex_of_source) {
      const Csr& drawn = *std::get<std::shared_ptr<const Csr>>(edges.pattern);
      ASSERT_EQ(edges.features.size(), drawn.nnz());
      for (Vertex r = 0; r < drawn.rows; ++r)
        for (EdgeIndex e = drawn.offsets[at(r)]; e < drawn.offsets[at(r) + 1]; ++e) {
          const Vertex v = vertex_of_row(r), u = vertex_of_source(drawn.columns[at(e)]);
          const auto row = rows.graph->row(v);
          const auto place = std::find(row.begin(), row.end(), u) - row.begin();
          const bool added = u == v && place == std::ssize(row);
          const auto want = added ? static_cast<Vertex>(p.edge_features->rows->rows() - 1)
                                  : rows.values[at(rows.graph->offsets[at(v)] + place)];
          ASSERT_EQ((*edges.features.row_of_entry.numbers())[at(e)], want);
          ++checked;
        }
    };
    const auto vertex = [&](Vertex i) { return (*batch.vertices)[at(i)]; };
    for (const EdgeStructure& layer : layers) {
      if (!by_relation) {
        expect_rows(layer, p.edge_features->row_of_entry.of_graph, vertex, vertex);
        continue;
      }
      for (std::size_t k = 0; k < layer.relations->relations.size(); ++k) {
        const RelationMatrix& relation = layer.relations->relations[k];
        const auto source = [&](Vertex i) { return vertex((*relation.sources.numbers())[at(i)]); };
        expect_rows(*relation.edges, p.edge_features->row_of_entry.of_relations[k], source, source);
      }
    }
    EXPECT_GT(checked, 100);
  }
}

TEST(EdgeFeatures, OfBatchesAreRecordedAsTheyRunAndWithinTheBounds) {
  for (const bool by_relation : {false, true}) {
    const auto data = by_relation ? testing::typed_dataset(200, 3000, 12, 4, true)
                                  : random_dataset(120, 900, 12, 4, true);
    Problem p =
        in_batches(data, 2, by_relation, testing::batches_of({.batch = 8, .fanouts = {3, 3}}));
    p.train.epochs = 2;
    p.train.eval_every = 0;
    testing::expect_as_recorded(p);
    const auto strategy = make_strategy(p), largest = strategy->with_largest_batches();
    ASSERT_NE(largest, nullptr);
    const auto drawn = record_training(*strategy, p, 1, {}),
               bound = record_training(*largest, p, 1, {});
    p.edge_features = nullptr;
    p.model.edge_features = 0;
    const auto plain = record_training(*make_strategy(p), p, 1, {});
    EXPECT_NO_THROW(check(bound));
    for (std::size_t rank = 0; rank < drawn.size(); ++rank) {
      EXPECT_LE(drawn[rank].peak_bytes[0], bound[rank].peak_bytes[0]);
      EXPECT_LE(bound[rank].peak_bytes[0], 6 * drawn[rank].peak_bytes[0]) << "says something";
      EXPECT_GT(drawn[rank].peak_bytes[0], plain[rank].peak_bytes[0]);
    }
    const auto sizes = strategy->batch_sizes();
    EXPECT_LE(sizes->host_bytes.most, sizes->host_bytes.bound);
  }
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
  const auto accuracy = [&](bool features, const StrategyConfig& strategy = {}) {
    Problem p = with_gat(make_problem(data, 2, strategy));
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

  EXPECT_GT(accuracy(true, testing::batches_of({.batch = 20, .fanouts = {8}})), 0.9);
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
  EXPECT_THAT(
      refusal(staged),
      HasSubstr("dataset.edge_features: goes with strategy.type full_graph and mini_batch"));
}

}  // namespace
}  // namespace orrery
