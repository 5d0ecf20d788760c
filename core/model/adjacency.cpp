#include "core/model/adjacency.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/parallel.hpp"
#include "core/graph/edges/edge_values.hpp"
#include "core/graph/edges/edge_weights.hpp"
#include "core/model/layer_type.hpp"

namespace orrery {
namespace {

constexpr std::int64_t kRowBlock = 4096;

/// The pattern without self-loops, or with exactly one in every row.
Csr with_self_loops(const Csr& graph, bool add) {
  Csr result;
  result.rows = result.cols = graph.rows;
  for (const std::int64_t length : row_lengths(graph, {add, false}))
    result.offsets.push_back(result.offsets.back() + length);
  result.columns.resize(at(result.offsets.back()));
  parallel_for(graph.rows, kRowBlock, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t v = begin; v < end; ++v) {
      auto* out = result.columns.data() + result.offsets[at(v)];
      const auto self = static_cast<Vertex>(v);
      const auto row = graph.row(v);
      const auto split = std::lower_bound(row.begin(), row.end(), self);
      out = std::copy(row.begin(), split, out);
      if (add) *out++ = self;
      std::copy(split != row.end() && *split == self ? split + 1 : split, row.end(), out);
    }
  });
  return result;
}

template <class Weight>
std::shared_ptr<const std::vector<float>> edge_values(const Csr& pattern, const Weight& weight) {
  std::vector<float> values(static_cast<std::size_t>(pattern.nnz()));
  parallel_for(pattern.rows, kRowBlock, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t v = begin; v < end; ++v) {
      auto* out = values.data() + pattern.offsets[at(v)];
      for (const Vertex u : pattern.row(v)) *out++ = weight(v, u);
    }
  });
  return std::make_shared<const std::vector<float>>(std::move(values));
}

double weight_of(const Csr& graph, const std::vector<float>& weights, std::int64_t row,
                 Vertex column) {
  return weights[at(entry_of(graph, row, column))];
}

}  // namespace

Weighting weighting_of(const ModelConfig& model, bool symmetric_graph) {
  const LayerType& layer = layer_of(model);
  if (layer.scaling == Scaling::sum) return {layer.self_loops, symmetric_graph, true};
  const bool symmetric = layer.scaling == Scaling::chosen &&
                         (model.normalisation == Normalisation::symmetric ||
                          (model.normalisation == Normalisation::automatic && symmetric_graph));
  if (symmetric && !symmetric_graph)
    throw ConfigError("model.normalisation",
                      "\"symmetric\" needs a symmetric graph, but this one is directed; set "
                      "dataset.symmetric to true or use \"row\"");
  return {layer.self_loops, symmetric};
}

std::vector<std::int64_t> row_lengths(const Csr& graph, const Weighting& weight) {
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(graph.rows));
  parallel_for(graph.rows, kRowBlock, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t v = begin; v < end; ++v) {
      const auto row = graph.row(v);
      const bool stored = std::binary_search(row.begin(), row.end(), static_cast<Vertex>(v));
      lengths[at(v)] = graph.degree(v) - (stored ? 1 : 0) + (weight.loops ? 1 : 0);
    }
  });
  return lengths;
}

Csr without_self_loops(const Csr& graph) { return with_self_loops(graph, false); }

SparseMatrix normalised_adjacency(const Csr& graph, bool symmetric_graph, const ModelConfig& model,
                                  std::span<const std::int64_t> lengths) {
  const Weighting weight = weighting_of(model, symmetric_graph);
  auto pattern = std::make_shared<const Csr>(with_self_loops(graph, weight.loops));
  const auto length = [&](std::int64_t v) { return static_cast<double>(lengths[at(v)]); };
  auto values =
      edge_values(*pattern, [&](std::int64_t v, Vertex u) { return weight(length(v), length(u)); });
  return {std::move(pattern), std::move(values), weight.symmetric};
}

SparseMatrix mean_adjacency(const Csr& graph) {
  const auto pattern = std::make_shared<const Csr>(without_self_loops(graph));
  auto values = edge_values(*pattern, [&](std::int64_t v, Vertex) {
    return static_cast<float>(1 / static_cast<double>(pattern->degree(v)));
  });
  return {pattern, std::move(values)};
}

SparseMatrix mean_adjacency(const Csr& graph, const std::vector<float>& weights) {
  const auto pattern = std::make_shared<const Csr>(without_self_loops(graph));
  std::vector<double> sums(at(graph.rows));
  for (std::int64_t v = 0; v < graph.rows; ++v)
    for (const Vertex u : pattern->row(v)) sums[at(v)] += weight_of(graph, weights, v, u);
  auto values = edge_values(*pattern, [&](std::int64_t v, Vertex u) {
    return sums[at(v)] == 0 ? 0.0F
                            : static_cast<float>(weight_of(graph, weights, v, u) / sums[at(v)]);
  });
  return {pattern, std::move(values)};
}

SparseMatrix weighted_adjacency(const Dataset& data, const std::vector<float>& weights,
                                const ModelConfig& model) {
  const Weighting weight = weighting_of(model, data.symmetric);
  const Csr& graph = *data.graph;
  auto pattern = std::make_shared<const Csr>(with_self_loops(graph, weight.loops));
  const std::vector<float> loops = loop_weights(graph, weights);
  const auto of_edge = [&](std::int64_t v, std::int64_t u) -> double {
    return v == u ? loops[at(v)] : weight_of(graph, weights, v, static_cast<Vertex>(u));
  };
  std::vector<double> sums(at(graph.rows));
  bool symmetric = weight.symmetric;
  for (std::int64_t v = 0; v < graph.rows; ++v)
    for (const Vertex u : pattern->row(v)) {
      sums[at(v)] += of_edge(v, u);
      symmetric = symmetric && of_edge(v, u) == of_edge(u, v);
    }
  auto values = edge_values(*pattern, [&](std::int64_t v, Vertex u) {
    const double own = sums[at(v)], other = weight.symmetric ? sums[at(u)] : own;
    if (own == 0 || other == 0) return 0.0F;
    return static_cast<float>(of_edge(v, u) * weight.scale(own, other));
  });
  return {std::move(pattern), std::move(values), symmetric};
}

SparseMatrix normalised_adjacency(const Dataset& data, const ModelConfig& model) {
  return normalised_adjacency(*data.graph, data.symmetric, model,
                              row_lengths(*data.graph, weighting_of(model, data.symmetric)));
}

}  // namespace orrery
