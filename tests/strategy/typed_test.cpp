// Typed graphs: RGCN by its equation in double, its gradients by differences, the losses of one rank
// on several, what travels and what memory it takes, and that relations tell what types hide.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/base/error.hpp"
#include "core/model/layer_type.hpp"
#include "core/runtime/check/check.hpp"
#include "core/runtime/summary.hpp"
#include "core/sample/links/held_out_links.hpp"
#include "core/strategy/edges/relation_structure.hpp"
#include "core/strategy/product/batch_products.hpp"
#include "core/strategy/structure/sampled_batches.hpp"
#include "core/strategy/train/record.hpp"
#include "tests/support/gradients.hpp"
#include "tests/support/typed.hpp"
#include "tests/support/typed_forward.hpp"

namespace orrery {
namespace {

using ::testing::AllOf;
using testing::batches_of;
using testing::execute;
using testing::features_of;
using ::testing::HasSubstr;
using testing::losses;
using testing::Matrix;
using testing::refusal;
using testing::run_forward;
using testing::Taken;
using testing::typed_dataset;
using testing::typed_problem;

ModelConfig with_norm_and_residual(ModelConfig model) {
  model.layer_norm = model.residual = true;
  model.activation = Activation::elu;
  return model;
}

TEST(Rgcn, GradientsEqualCentralDifferencesOfTheLoss) {
  for (const bool symmetric : {false, true})
    for (const auto& [layers, hidden, bases, blocks] : {std::tuple{1, 8, 0, 0},
                                                        {2, 5, 0, 0},
                                                        {3, 12, 0, 0},
                                                        {2, 6, 3, 0},
                                                        {3, 5, 1, 0},
                                                        {1, 8, 0, 3},
                                                        {3, 5, 0, 2},
                                                        {3, 5, 0, 4}}) {
      SCOPED_TRACE(::testing::Message()
                   << layers << " layers, " << bases << " bases, " << blocks << " blocks");
      Problem p =
          typed_problem(typed_dataset(30, 160, 7, 3, symmetric), 1, {}, layers, hidden, bases);
      p.model.blocks = blocks;
      p.model.self_by_type = symmetric;
      p.model.projection = symmetric ? 0 : 6;
      p.model.dropout = 0.25;
      if (layers == 3) p.model = with_norm_and_residual(p.model);

      testing::expect_gradient_of_differences(p);
    }
}

/// W of a relation: its own, its blocks on the diagonal, or the sum of its coefficients times the bases.
Matrix weight_of(const Taken& taken, const std::string& layer, std::size_t r,
                 const std::string& relation, std::size_t in, std::size_t out) {
  if (taken.parameters.contains(layer + relation)) return taken.parameters.at(layer + relation);
  if (!taken.parameters.contains(layer + "bases")) {
    Matrix w(in, std::vector<double>(out, 0));
    std::size_t row = 0, column = 0;
    for (int k = 1; row < in; ++k) {
      const Matrix& block = taken.parameters.at(layer + relation + ".block_" + std::to_string(k));
      for (std::size_t i = 0; i < block.size(); ++i)
        std::ranges::copy(block[i], w[row + i].begin() + std::ptrdiff_t(column));
      row += block.size();
      column += block[0].size();
    }
    EXPECT_EQ(column, out);
    return w;
  }
  const Matrix &bases = taken.parameters.at(layer + "bases"),
               &coefficients = taken.parameters.at(layer + "coefficients");
  Matrix w(in, std::vector<double>(out, 0));
  for (std::size_t k = 0; k < bases.size(); ++k)
    for (std::size_t i = 0; i < in; ++i)
      for (std::size_t j = 0; j < out; ++j) w[i][j] += coefficients[r][k] * bases[k][i * out + j];
  return w;
}

/// The rows of each vertex times the weights of its type.
Matrix projected(const Matrix& x, const TypedGraph& typed, const Taken& taken) {
  Matrix y;
  for (std::size_t i = 0; i < x.size(); ++i)
    for (const VertexType& type : typed.types) {
      if (!type.has(Vertex(i))) continue;
      const Matrix& w = taken.parameters.at("layers.0.projection." + type.name);
      std::vector<double>& row = y.emplace_back(w[0].size(), 0.0);
      for (std::size_t a = 0; a < w.size(); ++a)
        for (std::size_t b = 0; b < row.size(); ++b) row[b] += x[i][a] * w[a][b];
    }
  return y;
}

/// The equation, edge by edge: self-loops left out, the mean by relation, by weights if there are some.
Matrix expected_logits(const Problem& problem, const Taken& taken) {
  const TypedGraph& typed = *problem.data->typed;
  Matrix x = features_of(*problem.data);
  if (problem.model.projection > 0) x = projected(x, typed, taken);
  for (int l = 1; l <= problem.model.layers; ++l) {
    const std::string layer = "layers." + std::to_string(l) + ".";
    const auto self_of = [&](Vertex v) -> const Matrix& {
      if (!problem.model.self_by_type) return taken.parameters.at(layer + "self");
      for (const VertexType& type : typed.types)
        if (type.has(v)) return taken.parameters.at(layer + "self." + type.name);
      throw std::logic_error("a vertex without a type");
    };
    const Matrix& self = self_of(0);
    const std::vector<double>& bias = taken.parameters.at(layer + "bias")[0];
    Matrix y(x.size(), bias);
    const auto add = [&](std::size_t i, std::size_t j, double scale, const Matrix& w) {
      for (std::size_t a = 0; a < w.size(); ++a)
        for (std::size_t b = 0; b < w[a].size(); ++b) y[i][b] += scale * x[j][a] * w[a][b];
    };
    for (std::size_t i = 0; i < x.size(); ++i) add(i, i, 1, self_of(Vertex(i)));
    for (std::size_t r = 0; r < typed.relations.size(); ++r) {
      const Matrix w =
          weight_of(taken, layer, r, typed.relations[r].text(), self.size(), self[0].size());
      for (std::size_t i = 0; i < x.size(); ++i) {
        std::vector<std::pair<std::size_t, double>> from;
        double sum = 0;
        const Csr& graph = *typed.relations[r].graph;
        for (const Vertex u : graph.row(std::int64_t(i)))
          if (at(u) != i) {
            const double weight = problem.edge_weights
                                      ? problem.edge_weights->of_relations[r]
                                            .values[at(entry_of(graph, std::int64_t(i), u))]
                                      : 1;
            from.emplace_back(at(u), weight);
            sum += weight;
          }
        for (const auto& [j, weight] : from)
          if (sum > 0) add(i, j, weight / sum, w);
      }
    }
    if (l < problem.model.layers)
      for (auto& row : y)
        for (double& value : row) value = std::max(value, 0.0);
    x = std::move(y);
  }
  return x;
}

TEST(Rgcn, ComputesItsEquation) {
  for (const auto& [layers, bases, blocks] :
       {std::tuple{1, 0, 0}, {2, 0, 0}, {2, 2, 0}, {3, 4, 0}, {1, 0, 2}, {3, 0, 3}, {3, 0, 6}}) {
    Problem p = typed_problem(typed_dataset(40, 240, 6, 3, false), 1, {}, layers, 9, bases);
    p.model.blocks = blocks;
    p.model.self_by_type = layers != 2;
    p.model.projection = bases == 0 && layers < 3 ? 4 : 0;
    if (layers == 2 || blocks == 6) testing::add_edge_weights(p);

    const Taken taken = run_forward(p);

    const Matrix want = expected_logits(p, taken);
    ASSERT_EQ(taken.logits.size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i)
      for (std::size_t c = 0; c < want[i].size(); ++c)
        ASSERT_NEAR(taken.logits[i][c], want[i][c], 1e-4 * (1 + std::abs(want[i][c])))
            << "row " << i;
  }
}

TEST(Rgcn, LossesAreThoseOfOneRank) {
  for (const bool symmetric : {false, true})
    for (const int bases : {0, 3})
      for (const char* partition : {"random", "block"}) {
        const auto data = typed_dataset(70, 500, 11, 4, symmetric);
        const auto on = [&](int ranks, const std::string& kernels) {
          Problem p = typed_problem(data, ranks, {}, 3, 12, bases, partition);
          p.model.blocks = bases == 0 && symmetric ? 3 : 0;
          p.model.self_by_type = bases == 0;
          p.model.projection = symmetric ? 7 : 0;
          p.model.dropout = 0.3;
          p.model.residual = true;
          if (bases == 3) testing::add_edge_weights(p);
          return losses(execute(p, kernels));
        };
        const auto want = on(1, "reference");
        EXPECT_LT(want.back(), want.front());
        for (const int ranks : {1, 2, 3, 4})
          for (const char* kernels : {"reference", "cpu"}) {
            const auto got = on(ranks, kernels);
            ASSERT_EQ(got.size(), want.size());
            for (std::size_t e = 0; e < want.size(); ++e)
              EXPECT_NEAR(got[e], want[e], 1e-4 * want[e])
                  << ranks << " ranks, " << kernels << ", epoch " << e;
          }
      }
}

TEST(Rgcn, GivesTheSameLossesWithoutOverlapAndOnRanksWithoutVertices) {
  const auto data = typed_dataset(40, 260, 8, 3, false);
  Problem p = typed_problem(data, 4), serial = p, crowded = p;
  serial.strategy.overlap = false;
  for (auto& owner : crowded.partition.owner) owner = 2;

  const auto alone = losses(execute(typed_problem(data, 1)));

  EXPECT_EQ(losses(execute(serial)), losses(execute(p)));
  const auto on_one_of_four = losses(execute(crowded));
  for (std::size_t e = 0; e < alone.size(); ++e)
    EXPECT_NEAR(on_one_of_four[e], alone[e], 1e-4 * alone[e]);
}

/// Programs of one epoch without an evaluation.
std::vector<Program> recorded(Problem problem) {
  problem.train.epochs = 1;
  problem.train.eval_every = 0;
  return record_training(*make_strategy(problem), problem, 1, {});
}

/// Bytes of exchanged rows that a rank receives.
double received_rows(const Program& program) {
  double bytes = 0;
  for (const Step& step : program.steps)
    if (const auto* submit = std::get_if<SubmitStep>(&step))
      if (std::holds_alternative<AllToAllV>(submit->op))
        received_bytes(submit->op, program.rank, [&](int, double from) { bytes += from; });
  return bytes;
}

// However many relations need a row, it is sent once forward, as wide as the layer's input; its gradient
// once back, except those of the features. Projected rows are narrower, and have gradients. By brute force
// over edges.
TEST(Rgcn, ReceivesEachForeignSourceOnceForAllRelations) {
  const auto data = typed_dataset(90, 700, 24, 5, false);
  Problem p = typed_problem(data, 3, {}, 3, 16);
  const std::int64_t forward = 24 + 16 + 16, backward = 16 + 16;
  std::map<int, std::set<Vertex>> foreign;
  std::map<int, std::int64_t> sent;
  for (const Relation& relation : data->typed->relations)
    for (Vertex v = 0; v < 90; ++v)
      for (const Vertex u : relation.graph->row(v)) {
        const int owner = p.partition.owner[at(u)], reader = p.partition.owner[at(v)];
        if (owner != reader && foreign[reader].insert(u).second) ++sent[owner];
      }

  const auto programs = recorded(p);

  for (int rank = 0; rank < 3; ++rank)
    EXPECT_EQ(received_rows(programs[at(rank)]),
              4.0 * double(forward * std::ssize(foreign[rank]) + backward * sent[rank]))
        << rank;
  p.model.projection = 6;
  const auto projecting = recorded(p);
  for (int rank = 0; rank < 3; ++rank)
    EXPECT_EQ(received_rows(projecting[at(rank)]),
              4.0 * double((6 + 32) * (std::ssize(foreign[rank]) + sent[rank])))
        << rank;
}

// The memory that rgcn.cpp states, on one rank, beside what every model has.
TEST(Rgcn, TakesTheMemoryOfItsFormula) {
  const std::int64_t n = 60, features = 12, hidden = 16, classes = 4;
  const auto data = typed_dataset(n, 400, features, classes, false);
  for (const auto& [bases, projection] : {std::pair{0, 0}, {2, 0}, {0, 6}}) {
    Problem p = typed_problem(data, 1, {}, 2, hidden, bases);
    p.model.projection = projection;
    const std::int64_t input = projection > 0 ? projection : features;
    p.train.optimizer = OptimizerType::sgd;
    std::int64_t rows = 0, graph = 0;
    for (const Relation& relation : data->typed->relations) {
      const std::int64_t count = data->typed->type(relation.destination)->count;
      std::int64_t entries = 0;
      for (Vertex v = 0; v < n; ++v)
        for (const Vertex u : relation.graph->row(v)) entries += u != v;
      rows += count;
      graph += 8 * (count + 1) + 8 * (n + 1) + 2 * (4 + 4) * entries;
    }
    const std::int64_t relations = std::ssize(data->typed->relations);

    const Program program = recorded(p).front();

    const std::int64_t combined =
        bases == 0 ? 0 : 2 * relations * (features * hidden + hidden * classes);
    const std::int64_t activations = n * std::max(input, hidden) + n * hidden +
                                     n * projection  // Model's
                                     + rows * (input + hidden) + combined;
    EXPECT_EQ(program.peak_by_class.at("activations"), 4 * activations);
    EXPECT_EQ(program.peak_by_class.at("scratch"), 4 * n * hidden);
    EXPECT_EQ(program.peak_by_class.at("graph"), graph);
  }
}

TEST(Rgcn, StepsAndPeakOfARecordingEqualThoseOfTheRealRun) {
  for (const bool overlap : {true, false})
    for (const int bases : {0, 2}) {
      Problem p = typed_problem(typed_dataset(50, 300, 12, 4, true), 3, {}, 3, 8, bases);
      p.model.blocks = bases == 0 ? 3 : 0;
      p.model.projection = overlap ? 6 : 0;
      p.strategy.overlap = overlap;
      p.train.epochs = 2;

      const Outcome real = execute(p);
      const auto programs = record_training(*make_strategy(p), p, p.train.epochs, {});

      EXPECT_NO_THROW(check(programs));
      for (std::size_t r = 0; r < programs.size(); ++r) {
        EXPECT_EQ(to_string(real.ranks[r].program), to_string(programs[r]));
        EXPECT_EQ(real.ranks[r].peak_bytes, programs[r].peak_bytes[0]);
        EXPECT_EQ(real.ranks[r].final_bytes, 0);
      }
    }
}

TEST(Rgcn, OfAMagnifiedGraphHasAsManyTimesTheRowsThatTravel) {
  constexpr std::int64_t kTimes = 5;
  const auto data = typed_dataset(60, 400, 12, 4, true);
  auto more = std::make_shared<Dataset>(*data);
  more->magnify = kTimes;

  const auto once = recorded(typed_problem(data, 3)), magnified = recorded(typed_problem(more, 3));

  EXPECT_NO_THROW(check(magnified));
  for (std::size_t r = 0; r < 3; ++r) {
    EXPECT_EQ(magnified[r].steps.size(), once[r].steps.size());
    EXPECT_EQ(received_rows(magnified[r]), kTimes * received_rows(once[r]));
  }
}

TEST(Rgcn, IsRefusedByNameWhereNothingWorksByRelation) {
  const auto data = typed_dataset(40, 200, 8, 3, true);
  for (const auto& strategy : testing::all_strategies()) {
    if (info_of(strategy.config).carries_relations) continue;
    EXPECT_EQ(refusal(typed_problem(data, 4, strategy.config)),
              "model.type: rgcn works by relation, but " + strategy.config.type +
                  " does not support that: use full_graph and mini_batch");
  }
  for (const auto& [name, config] : testing::inexact_strategies())
    EXPECT_THAT(
        refusal(typed_problem(data, 4, config)),
        HasSubstr(config.type == "full_graph" ? "set it to" : "use full_graph and mini_batch"))
        << name;
}

TEST(Rgcn, IsRefusedOnDataWithoutRelations) {
  const auto data = typed_dataset(40, 200, 8, 3, true);
  const Problem untyped = typed_problem(testing::random_dataset(40, 200, 8, 3, true), 2);
  EXPECT_THAT(refusal(untyped), AllOf(HasSubstr("model.type: rgcn"), HasSubstr("'random'"),
                                      HasSubstr("no vertex types and relations")));
  Problem inductive = typed_problem(data, 2), counted = inductive, linked = inductive,
          many = inductive;
  inductive.whole = std::make_shared<const ProblemData>(ProblemData{data, nullptr, {}});
  EXPECT_THAT(refusal(inductive), HasSubstr("dataset.inductive"));
  counted.statistics.emplace();
  EXPECT_THAT(refusal(counted), HasSubstr("dataset.statistics"));
  auto [trained, links] = hold_out_links(*data, {}, testing::kSeed);
  EXPECT_EQ(trained.typed, nullptr) << "held-out links would be seen through relations";
  linked.links = std::move(links);
  EXPECT_THAT(refusal(linked), HasSubstr("links"));
  Problem blocks = many, both = many;
  blocks.model.blocks = 9;
  both.model.bases = both.model.blocks = 1;
  many.model.bases = 100;
  EXPECT_THAT(refusal(many), AllOf(HasSubstr("model.bases: found 100"), HasSubstr("12 relations")));
  EXPECT_THAT(refusal(blocks),
              HasSubstr("model.blocks: found 9, but no layer has as many columns"));
  EXPECT_THAT(refusal(both), HasSubstr("model.blocks: found 1 beside 1 bases"));
}

// ---- batches

TEST(RgcnInBatches, TakesTheMeanOfDrawnNeighboursByRelation) {
  const auto data = typed_dataset(60, 900, 4, 2, true);
  const TypedGraph& typed = *data->typed;
  // A relation may have fanouts of its own.
  const std::map<std::string, std::vector<int>> few{{"b.writes.a", {1, 0}}};
  const std::string all_of = "a.rev_writes.b";
  for (const bool by_relation : {false, true}) {
    MiniBatchSettings settings{.batch = 9, .fanouts = {3, 2}, .fanouts_by_relation = by_relation};
    if (by_relation) settings.fanouts_of = few;
    if (by_relation) settings.fanouts_of[all_of] = {kAllNeighbours, kAllNeighbours};
    const Problem p = typed_problem(data, 1, batches_of(settings));
    const SampledBatches sampled(p);
    const SampledBatch batch = sampled.batch(0, 1, 0);
    const std::vector<Vertex>& vertices = *batch.vertices;
    for (int l = 1; l <= 2; ++l) {
      const auto edges = edges_of(p.model, batch, sampled.relations());
      const RelationStructure& of_layer = *edges[at(l - 1)].relations;
      ASSERT_EQ(of_layer.relations.size(), typed.relations.size());
      std::map<Vertex, std::int64_t> drawn;  // of each vertex
      for (std::size_t k = 0; k < typed.relations.size(); ++k) {
        const int destination = of_layer.relations[k].destination;
        const SparseMatrix& matrix = of_layer.relations[k].matrix;
        EXPECT_EQ(typed.types[at(destination)].name, typed.relations[k].destination);
        EXPECT_EQ(of_layer.relations[k].transposed.csr(), transpose(matrix.csr()));
        std::int64_t r = 0;
        for (const Products::Rows& run : of_layer.types[at(destination)])
          for (std::int64_t i = run.first; i < run.first + run.count; ++i, ++r) {
            const Vertex v = vertices[at(i)];
            std::set<Vertex> from, all;
            for (const Vertex c : matrix.csr().row(r)) from.insert(vertices[at(c)]);
            for (const Vertex u : typed.relations[k].graph->row(v))
              if (u != v) all.insert(u);
            EXPECT_EQ(std::ssize(from), matrix.csr().degree(r)) << "a neighbour came twice";
            EXPECT_TRUE(std::ranges::includes(all, from));
            if (by_relation) {
              const std::string name = typed.relations[k].text();
              const auto own = settings.fanouts_of.find(name);
              const auto& fanouts =
                  own == settings.fanouts_of.end() ? settings.fanouts : own->second;
              const std::int64_t most = name == all_of ? std::ssize(all) : fanouts[at(2 - l)];
              EXPECT_EQ(std::ssize(from), std::min<std::int64_t>(most, std::ssize(all))) << name;
            }
            for (const float value : matrix.row_values(r))
              EXPECT_FLOAT_EQ(value, 1 / static_cast<float>(from.size()));
            drawn[v] += std::ssize(from);
          }
        EXPECT_EQ(r, matrix.rows());
      }
      std::int64_t rows = 0;
      for (const auto& runs : of_layer.types) {
        EXPECT_LE(runs.size(), at(3 - l)) << "rows of a type are in one run of a level";
        for (const Products::Rows& run : runs) rows += run.count;
      }
      EXPECT_EQ(rows, batch.rows[at(l)]);
      for (const auto& [v, count] : drawn) {
        std::int64_t there = 0;
        for (const Relation& relation : typed.relations)
          for (const Vertex u : relation.graph->row(v)) there += u != v;
        if (!by_relation) {
          EXPECT_EQ(count, std::min<std::int64_t>(settings.fanouts[at(2 - l)], there));
        }
      }
    }
  }
}

TEST(RgcnInBatches, OfAllNeighboursAndAllSeedsIsThatOfTheWholeGraph) {
  const auto data = typed_dataset(60, 400, 9, 3, true);
  MiniBatchSettings settings{.batch = 1 << 20, .sampler = BatchSampler::all};
  for (const int bases : {0, 2}) {
    Problem alone = typed_problem(data, 1, {}, 2, 8, bases);
    alone.model.self_by_type = bases == 0;
    alone.model.projection = bases == 0 ? 5 : 0;
    const auto want = losses(execute(alone));
    for (const int ranks : {1, 2, 3, 4}) {
      Problem p = typed_problem(data, ranks, batches_of(settings), 2, 8, bases);
      p.model.self_by_type = bases == 0;
      p.model.projection = alone.model.projection;

      const auto got = losses(execute(p, "cpu"));

      for (std::size_t e = 0; e < want.size(); ++e)
        EXPECT_NEAR(got[e], want[e], 1e-4 * want[e]) << ranks << " ranks, epoch " << e;
    }
  }
}

TEST(RgcnInBatches, OfDrawnNeighboursDoesNotDependOnRanks) {
  const auto data = typed_dataset(80, 700, 9, 3, true);
  for (const BatchSampler sampler : {BatchSampler::neighbour, BatchSampler::labor}) {
    MiniBatchSettings settings{
        .batch = 12, .seeds = SeedsFrom::all, .sampler = sampler, .fanouts = {4, 3}};
    settings.fanouts_by_relation = sampler == BatchSampler::neighbour;
    const auto on = [&](int ranks) {
      Problem p = typed_problem(data, ranks, batches_of(settings));
      p.model.self_by_type = true;
      p.model.projection = settings.fanouts_by_relation ? 5 : 0;
      p.model.dropout = 0.2;
      return losses(execute(p));
    };
    const auto want = on(1);
    for (const int ranks : {2, 3, 4}) {
      const auto got = on(ranks);
      for (std::size_t e = 0; e < want.size(); ++e)
        EXPECT_NEAR(got[e], want[e], 1e-4 * want[e]) << ranks << " ranks, epoch " << e;
    }
  }
}

TEST(RgcnInBatches, StepsAndPeakOfARecordingEqualThoseOfTheRealRun) {
  MiniBatchSettings settings{.batch = 8, .fanouts = {3, 3}};
  Problem p = typed_problem(typed_dataset(60, 400, 12, 4, true), 2, batches_of(settings));
  p.model.projection = 5;
  p.train.epochs = 2;

  const Outcome real = execute(p);
  const auto programs = record_training(*make_strategy(p), p, p.train.epochs, {});

  EXPECT_NO_THROW(check(programs));
  for (std::size_t r = 0; r < programs.size(); ++r) {
    EXPECT_EQ(to_string(real.ranks[r].program), to_string(programs[r]));
    EXPECT_EQ(real.ranks[r].peak_bytes, programs[r].peak_bytes[0]);
    EXPECT_EQ(real.ranks[r].final_bytes, 0);
  }
}

TEST(RgcnInBatches, RefusesSettingsThatKnowNoRelations) {
  const auto data = typed_dataset(60, 400, 9, 3, true);
  const auto refused = [&](const MiniBatchSettings& settings) {
    return refusal(typed_problem(data, 2, batches_of(settings)));
  };
  EXPECT_THAT(refused({.fanouts = {3, 3}, .replace = true}),
              HasSubstr("strategy.replace: rgcn takes the mean of neighbours by relation"));
  EXPECT_THAT(refused({.sampler = BatchSampler::saint_node}), HasSubstr("strategy.sampler"));
  EXPECT_THAT(refused({.fanouts = {3, 3}, .cooperative = true}),
              HasSubstr("strategy.cooperative: does not go with model.type rgcn"));
  const auto with = [](const std::string& relation, std::vector<int> fanouts) {
    return MiniBatchSettings{
        .fanouts = {3, 3}, .fanouts_by_relation = true, .fanouts_of = {{relation, fanouts}}};
  };
  EXPECT_THAT(refused(with("b.write.a", {1, 1})),
              HasSubstr("strategy.fanouts_of: has the unknown relation \"b.write.a\"; did you mean "
                        "\"b.writes.a\"?"));
  EXPECT_THAT(refused(with("b.writes.a", {1})),
              HasSubstr("strategy.fanouts_of: \"b.writes.a\" has 1 numbers, expected one for each "
                        "of the 2 layers"));
}

/// Bounds hold for every drawn batch, of single sizes and of the device's memory.
TEST(TypedBatches, AreWithinTheBoundsThatAreToldBefore) {
  const auto data = typed_dataset(200, 3000, 12, 4, true);
  for (const char* model : {"rgcn", "rgat"})
    for (const bool by_relation : {false, true}) {
      MiniBatchSettings settings{.batch = 6, .fanouts = {2, 2}, .fanouts_by_relation = by_relation};
      if (by_relation) settings.fanouts_of = {{"b.reads.a", {4, 1}}, {"a.finds.c", {0, 3}}};
      Problem p = typed_problem(data, 2, batches_of(settings));
      p.model.type = model_type(model);
      p.model.self_by_type = true;
      p.model.projection = by_relation ? 5 : 0;
      p.train.epochs = 1;
      p.train.eval_every = 0;
      const SampledBatches batches(p);
      for (int layer = 1; layer <= 2; ++layer) {
        const auto most = batches.relation_bounds(layer);
        for (int rank = 0; rank < 2; ++rank)
          for (int step = 0; step < batches.steps(); ++step) {
            const SampledBatch batch = batches.batch(rank, 0, step);
            const RelationStructure drawn =
                make_relations(*batches.relations(), batch.layers[at(layer) - 1].forward,
                               batch.rows[at(layer)], *batch.vertices);
            for (std::size_t r = 0; r < drawn.relations.size(); ++r)
              EXPECT_LE(drawn.relations[r].matrix.nnz(), most.edges[r]);
            for (std::size_t t = 0; t < drawn.types.size(); ++t) {
              std::int64_t rows = 0;
              for (const Products::Rows& run : drawn.types[t]) rows += run.count;
              EXPECT_LE(rows, most.rows[t]);
            }
          }
      }
      const auto strategy = make_strategy(p);
      const auto largest = strategy->with_largest_batches();
      ASSERT_NE(largest, nullptr);
      const auto real = record_training(*strategy, p, 1, {});
      const auto bound = record_training(*largest, p, 1, {});
      EXPECT_NO_THROW(check(bound));
      for (std::size_t rank = 0; rank < real.size(); ++rank) {
        for (const Space space :
             {Space::device, Space::pinned_host, Space::host, Space::server_host})
          EXPECT_LE(real[rank].peak_bytes[at(space)], bound[rank].peak_bytes[at(space)]) << model;
        EXPECT_LE(bound[rank].peak_bytes[0], 4 * real[rank].peak_bytes[0]) << model;
      }
      const auto sizes = strategy->batch_sizes();
      EXPECT_LE(sizes->host_bytes.most, sizes->host_bytes.bound);
    }
}

// ---- what relations tell

TEST(TypedCommunities, AreToldApartBetterByRelations) {
  const auto data = testing::typed_communities(1200, 9000);
  const auto accuracy = [](const std::shared_ptr<const Dataset>& trained, const char* type) {
    Problem p = typed_problem(trained, 1, {}, 2, 16);
    p.model.type = model_type(type);
    p.train.epochs = 80;
    p.train.eval_every = 80;
    return *execute(p, "cpu").epochs.back().scores->test;
  };

  const double by_relation = accuracy(data, "rgcn");

  for (const char* blind : {"gcn", "sage"})
    EXPECT_GT(by_relation, accuracy(data, blind) + 0.15) << blind;
  EXPECT_GT(by_relation, 0.75);

  // Who wrote a paper and who reviewed it is drawn anew among both, and in the reverses alike.
  TypedGraph shuffled = *data->typed;
  const auto position = [&](const std::string& name) {
    return std::ranges::find(shuffled.relations, name, &Relation::name) -
           shuffled.relations.begin();
  };
  const auto write = at(position("writes")), review = at(position("reviews"));
  const Csr both = merge(*shuffled.relations[write].graph, *shuffled.relations[review].graph);
  std::vector<Vertex> source[2], destination[2];
  for (std::int64_t v = 0; v < both.rows; ++v)
    for (const Vertex u : both.row(v)) {
      const std::size_t kind = (static_cast<std::size_t>(v) * 7919 + at(u) * 104729) / 64 % 2;
      source[kind].push_back(u);
      destination[kind].push_back(static_cast<Vertex>(v));
    }
  const std::size_t reverse[2] = {at(position("rev_writes")), at(position("rev_reviews"))};
  const std::size_t forward[2] = {write, review};
  for (const std::size_t kind : {0U, 1U}) {
    Csr graph = build_csr(data->vertices(), source[kind], destination[kind]);
    shuffled.relations[reverse[kind]].graph = std::make_shared<const Csr>(transpose(graph));
    shuffled.relations[forward[kind]].graph = std::make_shared<const Csr>(std::move(graph));
  }
  auto without = std::make_shared<Dataset>(*data);
  set_typed_graph(*without, std::move(shuffled));
  EXPECT_GT(by_relation, accuracy(without, "rgcn") + 0.15);
}

}  // namespace
}  // namespace orrery
