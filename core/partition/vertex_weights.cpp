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
  }
  return "";
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
  }
  return 0;
}

}  // namespace

VertexWeights vertex_weights(const Csr& graph, std::span<const Constraint> constraints,
                             std::span<const Split> split) {
  ORRERY_ASSERT(split.empty() || static_cast<std::int64_t>(split.size()) == graph.rows);
  VertexWeights weights{static_cast<int>(constraints.size()), {}};
  weights.values.reserve(static_cast<std::size_t>(graph.rows) * constraints.size());
  std::vector<std::int64_t> sums(constraints.size());
  for (std::int64_t v = 0; v < graph.rows; ++v) {
    const auto row = graph.row(v);
    const auto loops = std::count(row.begin(), row.end(), static_cast<Vertex>(v));
    const Split role = split.empty() ? Split::none : split[at(v)];
    for (std::size_t c = 0; c < constraints.size(); ++c) {
      weights.values.push_back(weight(constraints[c], graph.degree(v) - loops, role));
      sums[c] += weights.values.back();
    }
  }
  for (std::size_t c = 0; c < sums.size(); ++c)
    if (sums[c] == 0 && graph.rows > 0 && constraints[c] != Constraint::edges)
      throw ConfigError("partition.constraints",
                        fmt::format("\"{}\" cannot be balanced: the data set has no such vertices; "
                                    "leave it out or give dataset.split",
                                    name_of(constraints[c])));
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
