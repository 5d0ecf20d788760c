// A data set as everything else sees it: graph, features, labels, split, and where each of them
// came from.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/csr.hpp"
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
  std::vector<std::string>
      notes;  ///< one line each on what was made up, dropped, renumbered or drawn at random

  std::int64_t vertices() const { return graph->rows; }
  std::int64_t edges() const { return graph->nnz(); }
};

/// What an experiment file says under "dataset" (`design.md`); the loader turns it into a Dataset.
struct DatasetOptions {
  std::string
      path;  ///< folder, file, or a bare name looked up in $ORRERY_DATA (a colon-separated list)
  std::string format = "auto";                  ///< auto | orrery | ogb | snap | mtx
  bool symmetric = false;                       ///< add the reverse of every edge
  std::optional<std::int64_t> random_features;  ///< use made-up features of this width
  std::optional<bool> row_normalise;            ///< default: true for 0/1 features
  bool random_split = false;                    ///< draw 70/15/15 even where a split is published
  bool train_on_rest = false;  ///< labelled vertices that the published split leaves out train too
  std::string reorder =
      "none";  ///< none | degree | bfs | communities: renumber the vertices for locality
  std::uint64_t seed = 0;    ///< split, made-up features, generators
  std::int64_t magnify = 1;  ///< see Dataset

  std::string
      generator;  ///< communities | skewed-communities | rmat | bter | chung-lu; empty: read `path`
  std::int64_t generate_vertices = 0,
               generate_edges =
                   0;  ///< edges: undirected edges drawn, each stored in both directions
  std::int64_t generate_classes = 16, generate_features = 64;
  std::int64_t generate_communities = 64;  ///< skewed-communities: how many
  double mixing =
      0.2;  ///< (skewed-)communities: share of a vertex's edges that leave its community
  double feature_signal = 0.5;  ///< (skewed-)communities: distance between class centres in units
                                ///< of the features' noise
  double exponent = 2.1;  ///< chung-lu, bter, skewed-communities: power-law exponent of the degrees
  double clustering = 0.3;  ///< bter: clustering coefficient of degree-2 vertices; that of degree d
                            ///< is 1/sqrt(d/2) of it
  std::string degree_file;  ///< bter, chung-lu, skewed-communities: "degree count [clustering]" per
                            ///< line instead of the power law
};

/// Reads or generates a data set and applies the options (symmetric, row_normalise, random
/// features, split, reorder).
///
/// Errors    DataError (file, position, what was expected) · ConfigError under "dataset" (unknown
/// format or generator; a bare name that
///           no folder of ORRERY_DATA holds: the message says where to get such a set and in which
///           form)
Dataset load_dataset(const DatasetOptions& options);

/// Reads a data set as it is stored: no option applied, no split drawn.
///
/// Errors    as load_dataset
Dataset read_dataset(const std::string& path, const std::string& format = "auto");

}  // namespace orrery
