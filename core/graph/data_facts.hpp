// What is known of a data set without reading it.
#pragma once

#include <string>
#include <vector>

#include "core/graph/dataset.hpp"
#include "core/graph/graph_statistics.hpp"

namespace orrery {

/// What is known of a data set without reading it: the same for one in memory, one in parts and one
/// given by its statistics.
struct DataFacts {
  std::string name;
  std::int64_t vertices = 0, edges = 0;
  bool symmetric = false, generated = false;
  std::int64_t features = 0;  ///< width; 0: absent
  std::string features_provenance = "none";
  std::int64_t classes = 0;  ///< 0: no labels
  bool multilabel = false;
  std::int64_t training_vertices = 0;
  std::vector<std::string> notes;
};
DataFacts facts_of(const Dataset& data);
DataFacts facts_of(const GraphStatistics& graph);

}  // namespace orrery
