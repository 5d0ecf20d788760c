// Batches with weights of edges: those of all neighbours are the whole graph, drawn ones are means
// by weight or were drawn by weight, on any number of ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/index.hpp"
#include "core/model/layer_type.hpp"
#include "core/runtime/check/check.hpp"
#include "core/strategy/edges/relation_structure.hpp"
#include "core/strategy/product/batch_products.hpp"
#include "core/strategy/train/record.hpp"
#include "tests/support/as_recorded.hpp"
#include "tests/support/dense_gcn.hpp"
#include "tests/support/one_step.hpp"
#include "tests/support/typed.hpp"

namespace orrery {
namespace {

using testing::add_edge_weights;
using testing::batches_of;
using testing::execute;
using ::testing::HasSubstr;
using testing::losses;
using testing::make_problem;
using testing::Matrix;
using testing::random_dataset;
using testing::refusal;
using testing::typed_dataset;
using testing::typed_problem;

MiniBatchSettings sampled(BatchSampler sampler, std::int64_t batch, std::vector<int> fanouts) {
  return {
      .batch = batch, .seeds = SeedsFrom::all, .sampler = sampler, .fanouts = std::move(fanouts)};
}

Problem weighted(std::shared_ptr<const Dataset> data, int ranks, const StrategyConfig& strategy,
                 ModelType type) {
  Problem p = make_problem(std::move(data), ranks, strategy);
  p.model.type = type;
  add_edge_weights(p);
  return p;
}

/// The weight of the edge from u to v, looked for one by one.
double weight_of(const EntryValues<float>& weights, Vertex v, Vertex u) {
  const Csr& graph = *weights.graph;
  for (EdgeIndex e = graph.offsets[at(v)]; e < graph.offsets[at(v) + 1]; ++e)
    if (graph.columns[at(e)] == u) return double{weights.values[at(e)]};
  ADD_FAILURE() << "no edge from " << u << " to " << v;
  return 0;
}

// ---- all neighbours

TEST(WeightedBatches, OfAllNeighboursHaveTheLossAndGradientOfTheWholeGraph) {
  for (const ModelType type : {ModelType::gcn, ModelType::sage, ModelType::sgc})
    for (const bool symmetric : {true, false}) {
      const auto data = random_dataset(90, 500, 12, 4, symmetric);
      for (const int ranks : {1, 2, 3}) {
        StrategyConfig whole;
        whole.first_layer = FirstLayer::recompute;
        const Problem want = weighted(data, ranks, whole, type);
        MiniBatchSettings cooperative = sampled(BatchSampler::neighbour, 1 << 20, {-1, -1});
        cooperative.cooperative = true;
        StrategyConfig together = batches_of(cooperative);
        together.ranks_per_server = ranks;
        for (const StrategyConfig& strategy :
             {batches_of(sampled(BatchSampler::neighbour, 1 << 20, {-1, -1})),
              batches_of(sampled(BatchSampler::labor, 1 << 20, {200, 200})),
              batches_of(sampled(BatchSampler::all, 1 << 20, {})), together}) {
          SCOPED_TRACE(ranks);
          testing::expect_equal_steps(weighted(data, ranks, strategy, type), want, 1e-6);
        }
      }
    }
}

TEST(WeightedBatches, OfAllNeighboursByRelationAreTheWholeGraph) {
  const auto data = typed_dataset(60, 400, 9, 3, true);
  for (const int ranks : {1, 2, 3})
    for (const bool by_relation : {false, true}) {
      MiniBatchSettings all = sampled(BatchSampler::neighbour, 1 << 20, {-1, -1});
      all.fanouts_by_relation = by_relation;
      Problem batches = typed_problem(data, ranks, batches_of(all)),
              whole = typed_problem(data, ranks);
      add_edge_weights(batches);
      add_edge_weights(whole);
      testing::expect_equal_steps(batches, whole, 1e-6);
    }
}

// ---- some of them

/// Rows of GraphSAGE are means of what they have, by weights unless it was drawn by these.
TEST(WeightedBatches, HaveMeansByWeightOrOfWhatWasDrawnByWeight) {
  const auto data = random_dataset(80, 900, 6, 3, true);
  MiniBatchSettings clusters;
  clusters.sampler = BatchSampler::cluster;
  clusters.clusters = 4;
  clusters.together = 2;
  for (const MiniBatchSettings& settings :
       {sampled(BatchSampler::neighbour, 30, {5, 4}), sampled(BatchSampler::labor, 30, {5, 4}),
        sampled(BatchSampler::weighted, 30, {5, 4}), clusters}) {
    const Problem p = weighted(data, 1, batches_of(settings), ModelType::sage);
    const bool by_weight = settings.sampler == BatchSampler::weighted;
    const SampledBatch batch = SampledBatches(p).batch(0, 1, 0);
    std::int64_t some = 0;
    for (const SampledBatch::Layer& layer : batch.layers)
      for (std::int64_t r = 0; r < layer.forward.rows(); ++r) {
        const Vertex v = (*batch.vertices)[at(r)];
        std::vector<double> weights;
        for (const Vertex c : layer.forward.csr().row(r))
          weights.push_back(weight_of(p.edge_weights->of_graph, v, (*batch.vertices)[at(c)]));
        some += std::ssize(weights) < p.data->graph->degree(v);
        const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
        for (std::size_t e = 0; e < weights.size(); ++e) {
          const double want = by_weight  ? 1 / static_cast<double>(weights.size())
                              : sum == 0 ? 0
                                         : weights[e] / sum;
          EXPECT_NEAR(layer.forward.row_values(r)[e], want, 1e-6);
          EXPECT_TRUE(!by_weight || weights[e] > 0) << "an edge that weighs nothing was drawn";
        }
      }
    EXPECT_GT(some, 50) << "all neighbours were drawn";
  }
}

TEST(WeightedBatches, HaveMeansByWeightOfEachRelation) {
  const auto data = typed_dataset(60, 900, 4, 2, true);
  MiniBatchSettings clusters;
  clusters.sampler = BatchSampler::cluster;
  clusters.clusters = 3;
  clusters.together = 2;
  MiniBatchSettings of_each = sampled(BatchSampler::neighbour, 9, {3, 2});
  of_each.fanouts_by_relation = true;
  for (const MiniBatchSettings& settings : {sampled(BatchSampler::neighbour, 9, {6, 5}), of_each,
                                            sampled(BatchSampler::labor, 9, {6, 5}), clusters}) {
    Problem p = typed_problem(data, 1, batches_of(settings));
    add_edge_weights(p);
    const SampledBatches batches(p);
    const SampledBatch batch = batches.batch(0, 1, 0);
    std::int64_t edges = 0, uneven = 0;
    for (const EdgeStructure& of_layer : edges_of(p.model, batch, batches.relations()))
      for (std::size_t k = 0; k < of_layer.relations->relations.size(); ++k) {
        const RelationMatrix& relation = of_layer.relations->relations[k];
        std::int64_t r = 0;
        for (const Products::Rows& run : of_layer.relations->types[at(relation.destination)])
          for (std::int64_t i = run.first; i < run.first + run.count; ++i, ++r) {
            std::vector<double> weights;
            for (const Vertex c : relation.matrix.csr().row(r))
              weights.push_back(weight_of(p.edge_weights->of_relations[k], (*batch.vertices)[at(i)],
                                          (*batch.vertices)[at(c)]));
            const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
            for (std::size_t e = 0; e < weights.size(); ++e) {
              EXPECT_NEAR(relation.matrix.row_values(r)[e], sum == 0 ? 0 : weights[e] / sum, 1e-6);
              ++edges;
              uneven += weights[e] != weights[0];
            }
          }
      }
    EXPECT_GT(edges, 60);
    EXPECT_GT(uneven, 20) << "means that weights do not change";
  }
}

/// The matrices of every layer of an epoch's one batch, from the sampler's draws and the equation.
class DrawnProducts final : public testing::DenseProducts {
 public:
  explicit DrawnProducts(const Problem& p) : p_(p) {
    EdgeList edges;
    edges.vertices = p.data->vertices();
    for (Vertex v = 0; v < edges.vertices; ++v) {
      if (p.data->split[at(v)] == Split::train) seeds_.push_back(v);
      loops_.push_back(1);
      for (const Vertex u : p.data->graph->row(v))
        if (u == v) {
          loops_.back() = weight_of(p.edge_weights->of_graph, v, v);
        } else {
          edges.source.push_back(u);
          edges.destination.push_back(v);
        }
    }
    graph_ = build_csr(edges);
    for (Vertex v = 0; v < graph_.rows; ++v) {
      sums_.push_back(0);
      for (const Vertex u : graph_.row(v)) {
        weights_.push_back(static_cast<float>(weight_of(p.edge_weights->of_graph, v, u)));
        sums_.back() += double{weights_.back()};
      }
    }
  }
  void begin(int epoch) override {
    const MiniBatchSettings settings = mini_batch_of(p_.strategy);
    const bool by_weight = settings.sampler == BatchSampler::weighted;
    const NeighbourSampler sampler(
        graph_,
        {settings.fanouts, by_weight          ? NeighbourRule::weighted
                           : settings.replace ? NeighbourRule::replacement
                                              : NeighbourRule::uniform},
        by_weight ? std::span<const float>(weights_) : std::span<const float>{});
    auto scratch = sampler.scratch(graph_.rows);
    const MessageFlow flow =
        sampler.sample(seeds_, {p_.train.seed, static_cast<std::uint32_t>(epoch), 0}, scratch);
    const auto scale = [&](Vertex v, Vertex u) {
      const double own = sums_[at(v)] + loops_[at(v)], other = sums_[at(u)] + loops_[at(u)];
      return p_.data->symmetric ? 1 / std::sqrt(own * other) : 1 / own;
    };
    const auto n = at(graph_.rows);
    a_.assign(flow.blocks.size(), testing::zeros(n, n));
    for (std::size_t l = 0; l < flow.blocks.size(); ++l)
      for (std::int64_t r = 0; r < flow.blocks[l].rows; ++r) {
        const Vertex v = flow.vertices[at(r)];
        a_[l][at(v)][at(v)] = loops_[at(v)] * scale(v, v);
        std::vector<std::pair<Vertex, double>> drawn;
        double all = 0;
        for (const Vertex column : flow.blocks[l].row(r)) {
          const Vertex u = flow.vertices[at(column)];
          drawn.emplace_back(u, by_weight ? 1 : weight_of(p_.edge_weights->of_graph, v, u));
          all += drawn.back().second;
        }
        for (const auto& [u, counts] : drawn)
          if (all > 0) a_[l][at(v)][at(u)] += scale(v, u) * sums_[at(v)] * counts / all;
      }
  }
  Matrix aggregate(int layer, const Matrix& x) override {
    return testing::product(a_[at(layer - 1)], x);
  }
  Matrix adjoint(int layer, const Matrix& dy) override {
    return testing::product(testing::transposed(a_[at(layer - 1)]), dy);
  }

 private:
  const Problem& p_;
  std::vector<Vertex> seeds_;
  Csr graph_;  ///< without self-loops
  std::vector<float> weights_;
  std::vector<double> sums_;   ///< of the weights of each row, without
  std::vector<double> loops_;  ///< the weight of its self-loop
  std::vector<Matrix> a_;
};

TEST(WeightedBatches, LearnWhatDenseLoopsWithTheDrawnEdgesLearn) {
  for (const bool symmetric : {true, false})
    for (const BatchSampler sampler : {BatchSampler::neighbour, BatchSampler::weighted})
      for (const bool replace : {false, true}) {
        if (replace && sampler == BatchSampler::weighted) continue;
        for (const int ranks : {1, 3}) {
          MiniBatchSettings settings = sampled(sampler, 1 << 20, {3, 2});
          settings.replace = replace;
          Problem p = weighted(random_dataset(40, 260, 6, 3, symmetric), ranks,
                               batches_of(settings), ModelType::gcn);
          p.model.hidden = 10;
          p.model.bias = false;
          p.model.dropout = 0;
          p.train.optimizer = OptimizerType::sgd;
          p.train.learning_rate = 0.5;
          p.train.epochs = 8;
          DrawnProducts products(p);
          testing::expect_dense_losses(p, products);
        }
      }
}

// ---- several ranks, and runs that go on

TEST(WeightedBatches, LossesAreThoseOfOneRankWithAllSeeds) {
  const auto data = random_dataset(150, 1200, 12, 4, false);
  const auto typed = typed_dataset(80, 700, 9, 3, true);
  for (const char* type : {"gcn", "sage", "rgcn"})
    for (const BatchSampler sampler :
         {BatchSampler::neighbour, BatchSampler::labor, BatchSampler::weighted}) {
      const bool by_relation = type == std::string("rgcn");
      if (by_relation && sampler == BatchSampler::weighted) continue;
      const auto on = [&](int ranks, bool cooperative) {
        MiniBatchSettings settings = sampled(sampler, 20, {4, 3});  // the last step has fewer
        settings.cooperative = cooperative;
        StrategyConfig strategy = batches_of(settings);
        if (cooperative) strategy.ranks_per_server = 2;
        Problem p = by_relation ? typed_problem(typed, ranks, strategy)
                                : make_problem(data, ranks, strategy);
        p.model.type = model_type(type);
        add_edge_weights(p);
        p.train.epochs = 4;
        return losses(execute(p, sampler == BatchSampler::labor ? "cpu" : "reference"));
      };
      const auto want = on(1, false);
      const auto expect_same = [&](const std::vector<double>& got) {
        ASSERT_EQ(got.size(), want.size());
        for (std::size_t e = 0; e < want.size(); ++e)
          EXPECT_NEAR(got[e], want[e], 1e-5 * want[e]) << type << ", epoch " << e;
      };
      EXPECT_LT(want.back(), want.front());
      for (const int ranks : {2, 3, 4}) expect_same(on(ranks, false));
      if (!by_relation) expect_same(on(4, true));
    }
}

TEST(WeightedBatches, ARunThatGoesOnDrawsWhatItWouldHaveDrawn) {
  const auto data = random_dataset(120, 700, 12, 4, true);
  for (const BatchSampler sampler : {BatchSampler::neighbour, BatchSampler::weighted}) {
    const auto on = [&](int ranks) {
      Problem p = weighted(data, ranks, batches_of(sampled(sampler, 12, {4, 3})), ModelType::sage);
      p.train.epochs = 4;
      return p;
    };
    Problem p = on(2);
    std::vector<std::shared_ptr<const Checkpoint>> kept;
    ExecuteOptions options;
    options.kernels = "reference";
    options.control.checkpoint_every = 4;
    options.control.checkpoint_steps = 2;
    options.keep = [&](const Checkpoint& c) {
      kept.push_back(std::make_shared<const Checkpoint>(c));
    };
    const auto whole = losses(execute_on_threads(TrainingBody(*make_strategy(p), p), options, {}));
    ASSERT_GT(kept.size(), 4U);
    options.keep = [](const Checkpoint&) {};
    for (const auto& from : {kept[1], kept[4]})
      for (const int ranks : {2, 3}) {
        options.control.resume = from;
        p = on(ranks);
        const auto rest =
            losses(execute_on_threads(TrainingBody(*make_strategy(p), p), options, {}));
        ASSERT_EQ(rest.size(), at(4 - from->epochs));
        for (std::size_t e = 0; e < rest.size(); ++e) {
          const double want = whole[e + at(from->epochs)];
          EXPECT_NEAR(rest[e], want, ranks == 2 ? 0 : 1e-5 * want);
        }
      }
  }
}

// ---- what is told before

TEST(WeightedBatches, AreRecordedAsTheyRunAndWithinTheBounds) {
  const auto data = random_dataset(120, 900, 12, 4, true);
  const auto typed = typed_dataset(200, 3000, 12, 4, true);
  for (const char* type : {"sage", "rgcn"})
    for (const BatchSampler sampler : {BatchSampler::neighbour, BatchSampler::weighted}) {
      const bool by_relation = type == std::string("rgcn");
      if (by_relation && sampler == BatchSampler::weighted) continue;
      const StrategyConfig strategy = batches_of(sampled(sampler, 12, {4, 3}));
      Problem p = by_relation ? typed_problem(typed, 2, strategy) : make_problem(data, 2, strategy);
      p.model.type = model_type(type);
      p.train.epochs = 2;
      p.train.eval_every = 0;
      const Problem plain = p;
      add_edge_weights(p);
      testing::expect_as_recorded(p);
      const auto made = make_strategy(p), largest = made->with_largest_batches();
      ASSERT_NE(largest, nullptr);
      const auto drawn = record_training(*made, p, 1, {}),
                 bound = record_training(*largest, p, 1, {});
      for (std::size_t rank = 0; rank < drawn.size(); ++rank) {
        EXPECT_LE(drawn[rank].peak_bytes[0], bound[rank].peak_bytes[0]);
      }
      if (sampler == BatchSampler::neighbour) {
        const auto alike = record_training(*make_strategy(plain), plain, 1, {});
        for (std::size_t rank = 0; rank < drawn.size(); ++rank)
          EXPECT_EQ(drawn[rank].peak_bytes[0], alike[rank].peak_bytes[0])
              << "a weight takes the place of a value of 1/d";
      }
      const auto sizes = made->batch_sizes();
      EXPECT_LE(sizes->host_bytes.most, sizes->host_bytes.bound);
    }
}

// ---- what cannot be

TEST(WeightedBatches, SayWhatTheyCannotHonour) {
  const auto data = random_dataset(60, 400, 8, 3, true);
  Problem p =
      weighted(data, 2, batches_of(sampled(BatchSampler::weighted, 10, {4, 3})), ModelType::sage);
  EXPECT_EQ(refusal(p), "");
  EXPECT_EQ(*inexactness(p.strategy),
            "neighbours drawn by weight: gradients are those of their plain means");
  Problem gat = p, saint = p;
  p.edge_weights = nullptr;
  EXPECT_EQ(refusal(p),
            "dataset.edge_weights: is what strategy.sampler weighted draws by: set it "
            "to true, or use another sampler");
  gat.model.type = ModelType::gat;
  EXPECT_THAT(refusal(gat), HasSubstr("dataset.edge_weights: is of models that multiply by A"));
  saint.strategy = batches_of({.batch = 5, .sampler = BatchSampler::saint_walk});
  EXPECT_THAT(refusal(saint), HasSubstr("strategy.sampler: saint-* counts how likely an edge is"));
  Problem typed = typed_problem(typed_dataset(60, 400, 8, 3, true), 2, gat.strategy);
  add_edge_weights(typed);
  EXPECT_THAT(refusal(typed), HasSubstr("strategy.sampler: \"weighted\" draws among all "
                                        "neighbours of a vertex, and model.type rgcn"));
  typed.model.type = {"sage"};
  EXPECT_EQ(refusal(typed), "") << "a model that sees no relations";
}

}  // namespace
}  // namespace orrery
