// vertex_cut with sums that arrive epochs later: every copy of a vertex is computed where it is.
#pragma once

#include <memory>
#include <vector>

#include "core/strategy/config/strategy_config.hpp"
#include "core/strategy/product/rank_products.hpp"
#include "core/strategy/vertex_cut_parts.hpp"

namespace orrery {

/// Settings of vertex_cut (StrategyConfig::own).
struct DelaySettings {
  int delay = 0;  ///< epochs until a sum arrives; 0: it is waited for
};
int delay_of(const StrategyConfig& config);

/// The copies of a part whose sums travel in one of `delay` epochs in turn: those of the vertices
/// v with v mod delay = its number. All copies of a vertex are in the same share.
///
/// Placement in host memory
struct DelayShare {
  HaloStructure::RowCounts mirrors;   ///< of vertices of each rank
  HaloStructure::RowCounts mirrored;  ///< own vertices that each rank has as mirrors
  IndexList mirror_rows;              ///< the row among the mirrors of each of the first
  IndexList send_rows;                ///< the own row of each of the second, by rank
};

/// A part with its shares.
///
/// Placement in host memory
struct DelayedPart {
  VertexCutPart part;
  IndexList held;   ///< global vertices: own ones, then mirrors
  VertexData data;  ///< theirs
  std::vector<DelayShare> shares;
  /// What an own row, or then a mirror's, is multiplied by while sums of other ranks are missing:
  /// the sum of its whole row of A over that of its entries here. Null if only counts are known.
  std::shared_ptr<const std::vector<float>> alone;
};

/// `own`: the part's vertices, of `data`.
DelayedPart make_delayed_part(VertexCutPart part, const std::vector<Vertex>& own,
                              std::shared_ptr<const Dataset> data, int delay);
/// The same of a graph in which every vertex represents `times` ones; counted only.
DelayedPart magnified(const DelayedPart& part, std::int64_t times);

/// Products of a model with `layers` graph convolutions. `part` must outlive the result.
std::unique_ptr<RankProducts> make_delayed_vertex_cut(Runtime& rt, const DelayedPart& part,
                                                      bool symmetric, int layers,
                                                      const StrategyConfig& config);

}  // namespace orrery
