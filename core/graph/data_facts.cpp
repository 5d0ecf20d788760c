#include "core/graph/data_facts.hpp"

#include <algorithm>

#include "core/base/index.hpp"

namespace orrery {

DataFacts facts_of(const Dataset& data) {
  DataFacts facts;
  facts.name = data.name;
  facts.vertices = data.magnify * data.vertices();
  facts.edges = data.magnify * data.edges();
  facts.symmetric = data.symmetric;
  facts.generated = data.generated;
  if (data.features) {
    facts.features = data.features->width();
    facts.features_provenance = data.features->provenance();
  }
  facts.classes = data.labels.present() ? data.labels.classes : 0;
  facts.multilabel = data.labels.multilabel;
  facts.training_vertices =
      data.magnify * std::count(data.split.begin(), data.split.end(), Split::train);
  if (facts.classes > 0 && !facts.multilabel && !data.split.empty()) {
    facts.training_vertices_of_class.resize(at(facts.classes));
    for (std::size_t v = 0; v < data.split.size(); ++v)
      if (const auto label = data.labels.values[v]; data.split[v] == Split::train && label >= 0)
        facts.training_vertices_of_class[at(label)] += data.magnify;
  }
  facts.notes = data.notes;
  return facts;
}

DataFacts facts_of(const GraphStatistics& graph) {
  DataFacts facts;
  facts.name = graph.name;
  facts.vertices = graph.vertices;
  facts.edges = graph.edges;
  facts.symmetric = graph.symmetric;
  facts.features = graph.features;
  facts.features_provenance = "unknown";
  facts.classes = graph.classes;
  facts.multilabel = graph.multilabel;
  facts.training_vertices = graph.training_vertices;
  facts.notes = {"known by its statistics alone"};
  return facts;
}

}  // namespace orrery
