#include "core/strategy/structure/problem.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/error.hpp"
#include "core/terminal/words.hpp"

namespace orrery {

DataFacts ProblemData::facts() const {
  if (statistics) return facts_of(*statistics);
  DataFacts facts = stored ? stored->facts() : facts_of(*data);
  if (links) {
    facts.classes = links->config.width;
    facts.multilabel = false;
  }
  return facts;
}

const TypedGraph* ProblemData::typed() const {
  if (stored) return stored->typed() ? &*stored->typed() : nullptr;
  return data ? data->typed.get() : nullptr;
}

std::shared_ptr<const PartitionedGraph> partitioned_graph(const Problem& problem) {
  if (problem.statistics)
    return partitioned_by_statistics(*problem.statistics, problem.model, problem.partition.parts);
  if (problem.stored) return partitioned_in_folder(problem.stored, problem.model);
  return partitioned_in_memory(problem.data, problem.model, problem.partition,
                               problem.edge_weights.get());
}

std::vector<bool> learned_vertices(const Problem& problem, const std::vector<Vertex>& vertices) {
  const Dataset& data = *problem.data;
  const std::vector<std::string>& names = problem.strategy.learned->types;
  if (names.empty()) return std::vector<bool>(vertices.size(), true);
  const auto fail = [](const std::string& why) {
    throw ConfigError("strategy.learned_types", why);
  };
  if (!data.typed)
    fail(fmt::format("'{}' has no vertex types in its meta.json: leave it out", data.name));
  std::vector<const VertexType*> types;
  for (const std::string& name : names) {
    types.push_back(data.typed->type(name));
    if (types.back() == nullptr)
      fail("has " + unknown("vertex type", name, data.typed->type_names()));
  }
  std::vector<bool> made;
  for (const Vertex v : vertices)
    made.push_back(std::any_of(types.begin(), types.end(),
                               [v](const VertexType* type) { return type->has(v); }));
  return made;
}

}  // namespace orrery
