// A GCN trained by dense loops in double precision, whose products a test gives: the weights that
// inexact strategies learn, computed in another way.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/rng.hpp"
#include "core/model/adjacency.hpp"
#include "tests/support/problems.hpp"

namespace orrery::testing {

using Matrix = std::vector<std::vector<double>>;

inline Matrix zeros(std::size_t rows, std::size_t cols) {
  return Matrix(rows, std::vector<double>(cols, 0));
}
inline Matrix product(const Matrix& a, const Matrix& b) {
  Matrix c = zeros(a.size(), b.front().size());
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t k = 0; k < b.size(); ++k)
      for (std::size_t j = 0; j < c[i].size(); ++j) c[i][j] += a[i][k] * b[k][j];
  return c;
}
inline Matrix transposed(const Matrix& a) {
  Matrix t = zeros(a.front().size(), a.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < a[i].size(); ++j) t[j][i] = a[i][j];
  return t;
}
inline Matrix sum(Matrix a, const Matrix& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < a[i].size(); ++j) a[i][j] += b[i][j];
  return a;
}

/// A of the whole graph, split by whether one rank owns both ends of an entry.
struct SplitAdjacency {
  Matrix own, halo;

  explicit SplitAdjacency(const Problem& p) {
    const SparseMatrix a = normalised_adjacency(*p.data, p.model);
    const auto n = static_cast<std::size_t>(a.csr().rows);
    own = halo = zeros(n, n);
    for (std::size_t v = 0; v < n; ++v) {
      auto e = static_cast<std::size_t>(a.csr().offsets[v]);
      for (const Vertex c : a.csr().row(static_cast<std::int64_t>(v))) {
        const auto u = static_cast<std::size_t>(c);
        (p.partition.owner[u] == p.partition.owner[v] ? own : halo)[v][u] = (*a.values)[e++];
      }
    }
  }
};

/// Y = A·X of a layer and its adjoint, as some strategy has them in an epoch.
class DenseProducts {
 public:
  virtual ~DenseProducts() = default;
  virtual void begin(int /*epoch*/) {}
  virtual Matrix aggregate(int layer, const Matrix& x) = 0;
  virtual Matrix adjoint(int layer, const Matrix& dy) = 0;
  /// The weight of a training vertex in the loss.
  virtual double target_weight(std::size_t /*vertex*/) const { return 1; }
};

/// The training loss of every epoch.
///
/// Requires  GCN without bias, dropout and layer norm; SGD
class DenseGcn {
 public:
  explicit DenseGcn(const Problem& problem) : p_(problem) {
    const Dataset& data = *p_.data;
    std::vector<Vertex> all;
    for (Vertex v = 0; v < data.vertices(); ++v) all.push_back(v);
    const auto f = static_cast<std::size_t>(data.features->width());
    std::vector<float> x(all.size() * f);
    data.features->read(all, 0, data.features->width(), x.data(), data.features->width());
    features_ = zeros(all.size(), f);
    for (std::size_t i = 0; i < x.size(); ++i) features_[i / f][i % f] = x[i];
    for (int l = 1; l <= p_.model.layers; ++l)
      weights_.push_back(
          initial(l - 1, l == 1 ? f : hidden(),
                  l == p_.model.layers ? static_cast<std::size_t>(data.labels.classes) : hidden()));
  }

  std::vector<double> losses(DenseProducts& products) {
    std::vector<double> list;
    for (int epoch = 0; epoch < p_.train.epochs; ++epoch) {
      products.begin(epoch);
      list.push_back(step(products));
    }
    return list;
  }

 private:
  std::size_t hidden() const { return static_cast<std::size_t>(p_.model.hidden); }

  /// The rule of UniformWeights, one element at a time.
  Matrix initial(int parameter, std::size_t in, std::size_t out) const {
    const double limit = std::sqrt(6.0 / static_cast<double>(in + out));
    Matrix w = zeros(in, out);
    for (std::size_t e = 0; e < in * out; ++e) {
      const auto bits =
          random_bits(p_.train.seed, Purpose::weights, static_cast<std::uint32_t>(e / 4),
                      static_cast<std::uint32_t>(parameter));
      w[e / out][e % out] = (2 * static_cast<double>(uniform_float(bits[e % 4])) - 1) * limit;
    }
    return w;
  }

  bool w_first(const Matrix& w) const {
    if (p_.model.order != LayerOrder::automatic)
      return p_.model.order == LayerOrder::transform_first;
    return w.size() >= w.front().size();
  }

  double step(DenseProducts& products) {
    std::vector<Matrix> inputs{features_}, aggregated;  // of each layer; where A comes first A·H
    Matrix z;
    for (std::size_t l = 0; l < weights_.size(); ++l) {
      const int layer = static_cast<int>(l) + 1;
      const Matrix& w = weights_[l];
      if (w_first(w)) {
        aggregated.emplace_back();
        z = products.aggregate(layer, product(inputs[l], w));
      } else {
        aggregated.push_back(products.aggregate(layer, inputs[l]));
        z = product(aggregated[l], w);
      }
      if (l + 1 == weights_.size()) break;
      inputs.push_back(z);
      for (auto& row : inputs.back())
        for (double& value : row) value = std::max(value, 0.0);
    }
    double loss = 0;
    Matrix gradient = gradient_of_loss(products, z, loss);
    for (std::size_t l = weights_.size(); l-- > 0;)
      gradient = back(products, l, inputs, aggregated, gradient);
    return loss;
  }

  /// Updates the layer's weights; the gradient at what the layer below put out.
  Matrix back(DenseProducts& products, std::size_t l, const std::vector<Matrix>& inputs,
              const std::vector<Matrix>& aggregated, const Matrix& dz) {
    const int layer = static_cast<int>(l) + 1;
    const Matrix w = weights_[l];
    Matrix dw, dh;
    if (w_first(w)) {
      const Matrix dp = products.adjoint(layer, dz);
      dw = product(transposed(inputs[l]), dp);
      dh = product(dp, transposed(w));
    } else {
      dw = product(transposed(aggregated[l]), dz);
      if (l > 0) dh = products.adjoint(layer, product(dz, transposed(w)));
    }
    for (std::size_t i = 0; i < w.size(); ++i)
      for (std::size_t j = 0; j < w[i].size(); ++j)
        weights_[l][i][j] -= p_.train.learning_rate * dw[i][j];
    if (l == 0) return {};
    for (std::size_t i = 0; i < dh.size(); ++i)
      for (std::size_t j = 0; j < dh[i].size(); ++j)
        if (inputs[l][i][j] <= 0) dh[i][j] = 0;
    return dh;
  }

  Matrix gradient_of_loss(const DenseProducts& products, const Matrix& logits, double& loss) const {
    Matrix gradient = zeros(logits.size(), logits.front().size());
    const auto training =
        static_cast<double>(std::count(p_.data->split.begin(), p_.data->split.end(), Split::train));
    for (std::size_t v = 0; v < logits.size(); ++v) {
      if (p_.data->split[v] != Split::train) continue;
      const double share = products.target_weight(v) / training;
      double total = 0;
      for (const double logit : logits[v]) total += std::exp(logit);
      const auto label = static_cast<std::size_t>(p_.data->labels.values[v]);
      loss -= std::log(std::exp(logits[v][label]) / total) * share;
      for (std::size_t c = 0; c < logits[v].size(); ++c)
        gradient[v][c] = (std::exp(logits[v][c]) / total - (c == label ? 1 : 0)) * share;
    }
    return gradient;
  }

  const Problem& p_;
  Matrix features_;
  std::vector<Matrix> weights_;
};

/// A problem that DenseGcn can train: small, with steps large enough for epochs to differ.
/// `widens`: layers but the last aggregate first.
inline Problem dense_problem(std::shared_ptr<const Dataset> data, int ranks,
                             const StrategyConfig& strategy, bool widens) {
  Problem p = make_problem(std::move(data), ranks, strategy);
  p.strategy.first_layer = FirstLayer::recompute;
  p.model.layers = 3;
  p.model.hidden = widens ? 9 : 5;
  p.model.dropout = 0;
  p.model.bias = false;
  p.train.epochs = 7;
  p.train.optimizer = OptimizerType::sgd;
  p.train.learning_rate = 1;
  return p;
}

/// Training has the losses of dense loops over these products.
template <class Products>
void expect_dense_losses(const Problem& problem, Products& products) {
  const auto got = losses(execute(problem)), want = DenseGcn(problem).losses(products);
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t e = 0; e < got.size(); ++e)
    EXPECT_NEAR(got[e], want[e], 2e-5 * want[e]) << problem.ranks() << " ranks, epoch " << e;
}

}  // namespace orrery::testing
