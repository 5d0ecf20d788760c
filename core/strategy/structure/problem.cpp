#include "core/strategy/structure/problem.hpp"

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

}  // namespace orrery
