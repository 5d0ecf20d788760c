// A data set as everything else sees it: graph, features, labels, split, and where each of them
// came from.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/graph/edge_list.hpp"
#include "core/graph/features.hpp"

namespace orrery {

enum class Split : std::uint8_t { train = 0, validation = 1, test = 2, none = 255 };

/// Targets of the vertices. Single label: `values` [vertices], a class each, -1 where unlabelled.
/// Multi-label: `values` [vertices · classes], 0 or 1, row-major.
struct Labels {
  std::int64_t classes = 0;
  bool multilabel = false;
  std::vector<std::int32_t> values;
  std::int64_t columns() const { return multilabel ? classes : 1; }
  bool present() const { return !values.empty(); }
};

struct Dataset {
  std::string name;
  std::shared_ptr<const Csr> graph;          ///< row v = in-neighbours of v; self-loops as stored
  bool symmetric = false;                    ///< every edge is there in both directions
  std::shared_ptr<const Features> features;  ///< null when absent
  Labels labels;
  std::vector<Split> split;  ///< [vertices]; empty when none is published
  bool generated = false;    ///< the graph itself is made up by a generator
  /// How many vertices each vertex stands for: what is recorded has that many times the rows and
  /// entries that are here.
  std::int64_t magnify = 1;
  /// One line each on what was made up, dropped, renumbered or drawn at random.
  std::vector<std::string> notes;

  std::int64_t vertices() const { return graph->rows; }
  std::int64_t edges() const { return graph->nnz(); }
};

/// Makes the edges the graph of the data set; notes how many duplicates were merged.
void set_graph(Dataset& dataset, const EdgeList& edges);

/// Notes that `merged` of the edges read were duplicates, if any were.
void note_duplicates(Dataset& dataset, std::int64_t merged);

}  // namespace orrery
