#include "core/graph/training_graph.hpp"

#include <fmt/core.h>

#include <cmath>

#include "core/base/index.hpp"

namespace orrery {
namespace {

/// No vertex of the graph of training vertices.
constexpr Vertex kLeftOut = -1;

template <class T>
std::vector<T> rows_of(const std::vector<T>& values, std::int64_t columns,
                       const std::vector<Vertex>& rows) {
  std::vector<T> chosen;
  if (values.empty()) return chosen;
  chosen.reserve(rows.size() * at(columns));
  for (const Vertex row : rows) {
    const auto first = values.begin() + row * columns;
    chosen.insert(chosen.end(), first, first + columns);
  }
  return chosen;
}

/// Rows and columns of the chosen vertices, which ascend, under their new numbers.
Csr induced(const Csr& graph, const std::vector<Vertex>& chosen) {
  std::vector<Vertex> number(at(graph.rows), kLeftOut);
  for (std::size_t i = 0; i < chosen.size(); ++i) number[at(chosen[i])] = static_cast<Vertex>(i);
  Csr result;
  result.rows = result.cols = std::ssize(chosen);
  result.offsets.reserve(chosen.size() + 1);
  for (const Vertex v : chosen) {
    for (const Vertex u : graph.row(v))
      if (number[at(u)] != kLeftOut) result.columns.push_back(number[at(u)]);
    result.offsets.push_back(result.nnz());
  }
  return result;
}

}  // namespace

std::vector<Vertex> training_vertices(const Dataset& data) {
  std::vector<Vertex> chosen;
  for (std::size_t v = 0; v < data.split.size(); ++v)
    if (data.split[v] == Split::train) chosen.push_back(static_cast<Vertex>(v));
  return chosen;
}

Dataset training_graph(const Dataset& data) {
  std::vector<Vertex> chosen = training_vertices(data);
  Dataset result;
  result.name = data.name;
  result.graph = std::make_shared<const Csr>(induced(*data.graph, chosen));
  result.symmetric = data.symmetric;
  result.labels = {data.labels.classes, data.labels.multilabel,
                   rows_of(data.labels.values, data.labels.columns(), chosen)};
  result.split.assign(chosen.size(), Split::train);
  result.generated = data.generated;
  result.magnify = data.magnify;
  result.notes = data.notes;
  result.notes.push_back(
      fmt::format("inductive: training uses the {} training vertices (of {}) and the {} edges "
                  "among them (of {}), evaluation the whole graph",
                  result.vertices(), data.vertices(), result.edges(), data.edges()));
  if (data.features) result.features = selected(data.features, std::move(chosen));
  return result;
}

GraphStatistics training_graph(const GraphStatistics& graph) {
  GraphStatistics result = graph;
  const auto n = static_cast<double>(graph.vertices),
             t = static_cast<double>(graph.training_vertices);
  const double share = n > 1 ? t * (t - 1) / (n * (n - 1)) : 1;
  result.vertices = graph.training_vertices;
  result.edges =
      graph.training_edges.value_or(std::llround(share * static_cast<double>(graph.edges)));
  return result;
}

}  // namespace orrery
