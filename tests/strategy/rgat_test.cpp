// Attention by relation: its equation in double, its gradients by differences, the losses of one rank on
// several and in batches, what travels, and that it learns what relations tell.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/base/error.hpp"
#include "core/runtime/check/check.hpp"
#include "core/strategy/structure/sampled_batches.hpp"
#include "core/strategy/train/record.hpp"
#include "tests/support/gradients.hpp"
#include "tests/support/typed.hpp"
#include "tests/support/typed_forward.hpp"

namespace orrery {
namespace {

using testing::batches_of;
using testing::execute;
using ::testing::HasSubstr;
using testing::losses;
using testing::Matrix;
using testing::refusal;
using testing::typed_dataset;

/// Trained without dropout.
Problem attention(const std::shared_ptr<const Dataset>& data, int ranks,
                  const StrategyConfig& strategy = {}, const std::string& partition = "random") {
  Problem problem = testing::typed_problem(data, ranks, strategy, 2, 8, 0, partition);
  problem.model.type = {"rgat"};
  problem.model.heads = 4;
  problem.model.output_heads = 2;
  return problem;
}

Matrix product(const Matrix& x, const Matrix& w) {
  Matrix y(x.size(), std::vector<double>(w[0].size(), 0));
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t a = 0; a < w.size(); ++a)
      for (std::size_t b = 0; b < w[a].size(); ++b) y[i][b] += x[i][a] * w[a][b];
  return y;
}

/// What an edge adds to its score for a head, beside its two ends.
using OwnScore = std::function<double(Vertex destination, Vertex source, std::size_t head)>;

/// Adds attention among the in-neighbours by one relation; heads side by side, or their mean.
void add_attention(Matrix& y, const Matrix& x, const Csr& edges, const Matrix& weight,
                   const Matrix& ends, Attention form, const OwnScore& own) {
  const Matrix z = product(x, weight);
  const std::size_t heads = form == Attention::additive ? ends.size() / 2 : ends.size(),
                    columns = weight[0].size() / heads, out = y[0].size();
  const double share = out == columns ? 1.0 / double(heads) : 1;
  for (std::size_t v = 0; v < x.size(); ++v)
    for (std::size_t h = 0; h < heads; ++h) {
      std::vector<std::pair<std::size_t, double>> from;
      double sum = 0;
      for (const Vertex u : edges.row(std::int64_t(v))) {
        if (at(u) == v) continue;
        double score = own(Vertex(v), u, h);
        for (std::size_t c = 0; c < columns; ++c)
          score += form == Attention::additive ? z[v][h * columns + c] * ends[h][c] +
                                                     z[at(u)][h * columns + c] * ends[heads + h][c]
                                               : z[v][h * columns + c] * z[at(u)][h * columns + c] /
                                                     std::sqrt(double(columns));
        if (form == Attention::additive && score < 0) score *= 0.2;
        from.emplace_back(at(u), std::exp(score));
        sum += from.back().second;
      }
      for (const auto& [u, e] : from)
        for (std::size_t c = 0; c < columns; ++c)
          y[v][out == columns ? c : h * columns + c] += share * e / sum * z[u][h * columns + c];
    }
}

TEST(Rgat, ComputesItsEquation) {
  const auto data = typed_dataset(40, 240, 6, 3, false);
  for (const auto& [form, features] :
       {std::pair{Attention::additive, 0}, {Attention::dot, 0}, {Attention::additive, 3}}) {
    Problem p = attention(data, 1);
    p.model.attention = form;
    p.model.self_by_type = form == Attention::dot;
    if (features > 0) testing::add_edge_features(p, features);

    const testing::Taken taken = testing::run_forward(p);

    Matrix x = testing::features_of(*data);
    for (int l = 1; l <= 2; ++l) {
      const std::string layer = "layers." + std::to_string(l) + ".";
      Matrix y(x.size(), taken.parameters.at(layer + "bias")[0]);
      for (const VertexType& type : data->typed->types)
        for (Vertex v = Vertex(type.first); v < type.first + type.count; ++v) {
          const Matrix own = product(
              {x[at(v)]},
              taken.parameters.at(layer + (p.model.self_by_type ? "self." + type.name : "self")));
          for (std::size_t c = 0; c < own[0].size(); ++c) y[at(v)][c] += own[0][c];
        }
      for (std::uint32_t r = 0; r < data->typed->relations.size(); ++r) {
        const Relation& relation = data->typed->relations[r];
        const std::string part = layer + relation.text() + ".";
        const Matrix heads(l == 1 ? 4 : 2);
        const auto own = [&](Vertex v, Vertex u, std::size_t head) {
          if (!p.edge_features) return 0.0;
          const auto e = testing::features_of_edge(*p.edge_features, v, u, r);
          const Matrix& weights = taken.parameters.at(part + "edge_features");
          double sum = 0;
          for (std::size_t c = 0; c < e.size(); ++c) sum += e[c] * weights[c][head];
          return sum;
        };
        add_attention(y, x, *relation.graph, taken.parameters.at(part + "weight"),
                      form == Attention::additive ? taken.parameters.at(part + "attention") : heads,
                      form, own);
      }
      if (l == 1)
        for (auto& row : y)
          for (double& value : row) value = std::max(value, 0.0);
      x = std::move(y);
    }
    ASSERT_EQ(taken.logits.size(), x.size());
    for (std::size_t i = 0; i < x.size(); ++i)
      for (std::size_t c = 0; c < x[i].size(); ++c)
        ASSERT_NEAR(taken.logits[i][c], x[i][c], 1e-4 * (1 + std::abs(x[i][c]))) << "row " << i;
  }
}

TEST(Rgat, GradientsEqualCentralDifferencesOfTheLoss) {
  for (const Attention form : {Attention::additive, Attention::dot})
    for (const bool by_type : {false, true}) {
      Problem p = attention(typed_dataset(30, 160, 7, 3, by_type), 1);
      p.model.attention = form;
      p.model.self_by_type = by_type;
      p.model.projection = by_type ? 5 : 0;
      p.model.dropout = 0.25;
      p.model.attention_dropout = 0.3;
      p.model.layer_norm = p.model.residual = by_type;
      p.model.layers = by_type ? 3 : 2;

      testing::expect_gradient_of_differences(p);
    }
}

TEST(Rgat, LossesAreThoseOfOneRank) {
  const auto data = typed_dataset(70, 500, 11, 4, true);
  for (const Attention form : {Attention::additive, Attention::dot}) {
    const auto on = [&](int ranks, const std::string& kernels, const char* partition) {
      Problem p = attention(data, ranks, {}, partition);
      p.model.attention = form;
      p.model.projection = form == Attention::dot ? 6 : 0;
      p.model.dropout = 0.2;
      p.model.attention_dropout = 0.3;
      return losses(execute(p, kernels));
    };
    const auto want = on(1, "reference", "random");
    EXPECT_GT(std::abs(want.back() - want.front()), 0.01) << "nothing is learned";
    for (const int ranks : {1, 2, 3, 4})
      for (const auto& [kernels, partition] :
           {std::pair{"reference", "block"}, {"cpu", "random"}}) {
        const auto got = on(ranks, kernels, partition);
        for (std::size_t e = 0; e < want.size(); ++e)
          EXPECT_NEAR(got[e], want[e], 1e-4 * want[e])
              << ranks << " ranks, " << kernels << ", epoch " << e;
      }
  }
}

TEST(Rgat, BatchesOfAllSeedsAndNeighboursAreTheWholeGraph) {
  const auto data = typed_dataset(60, 400, 9, 3, true);
  const MiniBatchSettings settings{.batch = 1 << 20, .sampler = BatchSampler::all};
  Problem alone = attention(data, 1);
  alone.model.attention_dropout = 0.3;
  const auto want = losses(execute(alone));
  for (const int ranks : {1, 2, 3}) {
    Problem p = attention(data, ranks, batches_of(settings));
    p.model.attention_dropout = 0.3;

    const auto got = losses(execute(p, "cpu"));

    for (std::size_t e = 0; e < want.size(); ++e)
      EXPECT_NEAR(got[e], want[e], 1e-4 * want[e]) << ranks << " ranks, epoch " << e;
  }
}

TEST(Rgat, BatchesOfDrawnNeighboursDoNotDependOnRanks) {
  const auto data = typed_dataset(80, 700, 9, 3, true);
  const MiniBatchSettings settings{
      .batch = 12, .seeds = SeedsFrom::all, .fanouts = {3, 2}, .fanouts_by_relation = true};
  const auto on = [&](int ranks) {
    Problem p = attention(data, ranks, batches_of(settings));
    p.model.self_by_type = true;
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

// What is recorded for a simulation is what runs: steps, and the peak of the memory, to the byte.
TEST(Rgat, StepsAndPeakOfARecordingEqualThoseOfTheRealRun) {
  const auto data = typed_dataset(60, 400, 12, 4, true);
  const MiniBatchSettings settings{.batch = 8, .fanouts = {3, 3}};
  for (const StrategyConfig& strategy : {StrategyConfig{}, batches_of(settings)}) {
    Problem p = attention(data, 2, strategy);
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

TEST(Rgat, IsRefusedWhereItCannotBeHonoured) {
  const auto data = typed_dataset(40, 200, 8, 3, true);
  Problem magnified = attention(data, 2), uneven = magnified;
  auto many = std::make_shared<Dataset>(*data);
  many->magnify = 3;
  magnified.data = many;
  EXPECT_THAT(refusal(magnified),
              HasSubstr("dataset.magnify: model.type rgat weighs edges, which copies of a vertex "
                        "have only in batches"));
  uneven.model.heads = 3;
  EXPECT_THROW(require_sound(uneven.model), ConfigError);
}

}  // namespace
}  // namespace orrery
