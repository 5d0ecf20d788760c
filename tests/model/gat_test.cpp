// Graph attention: forward against the equations written out over the graph in double, backward
// against central differences.
#include <functional>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/rng.hpp"
#include "tests/support/gradients.hpp"

namespace orrery {
namespace {

using testing::kSagePool;
using testing::make_problem;
using testing::random_dataset;

using Matrix = std::vector<std::vector<double>>;

ModelConfig gat(int layers, std::int64_t hidden, int heads, int output_heads, Attention form) {
  ModelConfig model;
  model.type = ModelType::gat;
  model.layers = layers;
  model.hidden = hidden;
  model.dropout = 0;
  model.heads = heads;
  model.output_heads = output_heads;
  model.attention = form;
  return model;
}

/// Parameters and logits of a network, taken out of the run.
struct Taken {
  std::vector<Matrix> parameters;
  Matrix logits;
};

/// Runs a step of the given number, which drops what the model drops, or an evaluation.
Taken run_forward(const Problem& problem, std::optional<std::uint32_t> step = std::nullopt) {
  Taken taken;
  ThreadWorld(1).run([&](int, Communicator& communicator) {
    Executor rt({}, make_reference_kernels, communicator);
    const auto plan = make_strategy(problem);
    const auto session = plan->open(rt);
    const auto products = session->load(plan->prepare(0));
    const Dataset& data = *problem.data;
    const Buffer features(rt, {data.vertices(), data.features->width()}, DType::f32, "features");
    rt.submit(Lane::compute, Load{products->data().features(0), features.tensor()});
    const auto network = make_network(rt, problem.model, problem.train, FirstLayer::recompute,
                                      data.features->width(), data.labels.classes);
    rt.sync(rt.record(Lane::compute));
    const Tensor all = network->parameters().weights();
    Sequence draws(testing::kSeed, Purpose::weights, 99);
    for (std::int64_t i = 0; i < all.cols(); ++i)  // so that no bias is zero
      rt.memory().data<float>(all)[i] += static_cast<float>(0.4 * draws.uniform() - 0.2);
    network->attach(*products, features.tensor());
    const Tensor logits = network->forward(features.tensor(), Stage::evaluate, 0, step);
    rt.sync(rt.record(Lane::compute));
    const auto matrix = [&](const Tensor& t) {
      Matrix values;
      for (std::int64_t i = 0; i < t.rows(); ++i) {
        const float* row = rt.memory().data<float>(t) + i * t.ld;
        values.emplace_back(row, row + t.cols());
      }
      return values;
    };
    for (int p = 0; p < network->parameters().count(); ++p)
      taken.parameters.push_back(matrix(network->parameters().weight(p)));
    taken.logits = matrix(logits);
  });
  return taken;
}

/// Columns [first, first + count) of x·w.
Matrix product(const Matrix& x, const Matrix& w, std::size_t first, std::size_t count) {
  Matrix z(x.size(), std::vector<double>(count, 0));
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t c = 0; c < count; ++c)
      for (std::size_t j = 0; j < w.size(); ++j) z[i][c] += x[i][j] * w[j][first + c];
  return z;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t c = 0; c < a.size(); ++c) sum += a[c] * b[c];
  return sum;
}

/// One head: every vertex weighs its in-neighbours and itself by rows of z, and sums up rows of
/// `summed`. a: of the two ends, or none for the dot form. own: what an edge adds to its score.
Matrix one_head(const Csr& graph, const Matrix& z, const Matrix& summed,
                const std::vector<std::vector<double>>& a,
                const std::function<double(std::size_t, std::size_t)>& own) {
  Matrix y(z.size(), std::vector<double>(z[0].size(), 0));
  for (std::size_t i = 0; i < z.size(); ++i) {
    std::vector<std::size_t> neighbours{i};
    for (const Vertex u : graph.row(static_cast<std::int64_t>(i)))
      if (at(u) != i) neighbours.push_back(at(u));
    std::vector<double> power;
    double sum = 0;
    for (const std::size_t j : neighbours) {
      double score = dot(z[i], z[j]) / std::sqrt(static_cast<double>(z[0].size()));
      if (!a.empty()) {
        const double ends = dot(a[0], z[i]) + dot(a[1], z[j]) + own(i, j);
        score = ends > 0 ? ends : 0.2 * ends;
      }
      power.push_back(std::exp(score));
      sum += power.back();
    }
    for (std::size_t n = 0; n < neighbours.size(); ++n)
      for (std::size_t c = 0; c < z[0].size(); ++c)
        y[i][c] += power[n] / sum * summed[neighbours[n]][c];
  }
  return y;
}

/// Columns [first, ...) of what projection dropout leaves of the rows of a layer in a step: by the
/// rule at `struct Dropout`, in columns of their own.
Matrix kept(const ModelConfig& model, Matrix z, std::size_t first, int layer, std::uint32_t step) {
  for (std::size_t i = 0; i < z.size(); ++i)
    for (std::size_t c = 0; c < z[i].size(); ++c) {
      const auto column = kFirstProjectedColumn + static_cast<std::int64_t>(first + c);
      const auto bits = random_bits(testing::kSeed, Purpose::dropout, static_cast<std::uint32_t>(i),
                                    static_cast<std::uint32_t>(column / 8),
                                    step * 4096 + static_cast<std::uint32_t>(layer));
      const auto half = static_cast<std::size_t>(column % 8);
      const std::uint32_t drawn = (bits[half / 2] >> (16 * (half % 2))) & 0xFFFFU;
      const bool drops = drawn < std::lround(model.projection_dropout * 65536);
      z[i][c] *= drops ? 0 : 1 / (1 - model.projection_dropout);
    }
  return z;
}

/// The parameters of a layer are W, the two vectors of every head where there are any, weights for the
/// features of edges where they have some, and a bias.
Matrix expected_logits(const Problem& problem, const std::vector<Matrix>& parameters,
                       std::optional<std::uint32_t> step = std::nullopt) {
  const ModelConfig& model = problem.model;
  const Dataset& data = *problem.data;
  std::vector<float> raw(static_cast<std::size_t>(data.vertices() * data.features->width()));
  std::vector<Vertex> all(static_cast<std::size_t>(data.vertices()));
  for (std::size_t v = 0; v < all.size(); ++v) all[v] = static_cast<Vertex>(v);
  data.features->read(all, 0, data.features->width(), raw.data(), data.features->width());
  Matrix x;
  for (std::size_t v = 0; v < all.size(); ++v) {
    const auto* row = raw.data() + static_cast<std::int64_t>(v) * data.features->width();
    x.emplace_back(row, row + data.features->width());
  }
  const bool additive = model.attention == Attention::additive;
  std::size_t next = 0;
  for (int layer = 1; layer <= model.layers; ++layer) {
    const bool last = layer == model.layers;
    const auto heads = at(last ? model.output_heads : model.heads);
    const Matrix& w = parameters[next++];
    const std::size_t columns = w[0].size() / heads;
    const Matrix ends = additive ? parameters[next++] : Matrix{};
    const Matrix of_features = problem.edge_features ? parameters[next++] : Matrix{};
    const Matrix& bias = parameters[next++];
    Matrix y(x.size(), std::vector<double>(last ? columns : w[0].size(), 0));
    for (std::size_t k = 0; k < heads; ++k) {
      const std::vector<std::vector<double>> a =
          additive ? std::vector{ends[k], ends[heads + k]} : std::vector<std::vector<double>>{};
      const Matrix z = product(x, w, k * columns, columns);
      const Matrix summed = step ? kept(model, z, k * columns, layer, *step) : z;
      const auto own = [&](std::size_t i, std::size_t j) {
        if (!problem.edge_features) return 0.0;
        const auto e = testing::features_of_edge(*problem.edge_features, Vertex(i), Vertex(j));
        double sum = 0;
        for (std::size_t c = 0; c < e.size(); ++c) sum += e[c] * of_features[c][k];
        return sum;
      };
      const Matrix head = one_head(*data.graph, z, summed, a, own);
      for (std::size_t i = 0; i < x.size(); ++i)
        for (std::size_t c = 0; c < columns; ++c)
          y[i][last ? c : k * columns + c] += last ? head[i][c] / double(heads) : head[i][c];
    }
    for (auto& row : y)
      for (std::size_t c = 0; c < row.size(); ++c) {
        row[c] += bias[0][c];
        if (!last && row[c] < 0)
          row[c] = model.activation == Activation::elu ? std::exp(row[c]) - 1 : 0;
      }
    x = std::move(y);
  }
  return x;
}

TEST(Gat, ComputesItsEquationsOnAnyGraph) {
  const auto one_vertex = std::make_shared<Dataset>(*random_dataset(1, 1, 5, 3, true));
  // Among 40 vertices with 60 directed edges, some have no in-edge, and some a stored self-loop.
  const auto directed = random_dataset(40, 60, 5, 3, false);
  std::int64_t without = 0, loops = 0;
  for (std::int64_t v = 0; v < 40; ++v) {
    const auto row = directed->graph->row(v);
    without += row.empty() ? 1 : 0;
    loops += std::count(row.begin(), row.end(), static_cast<Vertex>(v));
  }
  ASSERT_GT(without, 0);
  ASSERT_GT(loops, 0);
  const std::vector<std::shared_ptr<const Dataset>> graphs{
      directed, random_dataset(30, 120, 5, 3, true), one_vertex};
  for (const auto& data : graphs)
    for (const auto& [form, features] :
         {std::pair{Attention::additive, 0}, {Attention::dot, 0}, {Attention::additive, 3}})
      for (const auto& [layers, heads, output_heads] :
           {std::tuple{1, 1, 1}, {1, 1, 3}, {2, 4, 1}, {3, 2, 2}}) {
        Problem problem = make_problem(data, 1, "full_graph");
        problem.model = gat(layers, 8, heads, output_heads, form);
        if (features > 0) testing::add_edge_features(problem, features);
        if (layers == 3) problem.model.activation = Activation::elu;

        const Taken got = run_forward(problem);

        const Matrix want = expected_logits(problem, got.parameters);
        for (std::size_t i = 0; i < want.size(); ++i)
          for (std::size_t c = 0; c < want[i].size(); ++c)
            ASSERT_NEAR(got.logits[i][c], want[i][c], 2e-5) << i << " " << c;
      }
}

// Scores use rows without dropout.
TEST(Gat, DropsElementsOfItsRowsWhereTheyAreSummedOnly) {
  for (const Attention form : {Attention::additive, Attention::dot})
    for (const int layers : {1, 2}) {
      Problem problem = make_problem(random_dataset(30, 120, 5, 3, true), 1, "full_graph");
      problem.model = gat(layers, 8, 2, 2, form);
      problem.model.projection_dropout = 0.4;

      const Taken got = run_forward(problem, 7);

      const Matrix want = expected_logits(problem, got.parameters, 7);
      for (std::size_t i = 0; i < want.size(); ++i)
        for (std::size_t c = 0; c < want[i].size(); ++c)
          ASSERT_NEAR(got.logits[i][c], want[i][c], 2e-5) << i << " " << c;
    }
}

struct GradientCase {
  ModelConfig model;
  bool symmetric;
};

class GatGradient : public ::testing::TestWithParam<GradientCase> {};

TEST_P(GatGradient, EqualsCentralDifferenceOfTheLoss) {
  Problem problem =
      make_problem(random_dataset(30, 120, 10, 3, GetParam().symmetric), 1, "full_graph");
  problem.model = GetParam().model;

  testing::expect_gradient_of_differences(problem);
}

TEST(Gat, GradientsOfFeaturesOfEdgesEqualCentralDifferences) {
  Problem problem = make_problem(random_dataset(30, 120, 10, 3, false), 1, "full_graph");
  problem.model = gat(2, 8, 2, 2, Attention::additive);
  problem.model.attention_dropout = 0.25;
  testing::add_edge_features(problem, 6);

  testing::expect_gradient_of_differences(problem);
}

ModelConfig with(ModelConfig model, double dropout, double attention_dropout, bool residual = false,
                 bool layer_norm = false, bool batch_norm = false) {
  model.dropout = dropout;
  model.attention_dropout = attention_dropout;
  model.residual = residual;
  model.layer_norm = layer_norm;
  model.batch_norm = batch_norm;
  return model;
}

/// The recipe of Veličković et al.
ModelConfig published(ModelConfig model) {
  model = with(model, 0.25, 0.25);
  model.projection_dropout = 0.25;
  model.activation = Activation::elu;
  return model;
}

INSTANTIATE_TEST_SUITE_P(
    Forms, GatGradient,
    ::testing::Values(
        GradientCase{with(gat(2, 8, 4, 1, Attention::additive), 0.25, 0), true},
        GradientCase{with(gat(2, 8, 2, 3, Attention::additive), 0, 0.4), false},
        GradientCase{with(gat(1, 8, 1, 2, Attention::additive), 0.25, 0.25), true},
        GradientCase{with(gat(3, 6, 3, 1, Attention::additive), 0.25, 0.25, true), false},
        GradientCase{with(gat(3, 6, 3, 2, Attention::additive), 0, 0.25, false, true), true},
        GradientCase{with(gat(3, 8, 8, 1, Attention::additive), 0.25, 0, true, false, true), false},
        GradientCase{published(gat(3, 6, 3, 2, Attention::additive)), false},
        GradientCase{published(gat(2, 8, 4, 2, Attention::dot)), true},
        GradientCase{with(gat(2, 8, 4, 1, Attention::dot), 0.25, 0), false},
        GradientCase{with(gat(2, 8, 2, 3, Attention::dot), 0, 0.4), true},
        GradientCase{with(gat(3, 6, 1, 1, Attention::dot), 0.25, 0.25, true, true), true}));

std::string refusal(const ModelConfig& model, const std::string& strategy,
                    const std::function<void(StrategyConfig&)>& change = {}) {
  StrategyConfig config;
  config.type = strategy;
  if (change) change(config);
  try {
    require_possible(config, model);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(Gat, RefusesWhatItCannotHonourAndSaysWhat) {
  const ModelConfig model = gat(2, 8, 4, 1, Attention::additive);
  ModelConfig three = model;
  three.heads = 3;
  const auto says = [](const std::string& text, const std::string& words) {
    EXPECT_NE(text.find(words), std::string::npos) << text;
  };

  EXPECT_EQ(refusal(model, "full_graph"), "");
  says(refusal(three, "full_graph"), "model.heads: found 3, but hidden layers are 8 wide");
  ModelConfig of_dots = model;
  of_dots.attention = Attention::dot;
  says(refusal(model, "spmm_2d"), "use one of full_graph");
  says(refusal(of_dots, "spmm_1d"), "use \"additive\", or one of full_graph");
  says(refusal(of_dots, "spmm_15d"), "use \"additive\", or one of full_graph");
  says(refusal(model, "spmm_1d", [](auto& c) { c.variant = Variant::column; }), "use \"row\"");
  says(refusal(model, "spmm_1d", [](auto& c) { c.staleness = 2; }), "set it to 0");
  says(refusal(model, "full_graph", [](auto& c) { c.column_tiles = 2; }), "set it to 1");
  says(refusal(model, "full_graph", [](auto& c) { c.boundary_sampling = 0.5; }), "set it to 1");
  says(refusal(model, "full_graph", [](auto& c) { c.staleness = 1; }), "set it to 0");
  says(refusal(model, "full_graph", [](auto& c) { c.memory = Memory::autograd; }), "\"lean\"");
  says(refusal(model, "mini_batch",
               [](auto& c) {
                 c.own = MiniBatchSettings{.fanouts = {3, 3}, .replace = true};
               }),
       "strategy.replace");
}

TEST(SagePool, RefusesStrategiesWhoseRowsPassBy) {
  ModelConfig model;
  model.type = kSagePool;
  model.hidden = 7;  // heads would have to divide it

  EXPECT_EQ(refusal(model, "full_graph"), "");
  for (const char* strategy : {"spmm_1d", "spmm_15d"})
    EXPECT_NE(refusal(model, strategy).find("use one of full_graph"), std::string::npos);
}

}  // namespace
}  // namespace orrery
