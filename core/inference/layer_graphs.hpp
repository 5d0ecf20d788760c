// What each layer of an inference aggregates: all in-neighbours of every vertex, or some that are
// drawn, the same for every target; and the pieces in which a part multiplies with them.
//
// A vertex is looked at once: its neighbours of all layers are drawn then. What is drawn depends on
// (seed, layer, vertex) alone, so not on how the graph is cut. A vertex of at most `fanout`
// neighbours has all of them in every layer: nothing is kept of it but its row of the graph.
//
// Source    Deal section 3.2, Figure 4
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/graph/sparse_matrix.hpp"
#include "core/inference/held_rows.hpp"
#include "core/model/adjacency.hpp"
#include "core/sample/neighbour_sampler.hpp"

namespace orrery {

/// Distinct rows of one other part, in ascending order, that are fetched together.
struct RemoteGroup {
  int shift = 0;                      ///< the owner is the part (p + shift) mod P
  std::int64_t first = 0, count = 0;  ///< of PartRows::numbers
  /// Rows of the part that have an entry, ascending; null: all of them stand in the block. (Many small
  /// groups would else each have an offset for every row.)
  std::shared_ptr<const std::vector<Vertex>> rows;
  SparseMatrix block;  ///< [rows, count]
};

/// The rows of A of one part in one layer, cut into those that meet the part's own rows of x and
/// groups of those that meet others'.
struct PartRows {
  SparseMatrix local;  ///< [rows of the part, rows of the part]
  /// At their owners, of the rows that the groups fetch, group by group.
  std::shared_ptr<const std::vector<Vertex>> numbers;
  /// By the owner's shift, then ascending.
  std::vector<RemoteGroup> groups;
};

/// What a part does in one step of the exchange: fetch from one part, serve another.
struct FetchRound {
  int shift = 0;                       ///< asks part (p + shift) mod P, serves part p − shift
  std::int64_t asked = 0, served = 0;  ///< rows
  bool operator==(const FetchRound&) const = default;
};

/// The graphs of all layers. It is not changed by use: all calls may come from several threads.
class LayerGraphs {
 public:
  struct Settings {
    int layers = 1;
    int fanout = kAllNeighbours;  ///< neighbours of each vertex in each layer, at most
    std::uint64_t seed = 0;
    /// Keep what is drawn for this part alone; nothing: for all parts.
    std::optional<int> only_part = std::nullopt;
    /// Where only this part's rows are there: adds up what the processes of all parts have counted,
    /// the same everywhere.
    std::function<void(std::vector<std::int64_t>& counts)> add_up = nullptr;
  };

  /// Draws, and counts what parts need of each other.
  ///
  /// Requires  the rows of all parts, or of `only_part` and add_up
  /// Cost      one visit a vertex; with a fanout 8 bytes for each vertex of a part that is kept, and 4
  ///           for each layer and draw of those that have more neighbours; a bit for each vertex and
  ///           layer while a part is counted
  /// Errors    ConfigError (a fanout that is neither kAllNeighbours nor >= 1; normalisation)
  LayerGraphs(HeldRows rows, const ModelConfig& model, const TileLayout& layout,
              const Settings& settings);

  const TileLayout& layout() const { return layout_; }
  /// Whether all layers aggregate the same.
  bool alike() const { return alike_; }
  /// Neighbours that are aggregated in a layer, over all vertices, without self-loops.
  std::int64_t neighbours(int layer) const { return neighbours_[at_layer(layer)]; }
  /// Distinct rows of part `of` that part `by` needs in a layer.
  std::int64_t needed(int layer, int by, int of) const;
  /// What part p does to fetch its rows in groups of at most so many, as many rounds on all parts:
  /// by shift, those of one shift as many as the part with the most groups has.
  std::vector<FetchRound> rounds(int layer, int part, std::int64_t rows_per_group) const;

  /// The rows of A of a part in a layer. Drawn neighbours are scaled so that a row's sum is right in
  /// the mean.
  ///
  /// Requires  a part that is kept
  PartRows cut(int layer, int part, std::int64_t rows_per_group) const;

 private:
  /// Of one part: where the draws of a vertex begin, or −1 where it has all neighbours; for each
  /// layer `fanout` places in its row, ascending.
  struct Draws {
    std::vector<std::int64_t> first;
    std::vector<std::uint32_t> places;
  };
  static std::size_t at_layer(int layer);
  Draws draw(int part) const;
  void count(int part, const Draws& draws);
  /// The neighbours of vertex `v` of the part in a layer, in ascending order.
  void neighbours_of(const Draws& draws, const Share& rows, int layer, std::int64_t v,
                     std::vector<Vertex>& into) const;

  TileLayout layout_;
  Settings settings_;
  Weighting weighting_;
  HeldRows graph_;
  bool alike_ = true;
  std::vector<Draws> draws_;              ///< of each part that is kept
  std::vector<std::int64_t> neighbours_;  ///< of each layer
  std::vector<std::int64_t> needed_;      ///< [layers, P, P]
};

}  // namespace orrery
