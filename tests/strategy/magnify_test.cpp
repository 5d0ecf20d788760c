// A magnified graph is recorded with a multiple of the sizes of the present one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/model/layer_type.hpp"
#include "core/partition/methods/cut.hpp"
#include "core/runtime/summary.hpp"
#include "core/strategy/make_strategy.hpp"
#include "core/strategy/structure/sampled_batches.hpp"
#include "core/strategy/train/record.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/typed.hpp"

namespace orrery {
namespace {

using testing::make_problem;
using testing::random_dataset;

constexpr int kMagnifiedRanks = 3;
constexpr std::int64_t kTimes = 7;

Problem problem_of(std::int64_t times, const std::string& strategy = "full_graph") {
  auto data = std::make_shared<Dataset>(*random_dataset(90, 300, 12, 4, true));
  data->magnify = times;
  Problem problem = make_problem(std::move(data), kMagnifiedRanks, strategy);
  problem.train.epochs = 2;
  problem.train.eval_every = 0;
  return problem;
}

std::vector<Program> record(const Problem& problem) {
  return record_training(*make_strategy(problem), problem, 2, {});
}

TEST(Magnify, MultipliesTheFactsOfADataSet) {
  const DataFacts once = problem_of(1).facts(), magnified = problem_of(kTimes).facts();

  EXPECT_EQ(magnified.vertices, kTimes * once.vertices);
  EXPECT_EQ(magnified.edges, kTimes * once.edges);
  EXPECT_EQ(magnified.training_vertices, kTimes * once.training_vertices);
  EXPECT_EQ(magnified.features, once.features);
  EXPECT_EQ(magnified.classes, once.classes);
}

/// Two servers of two ranks, with the lowest of three layers below the preloaded ones (depth 2) or
/// without.
Problem preloading(std::int64_t times, std::optional<int> depth) {
  Problem problem = problem_of(times);
  problem.model.layers = 3;
  problem.strategy.type = "shared_preloading";
  problem.strategy.ranks_per_server = 2;
  problem.strategy.workers = 4;
  problem.strategy.depth = depth;
  problem.strategy.degrees = Degrees::original;
  problem.partition = partition_graph(*problem.data->graph, 2, {"random", "", testing::kSeed});
  return problem;
}

void expect_multiplied(const Problem& small, const Problem& large, const Placement& placement) {
  const auto once = record(small), magnified = record(large);

  ASSERT_EQ(once.size(), magnified.size());
  for (std::size_t rank = 0; rank < once.size(); ++rank) {
    const Summary a = summarise(once[rank], placement), b = summarise(magnified[rank], placement);
    for (const char* kind : {"spmm", "gather_rows", "scatter_add_rows"}) {
      ASSERT_EQ(a.epoch.by_kind.contains(kind), b.epoch.by_kind.contains(kind)) << kind;
      if (!a.epoch.by_kind.contains(kind)) continue;  // no delayed sum arrives in the first epoch
      EXPECT_EQ(b.epoch.by_kind.at(kind).count, a.epoch.by_kind.at(kind).count) << kind;
      EXPECT_EQ(b.epoch.by_kind.at(kind).flops, kTimes * a.epoch.by_kind.at(kind).flops) << kind;
    }
    for (const auto link : {&Totals::Kind::internal, &Totals::Kind::external})
      EXPECT_EQ(b.epoch.by_kind.at("all_to_all_v").*link,
                kTimes * a.epoch.by_kind.at("all_to_all_v").*link);
    for (const char* name : {"features", "labels", "activations", "halo", "indices"})
      EXPECT_EQ(b.peak_by_class.at(name), kTimes * a.peak_by_class.at(name)) << name;
    EXPECT_EQ(b.peak_by_class.at("parameters"), a.peak_by_class.at("parameters"));
  }
}

TEST(Magnify, MultipliesWorkVolumeAndMemoryOfEveryRank) {
  for (const char* strategy : {"full_graph", "vertex_cut"})
    expect_multiplied(problem_of(1, strategy), problem_of(kTimes, strategy),
                      Placement::uniform(kMagnifiedRanks, 1));
}

TEST(Magnify, MultipliesThoseOfDelayedSums) {
  Problem small = problem_of(1, "vertex_cut"), large = problem_of(kTimes, "vertex_cut");
  for (Problem* p : {&small, &large}) p->strategy.own = DelaySettings{2};
  expect_multiplied(small, large, Placement::uniform(kMagnifiedRanks, 1));
}

TEST(Magnify, MultipliesThoseOfServersThatPreload) {
  for (const std::optional<int> depth : {std::optional<int>(), std::optional(2)})
    expect_multiplied(preloading(1, depth), preloading(kTimes, depth), Placement::uniform(2, 2));
}

TEST(Magnify, MultipliesWorkAndVolumeOfAttention) {
  Problem small = problem_of(1), large = problem_of(kTimes);
  for (Problem* p : {&small, &large}) {
    p->model.type = ModelType::gat;
    p->model.attention_dropout = 0.5;
  }

  const auto once = record(small), magnified = record(large);

  const Placement placement = Placement::uniform(kMagnifiedRanks, 1);
  for (std::size_t rank = 0; rank < once.size(); ++rank) {
    const Summary a = summarise(once[rank], placement), b = summarise(magnified[rank], placement);
    for (const char* kind : {"spmm", "sddmm", "edge_softmax", "edge_softmax_backward"})
      EXPECT_EQ(b.epoch.by_kind.at(kind).flops, kTimes * a.epoch.by_kind.at(kind).flops) << kind;
    EXPECT_EQ(b.epoch.by_kind.at("all_to_all_v").external,
              kTimes * a.epoch.by_kind.at("all_to_all_v").external);
  }
}

/// The edges of copies of a graph.
EdgeList copied(const Csr& graph, Vertex times) {
  EdgeList edges;
  edges.vertices = graph.cols * times;
  for (Vertex v = 0; v < graph.rows; ++v)
    for (const Vertex u : graph.row(v))
      for (Vertex copy = 0; copy < times; ++copy) {
        edges.source.push_back(u * times + copy);
        edges.destination.push_back(v * times + copy);
      }
  return edges;
}

TypedGraph copied(const TypedGraph& once, Vertex times) {
  TypedGraph all = once;
  for (VertexType& type : all.types) type = {type.name, type.first * times, type.count * times};
  for (Relation& relation : all.relations) {
    const EdgeList edges = copied(*relation.graph, times);
    relation.graph =
        std::make_shared<const Csr>(build_csr(edges.vertices, edges.source, edges.destination));
  }
  return all;
}

/// The copies of the data set written out, which the owners of their vertices own.
Problem written_out(const Problem& small, Vertex times) {
  const Dataset& once = *small.data;
  auto data = std::make_shared<Dataset>();
  if (once.typed)
    set_typed_graph(*data, copied(*once.typed, times));
  else
    set_graph(*data, copied(*once.graph, times));
  data->symmetric = once.symmetric;
  data->labels.classes = once.labels.classes;
  Problem large = small;
  large.partition.owner.clear();
  for (Vertex v = 0; v < once.vertices(); ++v)
    for (Vertex copy = 0; copy < times; ++copy) {
      large.partition.owner.push_back(small.partition.owner[at(v)]);
      data->split.push_back(once.split[at(v)]);
      data->labels.values.push_back(once.labels.values[at(v)]);
    }
  const std::int64_t vertices = data->vertices();
  data->features =
      dense_features(vertices, once.features->width(),
                     std::vector<float>(at(vertices * once.features->width()), 0.5F), "half", true);
  large.data = std::move(data);
  return large;
}

/// Batches of a magnified data set are those of the same data set written out.
void expect_batches_of_copies(const Problem& small) {
  Problem counted = small;
  auto magnified = std::make_shared<Dataset>(*small.data);
  magnified->magnify = kTimes;
  counted.data = magnified;
  Problem written = written_out(small, kTimes);
  if (small.links) {  // each in one copy
    LinkTask task =
        LinkBatches(small.links, *magnified, small.partition, {}, small.train.seed).task();
    task.edges = task.relation < 0 ? written.data->graph
                                   : written.data->typed->relations[at(task.relation)].graph;
    written.links = std::make_shared<const LinkTask>(std::move(task));
  }
  const SampledBatches a(counted), b(written);
  ASSERT_EQ(a.steps(), b.steps());
  for (int rank = 0; rank < 4; ++rank)
    for (const int step : {0, a.steps() - 1}) {
      const SampledBatch x = a.batch(rank, 1, step), y = b.batch(rank, 1, step);
      EXPECT_EQ(*x.vertices, *y.vertices);
      EXPECT_EQ(x.rows, y.rows);
      EXPECT_EQ(x.edges, y.edges);
      EXPECT_EQ(x.layers[0].forward.csr(), y.layers[0].forward.csr());
      const auto &of_x = x.layers[0].forward.values, &of_y = y.layers[0].forward.values;
      ASSERT_EQ(of_x != nullptr, of_y != nullptr);
      if (of_y) {
        EXPECT_EQ(*of_x, *of_y);
      }
      EXPECT_EQ(*x.features.pulled.numbers, *y.features.pulled.numbers);
      EXPECT_EQ(*x.features.pulled.rows_per_owner, *y.features.pulled.rows_per_owner);
      for (std::size_t i = 0; i < x.vertices->size(); ++i)
        EXPECT_EQ((*x.data_rows)[i], (*x.vertices)[i] / kTimes);
    }
  const auto once = record(counted), all = record(written);
  const Placement placement = Placement::uniform(2, 2);
  for (std::size_t rank = 0; rank < once.size(); ++rank) {
    const Summary x = summarise(once[rank], placement), y = summarise(all[rank], placement);
    EXPECT_EQ(x.epoch, y.epoch);
    EXPECT_EQ(x.peak_by_class, y.peak_by_class);
  }
}

/// Two servers of two ranks.
Problem in_batches(Problem problem, MiniBatchSettings settings) {
  problem.partition = partition_graph(*problem.data->graph, 4, {"random", "", testing::kSeed});
  problem.strategy = testing::batches_of(std::move(settings));
  problem.strategy.ranks_per_server = 2;
  problem.train.epochs = 2;
  problem.train.eval_every = 0;
  return problem;
}

TEST(Magnify, BatchesAreDrawnAsInTheCopiesWrittenOut) {
  for (const SeedsFrom seeds : {SeedsFrom::own, SeedsFrom::server, SeedsFrom::all})
    expect_batches_of_copies(
        in_batches(problem_of(1), {.batch = 20, .seeds = seeds, .fanouts = {4, 3}}));
}

TEST(Magnify, TypedBatchesAreDrawnAsInTheCopiesWrittenOut) {
  const auto data = testing::typed_dataset(90, 600, 12, 4, true);
  for (const char* model : {"rgcn", "rgat"})
    for (const bool by_relation : {false, true}) {
      Problem problem = testing::typed_problem(data, 4);
      problem.model.type = model_type(model);
      expect_batches_of_copies(
          in_batches(std::move(problem),
                     {.batch = 20, .fanouts = {3, 2}, .fanouts_by_relation = by_relation}));
    }
}

/// Learns links, which batches leave out.
Problem with_links(Problem problem, LinkConfig config) {
  config.exclude = ExcludedLinks::batch;
  auto [trained, links] = hold_out_links(*problem.data, config, testing::kSeed);
  problem.data = std::make_shared<const Dataset>(std::move(trained));
  problem.links = std::move(links);
  return problem;
}

TEST(Magnify, LinksAreInOneCopyEach) {
  const Problem problem = with_links(problem_of(kTimes), {});

  const LinkBatches batches(problem.links, *problem.data, problem.partition, {}, 3);

  const std::vector<VertexPair>&once = problem.links->train, &drawn = batches.task().train;
  ASSERT_EQ(drawn.size(), once.size());
  std::set<Vertex> copies;
  for (std::size_t n = 0; n < drawn.size(); ++n) {
    EXPECT_EQ(drawn[n].source / kTimes, once[n].source);
    EXPECT_EQ(drawn[n].destination / kTimes, once[n].destination);
    EXPECT_EQ(drawn[n].source % kTimes, drawn[n].destination % kTimes);
    copies.insert(drawn[n].source % kTimes);
  }
  EXPECT_EQ(std::ssize(copies), kTimes);
  for (int rank = 0; rank < kMagnifiedRanks; ++rank) {
    const ScoredLinks pairs = batches.of(rank, 0, 0);
    for (const VertexPair& pair : pairs.negatives) {
      const auto row = problem.data->graph->row(pair.destination / kTimes);
      EXPECT_FALSE(pair.source % kTimes == pair.destination % kTimes &&
                   std::binary_search(row.begin(), row.end(), pair.source / kTimes));
      EXPECT_LT(pair.destination, kTimes * problem.data->vertices());
    }
  }
}

TEST(Magnify, BatchesOfLinksAreDrawnAsInTheCopiesWrittenOut) {
  for (const NegativesFrom negatives : {NegativesFrom::uniform, NegativesFrom::joint,
                                        NegativesFrom::in_batch, NegativesFrom::local})
    for (const SeedsFrom seeds : {SeedsFrom::own, SeedsFrom::all}) {
      Problem problem = with_links(problem_of(1), {.negatives = negatives});
      expect_batches_of_copies(
          in_batches(std::move(problem), {.batch = 20, .seeds = seeds, .fanouts = {4, 3}}));
    }
}

TEST(Magnify, BatchesOfTypedLinksAreDrawnAsInTheCopiesWrittenOut) {
  const auto data = testing::typed_dataset(90, 600, 12, 4, true);
  for (const char* relation : {"b.writes.a", "a.likes.a"}) {
    Problem problem = with_links(testing::typed_problem(data, 4), {.relation = relation});
    expect_batches_of_copies(in_batches(std::move(problem), {.batch = 20, .fanouts = {3, 2}}));
  }
}

TEST(Magnify, OfLinksNeedsBatchesWithoutScores) {
  const auto why = [](const char* strategy, int eval_every) {
    Problem problem = problem_of(2, strategy);
    if (problem.strategy.type == "mini_batch")
      problem.strategy.own = MiniBatchSettings{.batch = 20, .fanouts = {4, 3}};
    problem.train.eval_every = eval_every;
    return testing::refusal(with_links(std::move(problem), {}));
  };
  EXPECT_EQ(why("mini_batch", 0), "");
  EXPECT_THAT(why("mini_batch", 1), ::testing::HasSubstr("dataset.magnify: copies of a vertex"));
  EXPECT_THAT(why("full_graph", 0), ::testing::HasSubstr("strategy.type to mini_batch"));
}

TEST(Magnify, OfBatchesIsRefusedWithoutSeedsWithACacheAndBeyondTheirNumbers) {
  const auto key_of = [](std::int64_t times, MiniBatchSettings settings) {
    Problem problem = problem_of(times, "mini_batch");
    settings.fanouts = {4, 3};
    problem.strategy.own = settings;
    try {
      make_strategy(problem);
    } catch (const ConfigError& error) {
      return error.path;
    }
    return std::string();
  };
  EXPECT_EQ(key_of(2, {}), "");
  EXPECT_EQ(key_of(2, {.sampler = BatchSampler::saint_node}), "dataset.magnify");
  EXPECT_EQ(key_of(2, {.cache = {.bytes = 4096}}), "strategy.cache.bytes");
  EXPECT_EQ(key_of(23'860'930, {}), "dataset.magnify");  // times 90 vertices: above 2^31
}

TEST(Magnify, SaysHowSkewedItsRowsAre) {
  const Csr star = build_csr({4, {1, 2, 3, 0}, {0, 0, 0, 1}});  // rows of 3, 1, 0 and 0
  const SparseMatrix block{std::make_shared<const Csr>(star),
                           std::make_shared<const std::vector<float>>(4, 1.0F)};

  const SparseMatrix ten = magnified(block, 10);

  const Counts& counts = std::get<Counts>(ten.pattern);
  EXPECT_EQ(counts.rows, 40);
  EXPECT_EQ(counts.cols, 40);
  EXPECT_EQ(counts.nnz, 40);
  EXPECT_EQ(counts.skew, 3) << "the longest row over the mean of 1";
  EXPECT_THROW(ten.csr(), NeedsStructure);
}

TEST(Magnify, IsRefusedByStrategiesThatCutTheWholeGraph) {
  for (const std::string type : {"spmm_1d", "model_averaging"})
    EXPECT_THROW(make_strategy(problem_of(2, type)), ConfigError);
}

}  // namespace
}  // namespace orrery
