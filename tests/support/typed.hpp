// Small typed problems.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/index.hpp"
#include "core/graph/read/load.hpp"
#include "tests/support/problems.hpp"

namespace orrery::testing {

/// A random graph of three types: "a" has self-loops among its edges, two relations join the same
/// types and share pairs of vertices, one has no edges. All vertices have labels; those of the first
/// type alone are trained on and scored.
inline std::shared_ptr<const Dataset> typed_dataset(std::int64_t vertices, std::int64_t edges,
                                                    std::int64_t features, std::int64_t classes,
                                                    bool symmetric) {
  auto data = std::make_shared<Dataset>(*random_dataset(vertices, 1, features, classes, false));
  data->name = "typed";
  const std::int64_t of_a = 2 * vertices / 5, of_b = vertices / 3;
  TypedGraph typed;
  typed.types = {{"a", 0, of_a}, {"b", of_a, of_b}, {"c", of_a + of_b, vertices - of_a - of_b}};
  Sequence draws(kSeed, Purpose::edges, 1);
  const auto add = [&](const std::string& source, const std::string& name,
                       const std::string& destination, std::int64_t count) {
    std::vector<Vertex> from, to;
    const auto one_of = [&](const VertexType& type) {
      return static_cast<Vertex>(type.first + std::int64_t(draws.below(std::uint64_t(type.count))));
    };
    for (std::int64_t i = 0; i < count; ++i) {
      from.push_back(one_of(*typed.type(source)));
      to.push_back(one_of(*typed.type(destination)));
    }
    typed.relations.push_back(
        {source, name, destination, std::make_shared<const Csr>(build_csr(vertices, from, to))});
  };
  add("a", "likes", "a", edges / 4);
  add("b", "writes", "a", edges / 4);
  add("b", "reads", "a", edges / 4);
  add("c", "holds", "b", edges / 8);
  add("a", "finds", "c", edges / 8);
  add("c", "misses", "c", 0);
  if (symmetric) add_reverse_relations(typed);
  for (std::int64_t v = of_a; v < vertices; ++v) data->split[at(v)] = Split::none;
  set_typed_graph(*data, std::move(typed));
  data->symmetric = symmetric;
  return data;
}

/// Four classes of papers that only the relations tell apart.
inline std::shared_ptr<const Dataset> typed_communities(std::int64_t vertices, std::int64_t edges) {
  DatasetOptions options;
  options.generator = "typed-communities";
  options.generate_vertices = vertices;
  options.generate_edges = edges;
  options.generate_classes = 4;
  options.generate_features = 16;
  options.feature_signal = 2;
  options.mixing = 0.1;
  options.seed = 3;
  return std::make_shared<const Dataset>(load_dataset(options));
}

/// Trained by an RGCN without dropout.
inline Problem typed_problem(const std::shared_ptr<const Dataset>& data, int ranks,
                             const StrategyConfig& strategy = {}, int layers = 2,
                             std::int64_t hidden = 8, int bases = 0,
                             const std::string& partition = "random") {
  Problem problem = make_problem(data, ranks, strategy, partition);
  problem.model.type = {"rgcn"};
  problem.model.layers = layers;
  problem.model.hidden = hidden;
  problem.model.dropout = 0;
  problem.model.bases = bases;
  if (data->typed) {
    problem.model.relations = data->typed->texts();
    problem.model.types = data->typed->type_names();
  }
  problem.train.epochs = 6;
  return problem;
}

}  // namespace orrery::testing
