// Links by one relation of a typed graph: what is held out, what negatives are, what batches may see, the
// losses of one rank on several, and that leaking pays while the default does not leak.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "core/base/error.hpp"
#include "core/model/layer_type.hpp"
#include "core/sample/links/held_out_links.hpp"
#include "core/strategy/product/batch_products.hpp"
#include "core/strategy/train/link_scores.hpp"
#include "tests/support/gradients.hpp"
#include "tests/support/typed.hpp"

namespace orrery {
namespace {

using testing::execute;
using testing::losses;
using testing::typed_dataset;

bool has_edge(const Csr& graph, Vertex u, Vertex v) {
  const auto row = graph.row(v);
  return std::binary_search(row.begin(), row.end(), u);
}

LinkConfig by(const std::string& relation) {
  LinkConfig config;
  config.relation = relation;
  return config;
}

Problem link_problem(const std::shared_ptr<const Dataset>& data, int ranks,
                     const StrategyConfig& strategy, const LinkConfig& config,
                     const std::string& model = "rgcn") {
  auto [trained, links] = hold_out_links(*data, config, testing::kSeed);
  Problem problem =
      testing::typed_problem(std::make_shared<const Dataset>(std::move(trained)), ranks, strategy);
  problem.model.type = model_type(model);
  problem.model.heads = 4;
  if (model == "sage") problem.model.relations = problem.model.types = {};
  problem.links = std::move(links);
  problem.train.epochs = 4;
  return problem;
}

StrategyConfig batches(std::int64_t batch, std::vector<int> fanouts,
                       SeedsFrom seeds = SeedsFrom::all) {
  MiniBatchSettings settings;
  settings.batch = batch;
  settings.fanouts = std::move(fanouts);
  settings.fanouts_by_relation = true;
  settings.seeds = seeds;
  return testing::batches_of(settings);
}

TEST(TypedLinks, AreHeldOutOfTheirRelationAndItsReverse) {
  const auto data = typed_dataset(200, 4000, 4, 2, true);
  const TypedGraph& whole = *data->typed;
  for (const char* relation : {"b.writes.a", "a.rev_writes.b", "a.likes.a"}) {
    LinkConfig config = by(relation);
    config.held_out_negatives = 3;
    config.held_out_corrupted = Corrupted::both;
    const auto [trained, links] = hold_out_links(*data, config, 3);
    ASSERT_NE(trained.typed, nullptr);
    const TypedGraph& left = *trained.typed;
    const Relation &before = whole.relations[at(links->relation)],
                   &after = left.relations[at(links->relation)],
                   &reverse = left.relations[at(links->reverse)];
    EXPECT_EQ(before.text(), relation);
    EXPECT_EQ(reverse.source, before.destination);
    std::int64_t all = 0, others = 0;
    for (Vertex v = 0; v < 200; ++v)
      for (const Vertex u : before.graph->row(v)) all += u != v;
    EXPECT_EQ(std::ssize(links->train) + std::ssize(links->validation.links) +
                  std::ssize(links->test.links),
              all);
    for (const auto* list : {&links->train, &links->validation.links, &links->test.links})
      for (const VertexPair& link : *list) {
        EXPECT_TRUE(has_edge(*before.graph, link.source, link.destination));
        EXPECT_EQ(has_edge(*after.graph, link.source, link.destination), list == &links->train);
        EXPECT_EQ(has_edge(*reverse.graph, link.destination, link.source), list == &links->train);
      }
    for (std::size_t r = 0; r < left.relations.size(); ++r)
      if (int(r) != links->relation && int(r) != links->reverse) {
        EXPECT_EQ(*left.relations[r].graph, *whole.relations[r].graph);
        others += left.relations[r].graph->nnz();
      }
    EXPECT_GT(others, 0);
    EXPECT_EQ(*trained.graph, union_of(left));
    for (const ScoredLinks* held_out : {&links->validation, &links->test})
      for (const VertexPair& pair : held_out->negatives) {
        EXPECT_TRUE(whole.type(before.source)->has(pair.source));
        EXPECT_TRUE(whole.type(before.destination)->has(pair.destination));
        EXPECT_FALSE(has_edge(*before.graph, pair.source, pair.destination));
      }
  }
}

TEST(TypedLinks, ThatAreTrainedOnLeaveTheGraphWhereNoneMayBeAggregated) {
  const auto data = typed_dataset(400, 3000, 4, 2, true);
  LinkConfig config = by("b.writes.a");
  const auto [kept, aggregated] = hold_out_links(*data, config, 3);
  config.exclude = ExcludedLinks::training;

  const auto [trained, links] = hold_out_links(*data, config, 3);

  EXPECT_EQ(links->train, aggregated->train);
  EXPECT_EQ(links->test.negatives, aggregated->test.negatives);
  EXPECT_EQ(*links->edges, *kept.typed->relations[at(links->relation)].graph);
  const TypedGraph& left = *trained.typed;
  EXPECT_EQ(left.relations[at(links->relation)].graph->nnz(), 0);
  EXPECT_EQ(left.relations[at(links->reverse)].graph->nnz(), 0);
  EXPECT_GT(trained.graph->nnz(), 0);
  EXPECT_EQ(*trained.graph, union_of(left));
  // Negatives avoid them all the same.
  const auto negatives = [&](ExcludedLinks exclude) {
    config.exclude = exclude;
    const Problem p = link_problem(data, 2, batches(40, {3, 3}), config);
    return SampledBatches(p).links()->of(0, 0, 1).negatives;
  };
  EXPECT_EQ(negatives(ExcludedLinks::training), negatives(ExcludedLinks::none));
}

TEST(TypedLinks, AllLeaveOnlyWhereOtherEdgesAreLeft) {
  LinkConfig config;
  config.exclude = ExcludedLinks::training;
  try {
    hold_out_links(*typed_dataset(60, 600, 4, 2, true), config, 1);
    FAIL() << "there is nothing to aggregate";
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("links.relation"), std::string::npos) << error.what();
  }
}

TEST(TypedLinks, OfASymmetricRelationWithoutAReverseAreOneForBothDirections) {
  auto data = std::make_shared<Dataset>(*typed_dataset(60, 600, 4, 2, false));
  TypedGraph typed;
  typed.types = data->typed->types;
  typed.relations = {data->typed->relations.front()};  // "likes" among a
  typed.relations[0].graph = std::make_shared<const Csr>(symmetrise(*typed.relations[0].graph));
  set_typed_graph(*data, std::move(typed));

  const auto [trained, links] = hold_out_links(*data, by("a.likes.a"), 3);

  const Csr& left = *trained.typed->relations[0].graph;
  EXPECT_EQ(links->reverse, -1);
  EXPECT_TRUE(is_symmetric(left));
  for (const VertexPair& link : links->test.links) {
    EXPECT_FALSE(has_edge(left, link.source, link.destination));
    EXPECT_FALSE(has_edge(left, link.destination, link.source));
  }
}

TEST(TypedLinks, ABatchDoesNotSeeTheLinksThatItPredictsInAnyDirection) {
  const auto data = typed_dataset(120, 2400, 4, 2, true);
  for (const char* model : {"rgcn", "rgat", "sage"})
    for (const ExcludedLinks exclude :
         {ExcludedLinks::batch, ExcludedLinks::none, ExcludedLinks::training}) {
      // Among the other relations, without types, may be an edge between the same two vertices.
      if (exclude == ExcludedLinks::training && model == std::string("sage")) continue;
      LinkConfig config = by("b.writes.a");
      config.exclude = exclude;
      StrategyConfig strategy = batches(40, {kAllNeighbours, kAllNeighbours});
      if (std::string(model) == "sage") {
        auto settings = std::any_cast<MiniBatchSettings>(strategy.own);
        settings.fanouts_by_relation = false;
        strategy.own = settings;
      }
      const Problem p = link_problem(data, 2, strategy, config, model);
      const SampledBatches sampled(p);
      std::int64_t seen = 0;
      for (int step = 0; step < 3; ++step) {
        std::set<std::pair<Vertex, Vertex>> predicted;
        for (const int rank : {0, 1})
          for (const VertexPair& link : sampled.links()->of(rank, 0, step).links)
            predicted.emplace(link.source, link.destination);
        EXPECT_EQ(predicted.size(), 40);
        const SampledBatch batch = sampled.batch(0, 0, step);
        const auto is_predicted = [&](Vertex u, Vertex v) {
          return predicted.contains({u, v}) || predicted.contains({v, u});
        };
        const auto& vertices = *batch.vertices;
        for (const SampledBatch::Layer& layer : batch.layers) {
          const Csr& block = layer.forward.csr();
          if (sampled.relations() == nullptr) {
            for (std::int64_t r = 0; r < block.rows; ++r)
              for (const Vertex c : block.row(r))
                seen += is_predicted(vertices[at(c)], vertices[at(r)]);
            continue;
          }
          std::int64_t row = 0;
          for (std::size_t i = 0; row < block.rows; ++i) {
            const int type = sampled.relations()->type_of(vertices[i]);
            for (const int relation : sampled.relations()->types[at(type)].relations) {
              const std::string& name = p.data->typed->relations[at(relation)].name;
              for (const Vertex c : block.row(row))
                seen += name.ends_with("writes") && is_predicted(vertices[at(c)], vertices[i]);
              ++row;
            }
          }
        }
      }
      if (exclude == ExcludedLinks::none)
        EXPECT_GT(seen, 0) << model;
      else
        EXPECT_EQ(seen, 0) << model;
    }
}

TEST(TypedLinks, HaveTheLossesOfOneRankOnAnyNumber) {
  const auto data = typed_dataset(90, 1200, 9, 3, true);
  for (const char* model : {"rgcn", "rgat"})
    for (const StrategyConfig& strategy : {StrategyConfig{}, batches(60, {3, 3})}) {
      LinkConfig config = by("b.writes.a");
      config.width = 8;
      config.decoder = Decoder::distmult;
      config.exclude =
          strategy.type == "mini_batch" ? ExcludedLinks::batch : ExcludedLinks::training;
      const auto on = [&](int ranks) {
        return losses(execute(link_problem(data, ranks, strategy, config, model)));
      };
      const auto want = on(1);
      EXPECT_LT(want.back(), want.front());
      for (const int ranks : {2, 3}) {
        const auto got = on(ranks);
        ASSERT_EQ(got.size(), want.size());
        for (std::size_t e = 0; e < want.size(); ++e)
          EXPECT_NEAR(got[e], want[e], 1e-4 * want[e]) << model << ", " << ranks << " ranks";
      }
    }
}

TEST(TypedLinks, HaveTheGradientsOfCentralDifferences) {
  const auto data = typed_dataset(50, 500, 7, 3, true);
  LinkConfig config = by("b.writes.a");
  config.width = 6;
  testing::expect_gradient_of_differences(link_problem(data, 1, {}, config));
}

// Authors are drawn near the class of a paper. Reviewers are of the other class, so only a model that
// knows relations finds who wrote what.
TEST(TypedLinks, AreFoundByRelation) {
  const auto data = testing::typed_communities(1200, 12000);
  const auto auc = [&](const char* model) {
    LinkConfig config = by("author.writes.paper");
    config.width = 16;
    config.held_out_negatives = 5;
    Problem p = link_problem(data, 2, {}, config, model);
    p.model.hidden = 16;
    p.train.epochs = 40;
    p.train.eval_every = 40;
    return execute(p, "cpu").epochs.back().links->test->auc;
  };
  const double by_relation = auc("rgcn");
  EXPECT_GT(by_relation, 0.7);
  EXPECT_GT(by_relation, auc("sage") + 0.05);
}

TEST(TypedLinks, WrongRelationsAreErrorsThatNameTheNearest) {
  const auto refusal = [](const Dataset& data, const std::string& relation) -> std::string {
    try {
      hold_out_links(data, by(relation), 1);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  const auto typed = typed_dataset(60, 600, 4, 2, true);
  EXPECT_NE(refusal(*typed, "b.write.a").find("did you mean \"b.writes.a\"?"), std::string::npos);
  for (const auto& [name, meant] :
       {std::pair{"writes", "\"b.writes.a\""}, std::pair{"rev_writes", "\"a.rev_writes.b\""}})
    EXPECT_NE(refusal(*typed, name)
                  .find(std::string("unknown relation \"") + name + "\"; did you mean " + meant +
                        "? there are "),
              std::string::npos)
        << refusal(*typed, name);
  EXPECT_NE(refusal(*testing::random_dataset(60, 600, 4, 2, true), "b.writes.a")
                .find("no relations in its meta.json"),
            std::string::npos);
}

}  // namespace
}  // namespace orrery
