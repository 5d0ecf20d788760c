// Links that are held out of a graph, to be predicted, and pairs that are no links.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/graph/dataset.hpp"
#include "core/sample/links/link_config.hpp"

namespace orrery {

struct VertexPair {
  Vertex source = 0, destination = 0;
  bool operator==(const VertexPair&) const = default;
};

/// Links, and for each of them the same number of pairs that are no links.
///
/// Shapes    negatives [links · per_link], those of a link one after the other
struct ScoredLinks {
  std::vector<VertexPair> links, negatives;
  int per_link = 0;
};

/// Consecutive vertices.
struct VertexRange {
  Vertex first = 0;
  std::int64_t count = 0;
};

/// The links that are learned, and those that they are tested on.
struct LinkTask {
  LinkConfig config;
  /// Of links by one relation: its number in the typed graph, and that of the relation with the same edges
  /// in the other direction; -1: none.
  int relation = -1, reverse = -1;
  VertexRange sources, destinations;  ///< where the ends of pairs that are no links come from
  /// The links of the graph that is trained on. If it is symmetric, each link is there once, in a
  /// direction that is drawn.
  std::vector<VertexPair> train;
  /// Those of `train`, whether or not the model aggregates them: no negative is one.
  std::shared_ptr<const Csr> edges;
  ScoredLinks validation, test;  ///< in none of them
};

/// The data set without the links that are held out, and these. Links by one relation are held out of it and
/// of its reverse; the data set keeps its types then. With ExcludedLinks::training the links that are trained
/// on leave it as well, so that no model aggregates them. Self-loops are no links. Which links, and their
/// negatives, are functions of (seed, link) alone; a negative is no edge of the whole graph and no self-loop,
/// unless its source has an edge to nearly all vertices.
///
/// Cost      a sort of the links; 16 bytes for each of them beside the result
/// Errors    ConfigError: no links are left for training, or none for a share that is not 0; an unknown
///           relation (the nearest one is named), data without types, or links that are all to leave
///           though all edges are links
std::pair<Dataset, std::shared_ptr<const LinkTask>> hold_out_links(const Dataset& data,
                                                                   const LinkConfig& config,
                                                                   std::uint64_t seed);

}  // namespace orrery
