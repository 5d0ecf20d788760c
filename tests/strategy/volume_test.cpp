// What every rank receives in an epoch, by link class, against the formulas of the literature
// written out over the graph: by brute force over edges, nothing shared with the strategies.
//
// Source    CAGNET (1D, 1.5D, 2D); MG-GCN 5.1
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "core/base/index.hpp"
#include "core/runtime/summary.hpp"
#include "core/strategy/make_strategy.hpp"
#include "core/strategy/train/record.hpp"
#include "tests/support/problems.hpp"

namespace orrery {
namespace {

using testing::make_problem;
using testing::random_dataset;

constexpr std::int64_t kFeatures = 24, kHidden = 40, kClasses = 5;
constexpr int kLayers = 3;

/// GCN: what each layer aggregates is as wide as its input or its output; the first layer's
/// gradient is not passed down, so it needs Aᵀ only where it multiplies by W first.
struct Widths {
  std::vector<std::int64_t> d{kFeatures, kHidden, kHidden, kClasses};
  std::array<std::int64_t, kLayers + 1> aggregated{};  ///< by layer, from 1
  std::array<bool, kLayers + 1> adjoint{};             ///< whether there is a product with Aᵀ
  std::int64_t forward = 0, backward = 0;              ///< sums over the products
  explicit Widths(LayerOrder order) {
    for (std::size_t l = 1; l <= kLayers; ++l) {
      const auto in = d[l - 1], out = d[l];
      const bool w_first =
          order == LayerOrder::transform_first || (order == LayerOrder::automatic && out <= in);
      aggregated[l] = w_first ? out : in;
      adjoint[l] = l > 1 || w_first;
      forward += aggregated[l];
      backward += adjoint[l] ? aggregated[l] : 0;
    }
  }
};

/// Bytes from every other rank.
using Received = std::vector<double>;

class Volume : public ::testing::TestWithParam<LayerOrder> {
 protected:
  Problem problem(StrategyConfig config, int ranks, bool symmetric) {
    Problem p =
        make_problem(random_dataset(83, 420, kFeatures, kClasses, symmetric), ranks, config);
    p.strategy.first_layer = FirstLayer::recompute;
    p.model.layers = kLayers;
    p.model.hidden = kHidden;
    p.model.order = GetParam();
    p.train.epochs = 1;
    for (auto& owner : p.partition.owner)  // uneven parts
      if (owner == 1 && p.partition.parts > 2) owner = 0;
    return p;
  }

  std::int64_t size_of(const Problem& p, int part) const {
    return std::count(p.partition.owner.begin(), p.partition.owner.end(), part);
  }

  /// Weights and biases.
  double gradient_bytes() const {
    double floats = 0;
    for (int l = 1; l <= kLayers; ++l) {
      const auto in = w_.d[static_cast<std::size_t>(l) - 1],
                 out = w_.d[static_cast<std::size_t>(l)];
      floats += static_cast<double>(in * out + out);
    }
    return 4 * floats;
  }

  /// Distinct vertices of part `from` that are in-neighbours of vertices of part `of`.
  double needed(const Problem& p, int of, int from) const {
    std::set<Vertex> rows;
    for (std::int64_t v = 0; v < p.data->vertices(); ++v)
      for (const Vertex u : p.data->graph->row(v))
        if (u != v && owner(p, static_cast<Vertex>(v)) == of && owner(p, u) == from) rows.insert(u);
    return static_cast<double>(rows.size());
  }

  /// Entries of tile (i, k) of A (or of Aᵀ): edges from part k to part i, and a self-loop a vertex.
  double tile_entries(const Problem& p, int i, int k, bool adjoint) const {
    double entries = i == k ? static_cast<double>(size_of(p, i)) : 0;
    for (std::int64_t v = 0; v < p.data->vertices(); ++v)
      for (const Vertex u : p.data->graph->row(v)) {
        const int to = owner(p, static_cast<Vertex>(v)), from = owner(p, u);
        if (u != v && (adjoint ? to == k && from == i : to == i && from == k)) ++entries;
      }
    return entries;
  }

  static int owner(const Problem& p, Vertex v) {
    return p.partition.owner[static_cast<std::size_t>(v)];
  }

  /// The plan's volumes of each rank, by link class on two servers, are the sums of `formula`.
  template <class Formula>
  void expect_volumes(const Problem& p, const Formula& formula) {
    const int ranks = p.ranks();
    const Placement placement = Placement::uniform(2, ranks / 2);
    const auto programs = record_training(*make_strategy(p), p, 1, {});
    for (int r = 0; r < ranks; ++r) {
      const Received from = formula(r);
      double internal = 0, external = 0;
      for (int peer = 0; peer < ranks; ++peer)
        (peer / (ranks / 2) == r / (ranks / 2) ? internal : external) +=
            from[static_cast<std::size_t>(peer)];

      const auto sum = summarise(programs[static_cast<std::size_t>(r)], placement).epoch.sum();

      EXPECT_NEAR(sum.internal, internal, 1e-3) << "rank " << r;
      EXPECT_NEAR(sum.external, external, 1e-3) << "rank " << r;
    }
  }

  const Widths w_{GetParam()};
};

std::string name_of_order(const ::testing::TestParamInfo<LayerOrder>& info) {
  constexpr std::array kNames{"Automatic", "AggregateFirst", "TransformFirst"};
  return kNames.at(static_cast<std::size_t>(info.param));
}
INSTANTIATE_TEST_SUITE_P(Orders, Volume,
                         ::testing::Values(LayerOrder::automatic, LayerOrder::aggregate_first,
                                           LayerOrder::transform_first),
                         name_of_order);

StrategyConfig config_of(const std::string& type) {
  StrategyConfig config;
  config.type = type;
  return config;
}

double& entry(Received& list, int i) { return list[static_cast<std::size_t>(i)]; }

/// n·f·(P − 1)/P: every other rank's rows, once a product.
TEST_P(Volume, OfOneDimensionalBroadcasts) {
  const Problem p = problem(config_of("spmm_1d"), 4, false);

  expect_volumes(p, [&](int r) {
    Received from(4, 0);
    for (int j = 0; j < 4; ++j)
      if (j != r)
        entry(from, j) = 4.0 * static_cast<double>(size_of(p, j) * (w_.forward + w_.backward)) +
                         2 * gradient_bytes() / 4;
    return from;
  });
}

/// Contributions of every other rank to the own rows, once a product.
TEST_P(Volume, OfOneDimensionalReduces) {
  StrategyConfig config = config_of("spmm_1d");
  config.variant = Variant::column;
  const Problem p = problem(config, 4, false);

  expect_volumes(p, [&](int r) {
    Received from(4, 0);
    for (int j = 0; j < 4; ++j)
      if (j != r)
        entry(from, j) = 4.0 * static_cast<double>(size_of(p, r) * (w_.forward + w_.backward)) +
                         2 * gradient_bytes() / 4;
    return from;
  });
}

/// 1D, sparsity-aware: distinct remote rows forward; backward the gradients of what was sent.
TEST_P(Volume, OfFullGraphHalos) {
  const Problem p = problem(config_of("full_graph"), 4, false);

  expect_volumes(p, [&](int r) {
    Received from(4, 0);
    for (int j = 0; j < 4; ++j)
      if (j != r)
        entry(from, j) = 4.0 * (needed(p, r, j) * static_cast<double>(w_.forward) +
                                needed(p, j, r) * static_cast<double>(w_.backward)) +
                         2 * gradient_bytes() / 4;
    return from;
  });
}

/// n·f/c − own, broadcast within the column; 2(c − 1)·n·f/P, summed within the row. On 14 ranks
/// with c = 2 the grid is 7 x 2 and the last column takes 4 stages, the first 3.
TEST_P(Volume, OfOneAndAHalfDimensions) {
  for (const auto& [ranks, c] : {std::pair{4, 2}, {14, 2}, {6, 1}, {18, 3}}) {
    StrategyConfig config = config_of("spmm_15d");
    config.replication = c;
    const Problem p = problem(config, ranks, true);
    const int rows = ranks / c, share = ranks / (c * c);

    expect_volumes(p, [&, c = c, ranks = ranks](int rank) {
      const int row = rank / c, column = rank % c;
      const auto f = static_cast<double>(w_.forward + w_.backward);
      Received from(static_cast<std::size_t>(ranks), 0);
      const int last = column + 1 == c ? rows : (column + 1) * share;
      for (int k = column * share; k < last; ++k)
        if (k != row) entry(from, k * c + column) += 4 * static_cast<double>(size_of(p, k)) * f;
      for (int j = 0; j < c; ++j)
        if (j != column)
          entry(from, row * c + j) += 2 * 4 * static_cast<double>(size_of(p, row)) * f / c;
      for (int k = 0; k < rows; ++k)
        if (k != row) entry(from, k * c + column) += 2 * gradient_bytes() / rows;
      return from;
    });
  }
}

/// Tiles of A along the row, blocks of H along the column; for W blocks along the row: forward of
/// the layer's input, backward of its output's gradient, once for the input and once for W.
TEST_P(Volume, OfTwoDimensions) {
  constexpr int q = 2;
  const Problem p = problem(config_of("spmm_2d"), q * q, false);
  // Shares of columns are multiples of 8: 24 = 16 + 8, 40 = 24 + 16, 5 = 5 + 0.
  const std::map<std::int64_t, std::array<double, q>> share{
      {24, {16, 8}}, {40, {24, 16}}, {5, {5, 0}}};

  expect_volumes(p, [&](int rank) {
    const int i = rank / q, j = rank % q, row_peer = i * q + (1 - j), column_peer = (1 - i) * q + j;
    const auto own = static_cast<double>(size_of(p, i)),
               other = static_cast<double>(size_of(p, 1 - i));
    Received from(q * q, 0);
    const auto product = [&](std::int64_t width, bool adjoint) {
      entry(from, row_peer) += 8 * (own + 1) + 8 * tile_entries(p, i, 1 - j, adjoint);
      entry(from, column_peer) += 4 * other * share.at(width)[static_cast<std::size_t>(j)];
    };
    const auto along_row = [&](std::int64_t width) {
      entry(from, row_peer) += 4 * own * share.at(width)[static_cast<std::size_t>(1 - j)];
    };
    for (int l = 1; l <= kLayers; ++l) {
      const auto in = w_.d[static_cast<std::size_t>(l) - 1],
                 out = w_.d[static_cast<std::size_t>(l)];
      const auto layer = static_cast<std::size_t>(l);
      product(w_.aggregated[layer], false);
      along_row(in);              // X·W
      along_row(out);             // for the gradient of W
      if (l > 1) along_row(out);  // for the gradient of X
      if (w_.adjoint[layer]) product(w_.aggregated[layer], true);
    }
    along_row(kClasses);  // whole rows for the loss
    for (int peer = 0; peer < q * q; ++peer)
      if (peer != rank) entry(from, peer) += 2 * gradient_bytes() / (q * q);
    return from;
  });
}

/// Columns of what ranks exchange in the second epoch, in order.
std::vector<std::int64_t> exchanged_widths(const ModelConfig& model, int staleness) {
  StrategyConfig config = config_of("full_graph");
  config.staleness = staleness;
  Problem p = make_problem(random_dataset(40, 160, 602, 41, true), 2, config);
  p.model = model;
  p.train.eval_every = 0;
  const Program program = record_training(*make_strategy(p), p, 2, {}).front();

  std::vector<std::int64_t> widths;
  Phase phase;
  for (const Step& step : program.steps) {
    if (const auto* mark = std::get_if<PhaseStep>(&step)) phase = mark->phase;
    const auto* submit = std::get_if<SubmitStep>(&step);
    if (submit == nullptr || !phase.in_epoch() || phase.epoch != 1) continue;
    if (const auto* exchange = std::get_if<AllToAllV>(&submit->op))
      widths.push_back(exchange->x.cols());
  }
  return widths;
}

/// Raw input rows travel in every epoch, and nothing comes back for them: 602 + 64 + 64 columns
/// forward and 64 + 64 back for Reddit.
///
/// Source    PipeGCN, vanilla training without its precomputed first layer
TEST(PipeGcnExchange, IsFiveOfInputsWhereAggregationComesFirst) {
  const std::vector<std::int64_t> inputs{602, 64, 64, 64, 64};
  ModelConfig model{.type = ModelType::sage, .layers = 3, .hidden = 64, .dropout = 0.5};

  EXPECT_EQ(exchanged_widths(model, 0), (std::vector<std::int64_t>{64, 64, 41, 41, 64, 64}));
  model.order = LayerOrder::aggregate_first;
  EXPECT_EQ(exchanged_widths(model, 0), inputs);
  EXPECT_EQ(exchanged_widths(model, 1), inputs) << "one epoch old";
}

/// Inputs forward, and gradients of outputs back, in every layer.
///
/// Source    CAGNET's public code, GCNFunc
TEST(CagnetExchange, IsOfInputsForwardAndOfGradientsOfOutputsBack) {
  ModelConfig model{.type = ModelType::gcn, .layers = 3, .hidden = 64, .dropout = 0.5};
  model.order = LayerOrder::aggregate_both;

  EXPECT_EQ(exchanged_widths(model, 0), (std::vector<std::int64_t>{602, 64, 64, 41, 64, 64}));
}

/// Two graph convolutions and a dense layer, as in GraNNDis' Figure 15: two exchanges each way.
TEST(DenseLayers, ExchangeNothing) {
  ModelConfig model{.type = ModelType::gcn, .layers = 2, .hidden = 64, .dropout = 0.5};
  model.dense_layers = 1;

  EXPECT_EQ(exchanged_widths(model, 0), (std::vector<std::int64_t>{64, 64, 64, 64}));
  model.layers = 3;
  model.dense_layers = 0;
  EXPECT_EQ(exchanged_widths(model, 0), (std::vector<std::int64_t>{64, 64, 41, 41, 64, 64}));
}

}  // namespace
}  // namespace orrery
