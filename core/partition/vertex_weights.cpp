#include "core/partition/vertex_weights.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "core/base/error.hpp"
#include "core/base/index.hpp"

namespace orrery {

std::string_view name_of(Constraint constraint) {
  switch (constraint) {
    case Constraint::work:
      return "work";
    case Constraint::vertices:
      return "vertices";
    case Constraint::edges:
      return "edges";
    case Constraint::training:
      return "training";
    case Constraint::validation:
      return "validation";
    case Constraint::test:
      return "test";
    case Constraint::types:
      return "types";
  }
  return "";
}

std::vector<std::string> names_of(std::span<const Constraint> constraints) {
  std::vector<std::string> names;
  for (const Constraint constraint : constraints) names.emplace_back(name_of(constraint));
  return names;
}

namespace {

std::int32_t weight(Constraint constraint, std::int64_t degree, Split role) {
  switch (constraint) {
    case Constraint::work:
      return static_cast<std::int32_t>(1 + degree);
    case Constraint::vertices:
      return 1;
    case Constraint::edges:
      return static_cast<std::int32_t>(degree);
    case Constraint::training:
      return role == Split::train ? 1 : 0;
    case Constraint::validation:
      return role == Split::validation ? 1 : 0;
    case Constraint::test:
      return role == Split::test ? 1 : 0;
    case Constraint::types:
      break;  // not one number
  }
  return 0;
}

[[noreturn]] void refuse(Constraint constraint, const std::string& why) {
  throw ConfigError("partition.constraints",
                    fmt::format("\"{}\" cannot be balanced: {}", name_of(constraint), why));
}

}  // namespace

VertexWeights vertex_weights(const Csr& graph, std::span<const Constraint> constraints,
                             std::span<const Split> split,
                             std::span<const std::int64_t> type_counts) {
  ORRERY_ASSERT(split.empty() || static_cast<std::int64_t>(split.size()) == graph.rows);
  ORRERY_ASSERT(type_counts.empty() || std::accumulate(type_counts.begin(), type_counts.end(),
                                                       std::int64_t{0}) == graph.rows);
  struct Column {
    Constraint constraint;
    std::size_t type;  ///< for types: which one
  };
  std::vector<Column> columns;
  for (const Constraint constraint : constraints) {
    if (constraint == Constraint::types && type_counts.empty())
      refuse(constraint, "the vertices of the data set have no types");
    const std::size_t count = constraint == Constraint::types ? type_counts.size() : 1;
    for (std::size_t type = 0; type < count; ++type) columns.push_back({constraint, type});
  }
  VertexWeights weights{static_cast<int>(columns.size()), {}};
  weights.values.reserve(static_cast<std::size_t>(graph.rows) * columns.size());
  std::vector<std::int64_t> sums(columns.size());
  std::size_t type = 0;
  std::int64_t end_of_type = type_counts.empty() ? graph.rows : type_counts.front();
  for (std::int64_t v = 0; v < graph.rows; ++v) {
    while (v >= end_of_type) end_of_type += type_counts[++type];
    const auto row = graph.row(v);
    const auto loops = std::count(row.begin(), row.end(), static_cast<Vertex>(v));
    const Split role = split.empty() ? Split::none : split[at(v)];
    for (std::size_t c = 0; c < columns.size(); ++c) {
      weights.values.push_back(columns[c].constraint == Constraint::types
                                   ? (columns[c].type == type ? 1 : 0)
                                   : weight(columns[c].constraint, graph.degree(v) - loops, role));
      sums[c] += weights.values.back();
    }
  }
  for (std::size_t c = 0; c < sums.size(); ++c) {
    const Constraint constraint = columns[c].constraint;
    if (sums[c] == 0 && graph.rows > 0 && constraint != Constraint::edges &&
        constraint != Constraint::types)
      refuse(constraint, "the data set has no such vertices; leave it out or give dataset.split");
  }
  return weights;
}

std::vector<double> balances(const VertexWeights& weights, std::span<const std::int32_t> owner,
                             int parts) {
  const auto kinds = static_cast<std::size_t>(weights.constraints);
  std::vector<std::int64_t> loads(static_cast<std::size_t>(parts) * kinds);
  for (std::size_t i = 0; i < weights.values.size(); ++i)
    loads[at(owner[i / kinds]) * kinds + i % kinds] += weights.values[i];
  std::vector<double> result;
  for (std::size_t c = 0; c < kinds; ++c) {
    std::int64_t most = 0, sum = 0;
    for (std::size_t i = c; i < loads.size(); i += kinds) {
      most = std::max(most, loads[i]);
      sum += loads[i];
    }
    result.push_back(sum == 0 ? 1 : static_cast<double>(most) * parts / static_cast<double>(sum));
  }
  return result;
}

}  // namespace orrery
