// A data set as everything else sees it: graph, features, labels, split, and the origin of each.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/graph/edge_list.hpp"
#include "core/graph/features.hpp"
#include "core/graph/typed_graph.hpp"

namespace orrery {

enum class Split : std::uint8_t { train = 0, validation = 1, test = 2, none = 255 };

/// Targets of the vertices. Single label: `values` [vertices], a class each, -1: unlabelled.
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
  std::shared_ptr<const Csr> graph;  ///< row v = in-neighbours of v; self-loops as stored
  /// The same edges by relation, where vertices and edges have types; else null.
  std::shared_ptr<const TypedGraph> typed;
  bool symmetric = false;                    ///< every edge exists in both directions
  std::shared_ptr<const Features> features;  ///< null if absent
  Labels labels;
  std::vector<Split> split;  ///< [vertices]; empty if none is published
  bool generated = false;    ///< a generator made the graph
  /// How many vertices each vertex represents: recordings have this many times the rows and entries
  /// that are here.
  std::int64_t magnify = 1;
  /// One line each on what was generated, dropped, renumbered or drawn at random.
  std::vector<std::string> notes;

  std::int64_t vertices() const { return graph->rows; }
  std::int64_t edges() const { return graph->nnz(); }
};

/// Makes the edges the graph of the data set; notes how many duplicates were merged.
void set_graph(Dataset& dataset, const EdgeList& edges);

/// Makes the relations, and the union of their edges, the graph of the data set; notes both.
void set_typed_graph(Dataset& dataset, TypedGraph typed);

/// Notes that `merged` of the edges read were duplicates, if any were.
void note_duplicates(Dataset& dataset, std::int64_t merged);

}  // namespace orrery
