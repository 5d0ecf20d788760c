// Batches whose vertices get their numbers on the device: nothing else changes.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/sample/links/held_out_links.hpp"
#include "core/strategy/product/batch_products.hpp"
#include "core/strategy/train/record.hpp"
#include "tests/support/as_recorded.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/typed.hpp"
#include "tests/support/within_bound.hpp"

namespace orrery {
namespace {

using testing::execute;
using testing::losses;
using testing::make_problem;
using testing::random_dataset;

Problem on(RelabelOn where, Problem problem) {
  MiniBatchSettings settings = mini_batch_of(problem.strategy);
  settings.relabel = where;
  problem.strategy.own = settings;
  return problem;
}

Problem batches_for(const std::shared_ptr<const Dataset>& data, int ranks,
                    MiniBatchSettings settings, ModelType type = ModelType::gcn) {
  settings.seeds = SeedsFrom::all;
  Problem p = make_problem(data, ranks, testing::batches_of(std::move(settings)));
  p.model.type = type;
  p.train.epochs = 3;
  return p;
}

struct NamedProblem {
  std::string name;
  Problem problem;
};

/// GAT that keeps and drops edges, alone and with features of edges; the largest of neighbours.
std::vector<NamedProblem> problems_that_weigh_edges(int ranks) {
  const auto data = random_dataset(120, 900, 12, 4, true);
  const auto in_batches = [&](MiniBatchSettings settings, const ModelType& type) {
    return batches_for(data, ranks, std::move(settings), type);
  };
  std::vector<NamedProblem> list;
  Problem gat = in_batches({.batch = 20, .fanouts = {4, 3}}, ModelType::gat);
  gat.model.heads = 2;
  list.push_back({"gat", gat});
  Problem dropped = gat;
  dropped.model.attention_dropout = 0.3;
  dropped.model.projection_dropout = 0.2;
  list.push_back({"gat that drops edges", dropped});
  testing::add_edge_features(dropped, 3);
  list.push_back({"gat with features of edges", dropped});
  Problem learned = gat;
  learned.strategy.learned.emplace();
  list.push_back({"gat with learned features", std::move(learned)});
  Problem dots = in_batches({.batch = 20, .sampler = BatchSampler::all}, ModelType::gat);
  dots.model.attention = Attention::dot;
  list.push_back({"gat by dots, of all neighbours", std::move(dots)});
  list.push_back(
      {"sage-pool", in_batches({.batch = 30, .sampler = BatchSampler::labor, .fanouts = {4, 3}},
                               testing::kSagePool)});
  return list;
}

std::vector<NamedProblem> problems_by_relation(int ranks) {
  std::vector<NamedProblem> list;
  for (const bool by_relation : {false, true}) {
    Problem p = testing::typed_problem(
        testing::typed_dataset(120, 900, 12, 4, true), ranks,
        testing::batches_of({.batch = 20, .fanouts = {4, 3}, .fanouts_by_relation = by_relation}));
    p.train.epochs = 3;
    p.model.projection = by_relation ? 5 : 0;
    list.push_back({by_relation ? "rgcn by relation" : "rgcn", p});
    testing::add_edge_weights(p);
    list.push_back({list.back().name + " with weights", std::move(p)});
  }
  return list;
}

/// Every way to draw, and what changes batches otherwise.
std::vector<NamedProblem> problems(int ranks) {
  const auto symmetric = random_dataset(120, 900, 12, 4, true);
  const auto directed = random_dataset(120, 900, 3, 4, false);
  std::vector<NamedProblem> list;
  for (const ModelType type : {ModelType::gcn, ModelType::sage}) {
    const std::string name = type == ModelType::gcn ? "gcn" : "sage";
    list.push_back({name, batches_for(symmetric, ranks, {.batch = 20, .fanouts = {4, 3}}, type)});
    list.push_back(
        {name + " of all neighbours",
         batches_for(directed, ranks, {.batch = 20, .sampler = BatchSampler::all}, type)});
    list.push_back(
        {name + " labor",
         batches_for(symmetric, ranks,
                     {.batch = 30, .sampler = BatchSampler::labor, .fanouts = {4, 3}}, type)});
    Problem weighted =
        batches_for(symmetric, ranks,
                    {.batch = 30, .sampler = BatchSampler::weighted, .fanouts = {4, 3}}, type);
    testing::add_edge_weights(weighted);
    list.push_back({name + " drawn by weight", std::move(weighted)});
    Problem weights = batches_for(symmetric, ranks, {.batch = 30, .fanouts = {4, 3}}, type);
    testing::add_edge_weights(weights);
    list.push_back({name + " with weights", std::move(weights)});
    Problem learned = batches_for(symmetric, ranks, {.batch = 30, .fanouts = {4, 3}}, type);
    learned.strategy.learned.emplace();
    list.push_back({name + " with learned features", std::move(learned)});
    Problem three = batches_for(symmetric, ranks, {.batch = 9, .fanouts = {4, 3, -1}}, type);
    three.model.layers = 3;
    list.push_back({name + " of three layers", std::move(three)});
    auto [trained, task] = hold_out_links(*symmetric, LinkConfig{.width = 6}, testing::kSeed);
    Problem links = batches_for(std::make_shared<const Dataset>(std::move(trained)), ranks,
                                {.batch = 40, .fanouts = {4, 3}}, type);
    links.links = task;
    list.push_back({name + " for links", std::move(links)});
  }
  for (auto more : {problems_that_weigh_edges(ranks), problems_by_relation(ranks)})
    for (NamedProblem& problem : more) list.push_back(std::move(problem));
  return list;
}

TEST(Relabel, BlocksAreThoseOfTheHostOnceTheirVerticesHaveNumbers) {
  for (const int ranks : {1, 2})
    for (const auto& [name, problem] : problems(ranks)) {
      const SampledBatches host(problem), later(on(RelabelOn::device, problem));
      for (int rank = 0; rank < ranks; ++rank) {
        const SampledBatch want = host.batch(rank, 1, 1), got = later.batch(rank, 1, 1);
        ASSERT_EQ(*got.vertices, *want.vertices) << name;
        EXPECT_EQ(got.rows, want.rows) << name;
        EXPECT_TRUE(got.relabelled_later() && !want.relabelled_later());
        for (std::size_t l = 0; l < want.layers.size(); ++l) {
          const SampledBatch::Layer &of_host = want.layers[l], &of_device = got.layers[l];
          Csr named = of_host.forward.csr();
          for (Vertex& column : named.columns) column = (*want.vertices)[at(column)];
          EXPECT_EQ(of_device.forward.csr(), named) << name;
          ASSERT_EQ(of_device.forward.values != nullptr, of_host.forward.values != nullptr);
          if (of_host.forward.values) {
            EXPECT_EQ(*of_device.forward.values, *of_host.forward.values) << name;
          }
          ASSERT_EQ(of_device.adjoint.has_value(), of_host.adjoint.has_value()) << name;
          if (of_host.adjoint) {
            EXPECT_EQ((*std::get<Counts>(of_device.adjoint->pattern).look)(),
                      of_host.adjoint->csr());
          }
        }
        EXPECT_LE(host_bytes(got, {}), host_bytes(want, {})) << name;
      }
    }
}

/// What a recording sees where a device makes the pattern: the host's.
void expect_found(const Pattern& later, const Pattern& host, const std::string& name) {
  EXPECT_EQ((*std::get<Counts>(later).look)(), *std::get<std::shared_ptr<const Csr>>(host)) << name;
}

TEST(Relabel, EdgesAreThoseOfTheHostOnceTheirVerticesHaveNumbers) {
  for (const auto& [name, problem] : problems_that_weigh_edges(2)) {
    const SampledBatches host(problem), later(on(RelabelOn::device, problem));
    const SampledBatch drawn = host.batch(1, 1, 1), of_vertices = later.batch(1, 1, 1);
    const auto want = edges_of(problem.model, drawn, nullptr, problem.edge_features),
               got = edges_of(problem.model, of_vertices, nullptr, problem.edge_features);
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t l = 0; l < want.size(); ++l) {
      EXPECT_TRUE(got[l].relabelled_later && !want[l].relabelled_later);
      expect_found(got[l].transposed, want[l].transposed, name);
      expect_found(got[l].by_source, want[l].by_source, name);
      EXPECT_EQ(got[l].entries(), want[l].entries());
      for (const auto list : {&EdgeStructure::numbers, &EdgeStructure::vertices}) {
        ASSERT_EQ((got[l].*list).size(), (want[l].*list).size()) << name;
        if ((want[l].*list).size() > 0) {
          EXPECT_EQ(*(got[l].*list).numbers(), *(want[l].*list).numbers()) << name;
        }
      }
      ASSERT_EQ(got[l].features.size(), want[l].features.size());
      if (want[l].features.size() > 0) {
        EXPECT_EQ(*got[l].features.row_of_entry.numbers(), *want[l].features.row_of_entry.numbers())
            << name;
      }
    }
    EXPECT_LT(host_bytes(of_vertices, got), host_bytes(drawn, want)) << name;
  }
}

TEST(Relabel, RelationsAreThoseOfTheHostOnceTheirVerticesHaveNumbers) {
  for (const auto& [name, problem] : problems_by_relation(2)) {
    const SampledBatches host(problem), later(on(RelabelOn::device, problem));
    const SampledBatch drawn = host.batch(1, 1, 1), of_vertices = later.batch(1, 1, 1);
    const auto want = edges_of(problem.model, drawn, host.relations()),
               got = edges_of(problem.model, of_vertices, later.relations());
    for (std::size_t l = 0; l < want.size(); ++l) {
      const auto &numbers = want[l].relations->relations, &vertices = got[l].relations->relations;
      ASSERT_EQ(vertices.size(), numbers.size());
      for (std::size_t r = 0; r < numbers.size(); ++r) {
        EXPECT_EQ(of_vertices.later_numbers->numbered(vertices[r].matrix.csr()),
                  numbers[r].matrix.csr());
        EXPECT_EQ(*vertices[r].matrix.values, *numbers[r].matrix.values) << name;
        expect_found(vertices[r].transposed.pattern, numbers[r].transposed.pattern, name);
      }
    }
    EXPECT_LT(host_bytes(of_vertices, got), host_bytes(drawn, want)) << name;
  }
}

TEST(Relabel, LearnsTheSameToTheBit) {
  for (const int ranks : {1, 2, 3})
    for (const auto& [name, problem] : problems(ranks))
      for (const char* kernels : {"reference", "cpu"}) {
        const Outcome want = execute(problem, kernels),
                      got = execute(on(RelabelOn::device, problem), kernels);
        EXPECT_EQ(losses(got), losses(want)) << name << " on " << ranks << ", " << kernels;
        for (std::size_t r = 0; r < want.ranks.size(); ++r) {
          EXPECT_EQ(got.ranks[r].received_from, want.ranks[r].received_from) << name;
          EXPECT_EQ(got.ranks[r].final_bytes, 0) << name;
        }
      }
}

TEST(Relabel, LearnsTheSameWhateverTheCapacities) {
  const auto data = random_dataset(150, 900, 12, 4, true);
  for (const int ranks : {1, 2, 3}) {
    const auto with = [&](RelabelOn where, const StagesAhead& ahead) {
      return losses(execute(
          on(where, batches_for(data, ranks, {.batch = 20, .fanouts = {4, 3}, .ahead = ahead})),
          "cpu"));
    };
    const auto want = with(RelabelOn::host, {2, 0, 1});
    for (const StagesAhead& ahead :
         {StagesAhead{2, 0, 1}, {0, 0, 0}, {25, 5, 1}, {0, 0, 3}, {1, 2, 0}, {0, 1, 2}})
      EXPECT_EQ(with(RelabelOn::device, ahead), want)
          << fmt::format("{} ranks, {} {} {}", ranks, ahead.sample, ahead.fetch, ahead.load);
  }
}

/// Vertices of copies have numbers beyond those of the data set.
TEST(Relabel, GoesWithCopiesOfTheGraph) {
  Dataset copies = *random_dataset(60, 400, 8, 3, true);
  copies.magnify = 3;
  const Problem problem = batches_for(std::make_shared<const Dataset>(std::move(copies)), 2,
                                      {.batch = 20, .fanouts = {4, 3}});
  const SampledBatches host(problem), later(on(RelabelOn::device, problem));
  const SampledBatch want = host.batch(1, 0, 0), got = later.batch(1, 0, 0);
  ASSERT_EQ(*got.vertices, *want.vertices);
  EXPECT_GT(*std::max_element(got.vertices->begin(), got.vertices->end()), 60);
  for (std::size_t l = 0; l < want.layers.size(); ++l) {
    for (std::size_t e = 0; e < want.layers[l].forward.csr().columns.size(); ++e)
      EXPECT_EQ(got.layers[l].forward.csr().columns[e],
                (*want.vertices)[at(want.layers[l].forward.csr().columns[e])]);
    EXPECT_EQ(*got.layers[l].forward.values, *want.layers[l].forward.values);
  }
}

TEST(Relabel, ProgramsOfModelsThatWeighEdgesAreThoseOfTheRealRunAndSafe) {
  for (const auto& list : {problems_that_weigh_edges(2), problems_by_relation(2)})
    for (const auto& [name, problem] : list) {
      SCOPED_TRACE(name);
      const Problem p = on(RelabelOn::device, problem);
      testing::expect_as_recorded(*make_strategy(p), p);
    }
}

TEST(Relabel, ProgramsAreThoseOfTheRealRunAndSafe) {
  const auto data = random_dataset(150, 900, 12, 4, true);
  for (const StagesAhead& ahead : {StagesAhead{2, 0, 1}, {0, 0, 0}, {25, 5, 1}, {0, 0, 3}}) {
    const Problem p = on(RelabelOn::device,
                         batches_for(data, 2, {.batch = 20, .fanouts = {4, 3}, .ahead = ahead}));
    testing::expect_as_recorded(*make_strategy(p), p);
  }
}

/// Products have the same price: a recording knows the blocks that a device will make.
TEST(Relabel, RecordedProductsAreThoseOfTheHost) {
  const Problem problem =
      batches_for(random_dataset(150, 900, 12, 4, true), 2, {.batch = 20, .fanouts = {4, 3}});
  const auto products = [&](RelabelOn where) {
    const Problem p = on(where, problem);
    std::vector<std::array<double, 5>> list;
    for (const Program& program : record_training(*make_strategy(p), p, 1, {}))
      for (const Step& step : program.steps)
        if (const auto* submit = std::get_if<SubmitStep>(&step))
          if (const auto* spmm = std::get_if<SpMM>(&submit->op))
            list.push_back({static_cast<double>(spmm->a.shape.rows),
                            static_cast<double>(spmm->a.shape.cols),
                            static_cast<double>(spmm->a.nnz), spmm->a.skew, spmm->a.reuse});
    return list;
  };
  const auto want = products(RelabelOn::host);
  ASSERT_GT(want.size(), 20U);
  EXPECT_EQ(products(RelabelOn::device), want);
}

TEST(Relabel, MemoryIsWhatWasPlannedAndWithinItsBound) {
  std::vector<NamedProblem> list{problems_that_weigh_edges(2).front(),
                                 problems_by_relation(2).front()};
  for (const bool whole : {false, true})
    list.push_back(
        {"gcn",
         batches_for(random_dataset(150, 900, 12, 4, true), 2,
                     {.batch = 20, .fanouts = whole ? std::vector{-1, -1} : std::vector{4, 3}})});
  for (const auto& [name, problem] : list) {
    SCOPED_TRACE(name);
    Problem p = on(RelabelOn::device, problem);
    p.train.eval_every = 0;
    const auto strategy = make_strategy(p);
    const Outcome real = execute(p);
    const auto recorded = record_training(*strategy, p, p.train.epochs, {});
    const auto largest = record_training(*strategy->with_largest_batches(), p, 1, {});
    for (std::size_t r = 0; r < real.ranks.size(); ++r) {
      EXPECT_EQ(real.ranks[r].peak_bytes, recorded[r].peak_bytes[at(Space::device)]);
      EXPECT_LE(real.ranks[r].peak_bytes, largest[r].peak_bytes[at(Space::device)]);
    }
    const BatchSizes sizes = *strategy->batch_sizes();
    EXPECT_GT(sizes.host_bytes.most, 0);
    EXPECT_GE(sizes.host_bytes.bound, sizes.host_bytes.most);
  }
}

/// Every layer of a batch is relabelled once; all but the first layer, through which no gradient goes
/// to features, are transposed.
TEST(Relabel, ADeviceDoesItOnceForEachLayer) {
  Problem p =
      on(RelabelOn::device, batches_for(random_dataset(150, 900, 4, 4, true), 1,
                                        {.batch = 1 << 20, .fanouts = {4, 3}}, ModelType::sage));
  p.train.eval_every = 0;
  int relabelled = 0, transposed = 0, drawn = 0;
  const auto recorded = record_training(*make_strategy(p), p, 1, {});
  for (const Step& step : recorded.front().steps) {
    if (const auto* task = std::get_if<HostStep>(&step)) {
      EXPECT_EQ(task->work.kind, "sample_vertices");
      ++drawn;
    }
    const auto* submit = std::get_if<SubmitStep>(&step);
    if (submit == nullptr) continue;
    relabelled += std::holds_alternative<Relabel>(submit->op) ? 1 : 0;
    transposed += std::holds_alternative<TransposeSparse>(submit->op) ? 1 : 0;
    if (std::holds_alternative<Relabel>(submit->op)) {
      EXPECT_EQ(submit->lane, Lane::copy);
    }
  }
  EXPECT_GT(transposed, 1);
  EXPECT_LE(transposed, drawn);
  EXPECT_EQ(relabelled, 2 * transposed);
}

TEST(Relabel, OneSeedWithoutNeighbours) {
  const auto lonely = random_dataset(8, 0, 4, 2, true);
  for (const int ranks : {1, 2}) {
    const Problem p = batches_for(lonely, ranks, {.batch = 1, .fanouts = {4, 3}});
    EXPECT_EQ(losses(execute(on(RelabelOn::device, p))), losses(execute(p)));
  }
}

TEST(Relabel, SourcesOfEachRelationAreRefused) {
  Problem p = on(RelabelOn::device, problems_by_relation(2).front().problem);
  p.model.type = {"rgat"};
  EXPECT_EQ(
      testing::refusal(p),
      "strategy.relabel: \"device\" gives all vertices of a batch one list of numbers, but "
      "model.type rgat has one for the sources of each relation, which the host makes: set it "
      "to \"host\"");
}

/// Two cache lines for a drawn edge, four for a pair: none from memory where a graph has a mebibyte,
/// all from 64 MiB on, and half at their geometric mean.
TEST(HostWorks, TakeFromMemoryWhatNoCacheHolds) {
  constexpr std::int64_t kMiB = std::int64_t{1} << 20;

  EXPECT_EQ(drawing_work(1000, kMiB).bytes, 0);
  EXPECT_NEAR(static_cast<double>(drawing_work(1000, 8 * kMiB).bytes), 64000, 1);
  EXPECT_EQ(drawing_work(1000, 64 * kMiB).bytes, 128000);
  EXPECT_EQ(drawing_work(1000, kMiB * kMiB).bytes, 128000);
  EXPECT_EQ(drawing_work(1000, 64 * kMiB, false, 3).bytes, 5 * 64000);
  EXPECT_NEAR(static_cast<double>(pairing_work(1000, 8 * kMiB).bytes), 128000, 1);
  EXPECT_EQ(structure_bytes(100, 1000), 4800);
}

}  // namespace
}  // namespace orrery
