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

/// The links that are learned, and those that they are tested on.
struct LinkTask {
  LinkConfig config;
  /// The links of the graph that is trained on. If it is symmetric, each link is there once, in a
  /// direction that is drawn.
  std::vector<VertexPair> train;
  ScoredLinks validation, test;  ///< in it no longer
};

/// The data set without the links that are held out, and these. Self-loops are no links. Which
/// links, and their negatives, are functions of (seed, link) alone; a negative is no edge of the
/// whole graph and no self-loop, unless its source has an edge to nearly all vertices.
///
/// Cost      a sort of the links; 16 bytes for each of them beside the result
/// Errors    ConfigError: no links are left for training, or none for a share that is not 0
std::pair<Dataset, std::shared_ptr<const LinkTask>> hold_out_links(const Dataset& data,
                                                                   const LinkConfig& config,
                                                                   std::uint64_t seed);

}  // namespace orrery
