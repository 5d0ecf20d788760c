// Link prediction: what is held out, what negatives are, what batches may see, and that ranks learn
// together what one would alone.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/sample/links/link_batches.hpp"
#include "core/strategy/train/link_objective.hpp"
#include "core/strategy/train/link_scores.hpp"
#include "tests/support/as_recorded.hpp"
#include "tests/support/gradients.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/within_bound.hpp"

namespace orrery {
namespace {

using testing::execute;
using testing::losses;
using testing::make_problem;
using testing::random_dataset;

bool has_edge(const Csr& graph, Vertex u, Vertex v) {
  const auto row = graph.row(v);
  return std::binary_search(row.begin(), row.end(), u);
}

/// Trained on links of `data`.
Problem link_problem(const std::shared_ptr<const Dataset>& data, int ranks,
                     const StrategyConfig& strategy, const LinkConfig& config = {}) {
  auto [trained, links] = hold_out_links(*data, config, testing::kSeed);
  Problem problem =
      make_problem(std::make_shared<const Dataset>(std::move(trained)), ranks, strategy);
  problem.links = std::move(links);
  problem.train.epochs = 4;
  return problem;
}

StrategyConfig batches_of_links(std::int64_t batch, std::vector<int> fanouts,
                                SeedsFrom seeds = SeedsFrom::all) {
  MiniBatchSettings settings;
  settings.batch = batch;
  settings.fanouts = std::move(fanouts);
  settings.seeds = seeds;
  return testing::batches_of(settings);
}

// ---- what is held out

TEST(HeldOutLinks, AreNotInTheGraphAndTheirNegativesInNone) {
  for (const bool symmetric : {true, false})
    for (const Corrupted corrupted : {Corrupted::destination, Corrupted::both}) {
      const auto data = random_dataset(200, 1500, 4, 2, symmetric);
      LinkConfig config;
      config.held_out_negatives = 7;
      config.held_out_corrupted = corrupted;
      const auto [trained, links] = hold_out_links(*data, config, 3);
      EXPECT_EQ(is_symmetric(*trained.graph), symmetric);
      std::set<std::pair<Vertex, Vertex>> all;
      for (const auto* list : {&links->train, &links->validation.links, &links->test.links})
        for (const VertexPair& link : *list) {
          EXPECT_TRUE(has_edge(*data->graph, link.source, link.destination));
          EXPECT_EQ(has_edge(*trained.graph, link.source, link.destination), list == &links->train);
          const auto ends = std::minmax(link.source, link.destination);
          EXPECT_TRUE(all.insert(symmetric ? std::pair<Vertex, Vertex>(ends)
                                           : std::pair(link.source, link.destination))
                          .second);
        }
      std::int64_t want = 0;
      for (Vertex v = 0; v < data->graph->rows; ++v)
        for (const Vertex u : data->graph->row(v)) want += symmetric ? u < v : u != v;
      EXPECT_EQ(std::ssize(all), want);
      EXPECT_EQ(std::ssize(links->validation.links), want / 20);
      EXPECT_EQ(std::ssize(links->test.links), want / 10);
      for (const ScoredLinks* held_out : {&links->validation, &links->test}) {
        ASSERT_EQ(held_out->negatives.size(), 7 * held_out->links.size());
        for (std::size_t i = 0; i < held_out->negatives.size(); ++i) {
          const VertexPair& pair = held_out->negatives[i];
          EXPECT_FALSE(has_edge(*data->graph, pair.source, pair.destination));
          EXPECT_NE(pair.source, pair.destination);
          if (corrupted == Corrupted::destination) {
            EXPECT_EQ(pair.source, held_out->links[i / 7].source);
          }
        }
      }
    }
}

TEST(HeldOutLinks, SayHowOftenNoOtherPairWasFound) {
  const auto note_of = [](std::int64_t vertices) {
    return hold_out_links(*random_dataset(vertices, 1500, 4, 2, true), {}, 3).first.notes.back();
  };
  EXPECT_EQ(note_of(200).find("found no other"), std::string::npos);
  EXPECT_NE(note_of(8).find("; but of 300 such pairs 300 are edges"), std::string::npos)
      << note_of(8);
}

TEST(HeldOutLinks, ASymmetricGraphsLinksHaveADirectionThatIsDrawn) {
  const auto data = random_dataset(200, 1500, 4, 2, true);
  const auto [trained, links] = hold_out_links(*data, {}, 3);
  const auto up = std::count_if(links->train.begin(), links->train.end(),
                                [](const VertexPair& l) { return l.source < l.destination; });
  EXPECT_NEAR(static_cast<double>(up) / static_cast<double>(links->train.size()), 0.5, 0.06);
}

TEST(HeldOutLinks, SharesThatLeaveNoneAreErrors) {
  const auto data = random_dataset(10, 12, 4, 2, true);
  LinkConfig config;
  config.validation = 0.01;
  EXPECT_THROW(hold_out_links(*data, config, 3), ConfigError);
  config.validation = 0.5;
  config.test = 0.5;
  EXPECT_THROW(hold_out_links(*data, config, 3), ConfigError);
}

// ---- scores

TEST(LinkScores, AreThoseOfAllPairsCounted) {
  const std::vector<float> links{3, 1, 2}, negatives{0, 3, 1, 1, 5, 2};
  const LinkScores got = link_scores(links, negatives, {1, 2});
  double above = 0;
  for (const float link : links)
    for (const float other : negatives) above += link > other ? 1 : link == other ? 0.5 : 0;
  EXPECT_DOUBLE_EQ(got.auc, above / 18);
  // Ranks 1.5 (one equal), 2 (two equal), 2.5 (one above, one equal).
  EXPECT_DOUBLE_EQ(got.mrr, (1 / 1.5 + 1 / 2.0 + 1 / 2.5) / 3);
  EXPECT_DOUBLE_EQ(got.hits[0], 0);
  EXPECT_DOUBLE_EQ(got.hits[1], 2.0 / 3);
}

// ---- what a step takes

TEST(LinkBatches, AnEpochHasEveryLinkOnceAndTheSameNegativesOnAnyRanks) {
  const auto data = random_dataset(150, 900, 4, 2, true);
  for (const NegativesFrom from :
       {NegativesFrom::uniform, NegativesFrom::joint, NegativesFrom::in_batch}) {
    LinkConfig config;
    config.negatives = from;
    config.negatives_per_link = 3;
    using All = std::multiset<std::tuple<int, Vertex, Vertex>>;  // step and pair
    const auto drawn = [&](int ranks, std::int64_t batch, int epoch) {
      const Problem p = link_problem(data, ranks, StrategyConfig{}, config);
      const LinkBatches batches(p.links, *p.data, p.partition, {batch, SeedsFrom::all, 1}, 5);
      All links, negatives;
      for (int step = 0; step < batches.steps(); ++step)
        for (int rank = 0; rank < ranks; ++rank) {
          const ScoredLinks own = batches.of(rank, epoch, step);
          for (const VertexPair& l : own.links) links.insert({step, l.source, l.destination});
          for (const VertexPair& n : own.negatives)
            negatives.insert({step, n.source, n.destination});
        }
      EXPECT_EQ(links.size(), p.links->train.size());
      EXPECT_EQ(negatives.size(), 3 * links.size());
      return std::pair(links, negatives);
    };
    for (const std::int64_t batch : {0, 100}) {
      const auto want = drawn(1, batch, 2);
      for (const int ranks : {2, 3}) EXPECT_EQ(drawn(ranks, batch, 2), want) << ranks;
      if (from == NegativesFrom::in_batch && batch == 0) continue;  // the same links follow
      EXPECT_NE(drawn(1, batch, 3).second, want.second) << "drawn anew";
    }
  }
}

TEST(LinkBatches, LocalNegativesAreOfTheRanksPart) {
  LinkConfig config;
  config.negatives = NegativesFrom::local;
  const Problem p = link_problem(random_dataset(150, 900, 4, 2, true), 3, StrategyConfig{}, config);
  const LinkBatches batches(p.links, *p.data, p.partition, {50, SeedsFrom::own, 1}, 5);
  for (int rank = 0; rank < 3; ++rank)
    for (const VertexPair& pair : batches.of(rank, 0, 0).negatives)
      EXPECT_EQ(p.partition.owner[at(pair.destination)], rank);
}

/// Neither direction of a link of the step is drawn, in no layer, and rows are those of the graph
/// without them.
TEST(LinkBatches, ABatchDoesNotSeeTheLinksThatItPredicts) {
  for (const BatchSampler sampler :
       {BatchSampler::neighbour, BatchSampler::labor, BatchSampler::all})
    for (const bool excluded : {true, false}) {
      LinkConfig config;
      config.exclude = excluded ? ExcludedLinks::batch : ExcludedLinks::none;
      StrategyConfig strategy = batches_of_links(60, {4, 3});
      auto settings = mini_batch_of(strategy);
      settings.sampler = sampler;
      if (sampler == BatchSampler::all) settings.fanouts.clear();
      strategy.own = settings;
      const Problem p = link_problem(random_dataset(100, 700, 4, 2, true), 2, strategy, config);
      const SampledBatches batches(p);
      int seen = 0;
      for (int rank = 0; rank < 2; ++rank) {
        std::set<std::pair<Vertex, Vertex>> targets;
        for (int r = 0; r < 2; ++r)
          for (const VertexPair& link : batches.links()->of(r, 1, 0).links) {
            targets.emplace(link.source, link.destination);
            targets.emplace(link.destination, link.source);
          }
        const SampledBatch batch = batches.batch(rank, 1, 0);
        const auto vertex = [&](std::int64_t row) { return (*batch.vertices)[at(row)]; };
        for (const auto& layer : batch.layers) {
          const Csr& rows = layer.forward.csr();
          for (std::int64_t r = 0; r < rows.rows; ++r) {
            for (const Vertex c : rows.row(r)) seen += targets.contains({vertex(c), vertex(r)});
            // The row of A, of all that are left, is that of the graph without them.
            if (sampler != BatchSampler::all || !excluded) continue;
            std::int64_t left = 1;  // its self-loop
            for (const Vertex u : p.data->graph->row(vertex(r)))
              left += u != vertex(r) && !targets.contains({u, vertex(r)});
            EXPECT_EQ(std::ssize(rows.row(r)), left);
            for (std::size_t e = 0; e < rows.row(r).size(); ++e)
              if (rows.row(r)[e] == r) {
                EXPECT_NEAR(layer.forward.row_values(r)[e], 1.0 / static_cast<double>(left), 1e-6);
              }
          }
        }
      }
      if (excluded) {
        EXPECT_EQ(seen, 0);
      } else {
        EXPECT_GT(seen, 50);
      }
    }
}

// ---- learning

std::vector<LinkConfig> objectives() {
  LinkConfig dot, distmult, mlp, margin, both;
  distmult.decoder = Decoder::distmult;
  distmult.negatives = NegativesFrom::joint;
  mlp.decoder = Decoder::mlp;
  mlp.negatives_per_link = 3;
  margin.loss = PairLoss::margin;
  margin.negatives = NegativesFrom::in_batch;
  margin.negatives_per_link = 2;
  both.loss = PairLoss::margin;
  both.decoder = Decoder::mlp;
  both.corrupted = Corrupted::both;
  for (LinkConfig* config : {&dot, &distmult, &mlp, &margin, &both}) {
    config->held_out_negatives = 5;
    config->hits = {1, 3};
  }
  return {dot, distmult, mlp, margin, both};
}

/// On one rank and on several, of whole graphs and of batches, with reference and fast kernels.
TEST(LinkLosses, AreThoseOfOneRankOnAnyNumber) {
  const auto data = random_dataset(120, 800, 6, 3, true);
  for (LinkConfig config : objectives())
    for (const bool batches : {false, true}) {
      StrategyConfig strategy;
      if (batches) strategy = batches_of_links(150, {5, 5});
      config.exclude = batches ? ExcludedLinks::batch : ExcludedLinks::none;
      const Outcome one = execute(link_problem(data, 1, strategy, config));
      for (const int ranks : {2, 3}) {
        const Outcome got =
            execute(link_problem(data, ranks, strategy, config), ranks == 2 ? "cpu" : "reference");
        for (std::size_t e = 0; e < one.epochs.size(); ++e)
          EXPECT_NEAR(losses(got)[e], losses(one)[e], 1e-4) << ranks << " ranks, epoch " << e;
        const auto &have = *got.epochs.back().links, &want = *one.epochs.back().links;
        EXPECT_NEAR(have.test->auc, want.test->auc, 2e-3);
        EXPECT_NEAR(have.validation->mrr, want.validation->mrr, 2e-2);
        EXPECT_NEAR(have.test->hits[1], want.test->hits[1], 2e-2);
        EXPECT_EQ(got.epochs.back().scores->test, have.test->auc);
      }
    }
}

/// The pairs of one step of a whole graph, with a network and a decoder whose weights can be moved.
class LinkBench {
 public:
  LinkBench(Executor& rt, const Problem& problem)
      : rt_(rt),
        plan_(make_strategy(problem)),
        session_(plan_->open(rt)),
        products_(session_->load(plan_->prepare(0, {}))),
        links_(rt, problem, *plan_),
        features_(rt, {problem.data->vertices(), problem.data->features->width()}, DType::f32,
                  "features"),
        loss_(rt, {1, 1}, DType::f64, "loss") {
    rt.submit(Lane::compute, Load{products_->data().features(0), features_.tensor()});
    model_ = make_network(rt, problem.model, problem.train, problem.strategy.first_layer,
                          problem.data->features->width(), problem.links->config.width,
                          ModelUse::training, [&](Parameters& parameters) {
                            links_.decoder().declare(parameters, problem.model.layers + 1, true);
                          });
    links_.allocate(model_->parameters());
    model_->attach(*products_, features_.tensor());
  }
  void move_all_weights() {
    rt_.sync(rt_.record(Lane::compute));
    Sequence draws(testing::kSeed, Purpose::weights, 99);
    for (std::int64_t i = 0; i < size(); ++i)
      weight(i) += static_cast<float>(2 * draws.uniform() - 1);
  }
  double loss() {
    const Tensor rows = model_->forward(features_.tensor(), Stage::forward, 0, std::nullopt);
    links_.learn(*products_, rows, model_->logits_gradient(), 0, 0, loss_.tensor(), false);
    return *rt_.scalar(Lane::compute, loss_.tensor());
  }
  void backward() {
    // A forward pass of training keeps what the backward pass needs.
    const Tensor rows = model_->forward(features_.tensor(), Stage::forward, 0, 0);
    links_.learn(*products_, rows, model_->logits_gradient(), 0, 0, loss_.tensor(), false);
    model_->backward(features_.tensor(), 0, [](int) {});
    rt_.sync(rt_.record(Lane::compute));
  }
  float& weight(std::int64_t i) {
    return rt_.memory().data<float>(model_->parameters().weight(0))[i];
  }
  float gradient(std::int64_t i) {
    return rt_.memory().data<float>(model_->parameters().gradients())[i];
  }
  std::int64_t size() const { return model_->parameters().gradients().cols(); }

 private:
  Executor& rt_;
  std::unique_ptr<Strategy> plan_;
  std::unique_ptr<RankSession> session_;
  std::unique_ptr<RankProducts> products_;
  LinkObjective links_;
  Buffer features_, loss_;
  std::unique_ptr<Network> model_;
};

TEST(LinkLosses, HaveTheGradientsOfCentralDifferences) {
  for (LinkConfig config : objectives()) {
    config.width = 5;
    config.decoder_hidden = 4;
    Problem problem =
        link_problem(random_dataset(30, 150, 6, 3, true), 1, StrategyConfig{}, config);
    problem.model.hidden = 6;
    problem.model.dropout = 0;
    testing::expect_gradient_of_differences<LinkBench>(problem);
  }
}

/// Lanes do not race, the peak is that of the recording to the byte, nothing is left.
TEST(LinkPrograms, AreThoseThatWereRecorded) {
  const auto data = random_dataset(80, 500, 6, 3, true);
  for (LinkConfig config : objectives())
    for (const bool batches : {false, true}) {
      Problem problem = link_problem(
          data, 2, batches ? batches_of_links(100, {3, 3}, SeedsFrom::own) : StrategyConfig{},
          config);
      problem.train.epochs = 2;
      testing::expect_as_recorded(problem);
    }
}

// ---- leaking

/// On a graph without any structure a held-out link cannot be told from a pair that is none, but
/// from the graph that still has it.
TEST(LinkMemory, IsWithinItsBoundWhateverIsDrawn) {
  struct Case {
    NegativesFrom negatives;
    Corrupted corrupted;
    int per_link;
    Decoder decoder;
    PairLoss loss;
    SeedsFrom seeds;
    std::int64_t batch;
    bool learns;
  };
  constexpr auto kDestination = Corrupted::destination, kBoth = Corrupted::both;
  for (const Case& c : {Case{NegativesFrom::uniform, kDestination, 1, Decoder::dot,
                             PairLoss::cross_entropy, SeedsFrom::all, 40, false},
                        Case{NegativesFrom::uniform, kBoth, 3, Decoder::distmult, PairLoss::margin,
                             SeedsFrom::own, 25, false},
                        Case{NegativesFrom::joint, kDestination, 6, Decoder::mlp,
                             PairLoss::cross_entropy, SeedsFrom::own, 25, false},
                        Case{NegativesFrom::in_batch, kDestination, 5, Decoder::dot,
                             PairLoss::margin, SeedsFrom::all, 33, false},
                        Case{NegativesFrom::local, kDestination, 2, Decoder::mlp, PairLoss::margin,
                             SeedsFrom::all, 40, true}})
    for (const int ranks : {1, 2, 3})
      for (const bool evaluates : {false, true}) {
        SCOPED_TRACE(fmt::format("negatives {}, {} ranks", static_cast<int>(c.negatives), ranks));
        StrategyConfig strategy = batches_of_links(c.batch, {4, 3}, c.seeds);
        if (c.learns) strategy.learned.emplace();
        LinkConfig config;
        config.negatives = c.negatives;
        config.corrupted = c.corrupted;
        config.negatives_per_link = c.per_link;
        config.decoder = c.decoder;
        config.loss = c.loss;
        Problem p = link_problem(random_dataset(150, 900, 8, 2, true), ranks, strategy, config);
        p.train.epochs = 2;
        p.train.eval_every = evaluates ? 1 : 0;
        testing::expect_within_bound(p, 4);
      }
}

/// All links in one step, all neighbours: the ends of a rank's pairs are nearly all vertices.
TEST(LinkMemory, IsHalfOfItsBoundWhereBatchesAreAsLargeAsTheyCanBe) {
  for (const int ranks : {1, 2, 3}) {
    SCOPED_TRACE(fmt::format("{} ranks", ranks));
    Problem p = link_problem(random_dataset(60, 900, 8, 2, true), ranks,
                             batches_of_links(1 << 20, {-1, -1}));
    p.train.epochs = 2;
    p.train.eval_every = 0;
    testing::expect_within_bound(p, 2);
  }
}

/// No step has more distinct ends than the bound says, short last steps included.
TEST(LinkMemory, EndsOfAStepAreWithinTheirBound) {
  for (const NegativesFrom from : {NegativesFrom::uniform, NegativesFrom::joint,
                                   NegativesFrom::in_batch, NegativesFrom::local})
    for (const SeedsFrom seeds : {SeedsFrom::own, SeedsFrom::all})
      for (const auto& [batch, per_link] : {std::pair{12, 3}, {100, 70}, {100, 1}}) {
        LinkConfig config;
        config.negatives = from;
        config.negatives_per_link = per_link;
        if (from == NegativesFrom::uniform) config.corrupted = Corrupted::both;
        const int ranks = 2;
        const Problem p =
            link_problem(random_dataset(4000, 900, 4, 2, true), ranks, StrategyConfig{}, config);
        const LinkBatches batches(p.links, *p.data, p.partition, {batch, seeds, 1}, 5);
        std::int64_t most = 0;
        for (int step = 0; step < batches.steps(); ++step)
          for (int rank = 0; rank < ranks; ++rank)
            most = std::max(most, std::ssize(LinkBatches::vertices_of(batches.of(rank, 0, step))));
        EXPECT_LE(most, batches.most_ends()) << static_cast<int>(from) << ' ' << batch;
        // Of short last steps with many negatives the bound does not know how short they are.
        if (from != NegativesFrom::in_batch || per_link < 70) {
          EXPECT_LE(batches.most_ends(), 4 * most) << static_cast<int>(from) << ' ' << batch;
        }
      }
}

TEST(LinkLeaks, ScoreHigherAndAreNotTheDefault) {
  const auto data = random_dataset(300, 900, 8, 2, true);
  LinkConfig config;
  config.test = 0.3;
  Problem honest = link_problem(data, 1, StrategyConfig{}, config);
  honest.train.epochs = 60;
  honest.model.dropout = 0;
  Problem leaking = honest;
  leaking.data = data;  // with the links that are held out
  leaking.partition = honest.partition;
  const auto auc = [](const Problem& problem) {
    return execute(problem, "cpu").epochs.back().links->test->auc;
  };
  const double told = auc(honest), leaked = auc(leaking);
  EXPECT_GT(leaked, told + 0.1) << "honest " << told << ", leaking " << leaked;

  // In training: of links that their batch sees, less loss is left.
  const auto loss = [&](ExcludedLinks exclude) {
    config.exclude = exclude;
    Problem problem = link_problem(data, 1, batches_of_links(200, {-1, -1}), config);
    problem.train.epochs = 20;
    problem.model.dropout = 0;
    return losses(execute(problem, "cpu")).back();
  };
  EXPECT_LT(loss(ExcludedLinks::none), 0.9 * loss(ExcludedLinks::batch));
}

TEST(LinkErrors, SayWhoPredictsLinks) {
  StrategyConfig rows;
  rows.type = "spmm_1d";
  try {
    make_strategy(link_problem(random_dataset(60, 300, 4, 2, true), 2, rows));
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("full_graph"), std::string::npos) << error.what();
  }
  LinkConfig config;
  config.negatives = NegativesFrom::in_batch;
  config.negatives_per_link = 20;
  EXPECT_THROW(make_strategy(link_problem(random_dataset(60, 300, 4, 2, true), 1,
                                          batches_of_links(20, {3, 3}), config)),
               ConfigError);
}

}  // namespace
}  // namespace orrery
