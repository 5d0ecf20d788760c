// Which rank has which rows of features of edges, and which rows a batch needs.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/graph/edges/edge_features.hpp"
#include "core/ops/ops.hpp"
#include "core/strategy/edges/edge_structure.hpp"
#include "core/strategy/structure/sampled_batches.hpp"

namespace orrery {

/// The partition policy of edges: the features of an edge lie with the owner of its destination. A
/// row that both directions of an edge share lies with the owner of one of its ends: rows of even
/// number at the end of lower number, the others at the other end. Every rank has the row of zeros.
///
/// Placement each row but that of zeros on one rank, in the ascending order of rows; rows of no edge on
///           none
/// Memory    8 bytes for each row
class EdgeRows {
 public:
  /// `of_relations`: the edges are those of the relations, and not of the graph.
  EdgeRows(std::shared_ptr<const EdgeFeatures> features, bool of_relations,
           const Partition& partition);

  std::int64_t width() const { return features_->width(); }
  /// All rows that ranks have, that of zeros once.
  std::int64_t rows() const;
  /// Rows of this rank, that of zeros as its last one.
  std::int64_t rows(int rank) const { return held_[at(rank)] + 1; }
  Source own(int rank) const;

  /// What the edges of a batch need, each row once. The places are those of all edges, in the order
  /// of FeaturesOfEdges. `alike`: all layers have the edges of the first.
  ///
  /// Requires  edges that are not only counted
  WantedRows wanted(int rank, const std::vector<EdgeStructure>& layers, bool alike) const;
  /// The same for edges that are only counted, with `most` rows at most, from each rank in the share
  /// that it has of all.
  WantedRows counted(int rank, const std::vector<EdgeStructure>& layers, bool alike,
                     std::int64_t most) const;

 private:
  /// The row of zeros, and rows of no edge.
  static constexpr std::int32_t kNobody = -1;

  std::shared_ptr<const EdgeFeatures> features_;
  std::vector<std::int32_t> owner_;  ///< [rows]
  std::vector<Vertex> number_;       ///< [rows], among those of its owner
  std::vector<std::int64_t> held_;   ///< by each rank, without that of zeros
};

}  // namespace orrery
