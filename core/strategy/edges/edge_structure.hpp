// The edges of one layer on one rank, prepared on the host for layers that weigh each edge.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/graph/edges/edge_features.hpp"
#include "core/graph/edges/later_numbers.hpp"
#include "core/model/model_config.hpp"
#include "core/strategy/structure/cut_rows.hpp"
#include "core/strategy/structure/halo_structure.hpp"
#include "core/strategy/structure/index_list.hpp"

namespace orrery {

struct RelationStructure;

/// The source of Edges (core/model/products.hpp). If the graph is only counted, all of this
/// is counts.
///
/// Placement the edges into rows of one rank, in host memory
struct EdgeStructure {
  Pattern pattern;     ///< [rows, sources]
  Pattern transposed;  ///< [sources, rows]
  Pattern by_source;   ///< [sources, entries]
  IndexList order;     ///< by entry of `transposed`
  /// Columns of `pattern` are vertices until the device has numbered them. It makes `transposed`,
  /// `by_source` and `order`, which are only counted.
  bool relabelled_later = false;
  IndexList numbers;   ///< by entry of `pattern`; empty if no edges are dropped
  IndexList vertices;  ///< by source; empty if nothing of their rows is dropped
  /// Features of edges: for each entry of `pattern` a row of `rows`; null if edges have none.
  struct FeaturesOfEntries {
    std::shared_ptr<const Features> rows;
    IndexList row_of_entry;
    std::int64_t size() const { return row_of_entry.size(); }
    Source source() const {
      if (!row_of_entry.known()) return Unknown{"features"};
      return FeatureRows{rows, row_of_entry.numbers()};
    }
  } features{};
  std::shared_ptr<const RelationStructure> relations{};  ///< for layers that work by relation: all

  std::int64_t entries() const;
  /// Bytes in host memory.
  std::int64_t bytes() const;
};

/// The global vertices at both ends of a pattern's entries, and what has them as keys: draws for edges
/// and for sources, and features of edges. If entries are only counted, no vertices are read.
struct EndVertices {
  std::span<const Vertex> rows, sources;
  bool named = false;  ///< columns of the pattern are vertices themselves
  std::optional<std::uint32_t>
      relation{};           ///< edges of several relations between the same vertices draw apart
  bool edges = true;        ///< every edge has a number
  bool of_sources = false;  ///< sources keep their vertices
  std::shared_ptr<const EdgeFeatures> features{};  ///< null: edges have none
};

/// The keys of a model's draws and of the features of edges, with vertices still to be set; nothing if it
/// draws neither for edges nor for sources and edges have no features.
std::optional<EndVertices> ends_for(const ModelConfig& model,
                                    std::shared_ptr<const EdgeFeatures> features = nullptr);

/// The number of an edge that decides whether it is dropped: 32 bits drawn for its two global
/// vertices and its relation, a function of nothing else. Edges with the same number are dropped together. In a
/// graph with 2.5 million edges that concerns one in 1,700.
std::int32_t edge_number(Vertex row, Vertex source, std::uint32_t relation = 0);

/// The edges of a pattern, numbered or with their sources' vertices, as `ends` says.
///
/// Errors    ConfigError: 2^31 entries or more
EdgeStructure make_edge_structure(const SparseMatrix& a, const std::optional<EndVertices>& ends);

/// The same for a block whose columns are vertices, which its device will number.
EdgeStructure edges_later(const SparseMatrix& block,
                          const std::shared_ptr<const LaterNumbers>& numbers,
                          std::optional<EndVertices> ends);

/// The global vertices of a rank's sources: first `own`, then those of each row that it receives.
/// `vertices_of`: the vertices of the rows of a rank of the group.
std::vector<Vertex> source_vertices(
    const HaloStructure& part, std::span<const Vertex> own,
    const std::function<std::span<const Vertex>(int rank)>& vertices_of);

/// The edges of a rank whose rows of A are cut into own and halo columns. Sources are its own rows,
/// then those that it receives. symmetric: the own block is its own transpose.
EdgeStructure make_edge_structure(const HaloStructure& part, bool symmetric,
                                  const std::optional<EndVertices>& ends);

}  // namespace orrery
