#include "core/graph/data_facts.hpp"

#include <algorithm>

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
  facts.notes = {"known only by its statistics"};
  return facts;
}

}  // namespace orrery
