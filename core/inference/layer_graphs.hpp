// The operands of each layer's aggregation in an inference: all in-neighbours of every vertex, or
// some drawn ones (the same for every target); and the pieces in which a part multiplies with them.
//
// A vertex is visited once: its neighbours of all layers are drawn then. A draw depends only on
// (seed, layer, vertex), so not on how the graph is cut. A vertex with at most `fanout` neighbours
// has all of them in every layer: only its row of the graph is kept.
//
// Source    Deal section 3.2, Figure 4
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/graph/graph_statistics.hpp"
#include "core/graph/sparse_matrix.hpp"
#include "core/inference/held_rows.hpp"
#include "core/inference/layout/inference_config.hpp"
#include "core/model/adjacency.hpp"
#include "core/sample/neighbour_sampler.hpp"
#include "core/strategy/structure/index_list.hpp"

namespace orrery {

/// Distinct rows of one other part, in ascending order, that are fetched together.
struct RemoteGroup {
  int shift = 0;                      ///< the owner is the part (p + shift) mod P
  std::int64_t first = 0, count = 0;  ///< of PartRows::numbers
  /// Rows of the part that have an entry, ascending; none: the block has all of them. (Otherwise
  /// many small groups would each have an offset for every row.)
  std::optional<IndexList> rows;
  SparseMatrix block;  ///< [rows, count]
};

/// The rows of A of one part in one layer: a block that meets the part's own rows of x, and groups
/// that meet those of others.
struct PartRows {
  SparseMatrix local;  ///< [rows of the part, rows of the part]
  /// The places at their owners of the rows that the groups fetch, group by group.
  IndexList numbers;
  /// Sorted by the owner's shift, then ascending.
  std::vector<RemoteGroup> groups;
};

/// A part's work in one step of the exchange: fetch from one part, serve another.
struct FetchRound {
  int shift = 0;                       ///< asks part (p + shift) mod P, serves part p − shift
  std::int64_t asked = 0, served = 0;  ///< rows
  bool operator==(const FetchRound&) const = default;
};

/// The edges of a part, or of some of its rows, as a whole: the values computed for each edge have
/// their places here.
struct PartEdges {
  /// [rows, own rows + fetched rows]: row by row, own ones first, then group by group.
  Pattern pattern;
  IndexList local;                ///< the number of each entry of PartRows::local
  std::vector<IndexList> groups;  ///< the number of each entry of a group's block
};

/// Errors    ConfigError: 2^31 entries or more
PartEdges edges_of(const PartRows& rows);

/// Which rows of x a rank wants with all of their columns, including rows of its own part.
enum class RowLists : std::uint8_t {
  none,
  of_part,         ///< those that the rows of A of its part meet
  of_row_share,    ///< those that its whole rows (TileLayout::whole_rows) meet
  of_column_slice  ///< those that its part meets in its share of the columns of A
};

/// The lists that the products of this configuration request.
RowLists lists_for(const InferenceConfig& config, bool weighs_edges);

/// The graphs of all layers. Use does not change it: several threads may call it.
class LayerGraphs {
 public:
  struct Settings {
    int layers = 1;
    int fanout = kAllNeighbours;  ///< neighbours of each vertex in each layer, at most
    std::uint64_t seed = 0;
    /// Keeps the draws of this part only; empty: of all parts.
    std::optional<int> only_part = std::nullopt;
    /// If only this part's rows are there: adds up the counts of the processes of all parts, the
    /// same everywhere.
    std::function<void(std::vector<std::int64_t>& counts)> add_up = nullptr;
    RowLists lists = RowLists::none;
  };
  /// For one part: the number of a vertex among those that draw, or −1 if it has all neighbours; for
  /// each of these and each layer `fanout` places in its row, ascending.
  struct Draws {
    std::vector<Vertex> number;
    std::vector<std::uint32_t> places;
    bool operator==(const Draws&) const = default;
  };
  /// What drawing and counting make of the rows of a graph.
  struct Drawn {
    bool alike = true;                     ///< all layers have the same aggregation
    std::vector<Draws> draws;              ///< of each kept part
    std::vector<std::int64_t> neighbours;  ///< of each layer
    std::vector<std::int64_t> needed;      ///< [layers, P, P]
    std::vector<std::int64_t> entries;     ///< [layers, P, P]
    std::vector<std::int64_t> wanted;      ///< [layers, ranks, P], with lists
    bool operator==(const Drawn&) const = default;
  };

  /// Draws, and counts what parts need from each other.
  ///
  /// Requires  the rows of all parts, or of `only_part` and add_up
  /// Cost      one visit a vertex; with a fanout 4 bytes for each vertex of a part that is kept, and 4
  ///           for each layer and draw of those that have more neighbours; a bit for each vertex and
  ///           layer while a part is counted; with lists the visit once more for each share
  /// Errors    ConfigError (a fanout that is neither kAllNeighbours nor >= 1; normalisation)
  LayerGraphs(HeldRows rows, const ModelConfig& model, const TileLayout& layout,
              const Settings& settings);
  /// With what drawn() gave for the same rows, model, layout and settings.
  ///
  /// Errors    as above
  LayerGraphs(HeldRows rows, const ModelConfig& model, const TileLayout& layout,
              const Settings& settings, Drawn drawn);
  /// For a graph given by its statistics: everything is counted in expectation, as if each row and
  /// column had the mean number of entries and they fell on rows at random. Because of locality and
  /// columns of unequal length, real graphs need fewer distinct rows.
  ///
  /// Errors    as above
  /// Source    Deal section 3.4: a column of Z entries is needed by one of P parts with probability
  ///           1 − (1 − 1/P)^Z
  LayerGraphs(const GraphStatistics& graph, const ModelConfig& model, const TileLayout& layout,
              const Settings& settings);

  const TileLayout& layout() const { return layout_; }
  /// Whether all layers have the same aggregation.
  bool alike() const { return drawn_.alike; }
  const Drawn& drawn() const { return drawn_; }
  /// Neighbours that are aggregated in a layer, over all vertices, without self-loops.
  std::int64_t neighbours(int layer) const;
  /// Distinct rows of part `of` that part `by` needs in a layer.
  std::int64_t needed(int layer, int by, int of) const;
  /// Entries of A in the rows of part `by` and the columns of another part `of`, in a layer.
  std::int64_t entries(int layer, int by, int of) const;
  /// Rows of part `of` that rank `by` wants whole in a layer, according to Settings::lists.
  std::int64_t wanted(int layer, int by, int of) const;
  /// The steps in which part p fetches its rows in groups of at most this many, with as many rounds
  /// on all parts: by shift, and for each shift as many as the part with the most groups has.
  std::vector<FetchRound> rounds(int layer, int part, std::int64_t rows_per_group) const;

  /// The rows of A of a part in a layer. Drawn neighbours are scaled so that a row's sum is right
  /// in the mean.
  ///
  /// Requires  the part is kept
  PartRows cut(int layer, int part, std::int64_t rows_per_group) const;
  /// The rows of A that a rank multiplies by rows that it wants whole, in groups; the first ones
  /// are those of its own part (shift 0). `local` is empty.
  ///
  /// Requires  a part that is kept
  PartRows cut_wanted(int layer, int rank, std::int64_t rows_per_group) const;
  /// Entries of A in these rows (vertices); every layer has as many.
  std::int64_t entries_of(const Share& rows) const;
  /// For a graph that is counted: the columns, of these, in which the rows have an entry, a self-loop
  /// included.
  std::int64_t expected_columns(const Share& rows, const Share& columns) const;

 private:
  /// Entries of A that are cut: in these rows and columns, all as vertices.
  struct Window {
    Share rows, columns;
    bool own = false;  ///< rows of x of the part itself are requested like those of others
  };
  static std::size_t at_layer(int layer);
  void require_settings() const;
  void shorten_degrees();
  // For a graph that is counted.
  /// Entries of A in these rows, without self-loops, that fall on this many columns.
  std::int64_t expected_entries(const Share& rows, std::int64_t columns) const;
  PartRows counted_window(int part, const Window& window, std::int64_t rows_per_group) const;
  Draws draw(int part) const;
  void count(int part, const Draws& draws);
  void count_wanted(int layer, int rank, const Draws& draws);
  Window wanted_window(int rank) const;
  PartRows cut_window(int layer, int part, const Window& window, std::int64_t rows_per_group) const;
  /// The neighbours of vertex `v` of the part in a layer, in ascending order.
  void neighbours_of(const Draws& draws, const Share& rows, int layer, std::int64_t v,
                     std::vector<Vertex>& into) const;
  /// use(v, neighbours) for vertices [first, end) of the part; a few rows before, the degrees of the
  /// neighbours are asked for if weights depend on them.
  template <class Use>
  void each_row(const Draws& draws, const Share& rows, int layer, std::int64_t first,
                std::int64_t end, const Use& use) const;

  TileLayout layout_;
  Settings settings_;
  Weighting weighting_;
  HeldRows graph_;
  /// Degrees of all vertices, or that they are longer, if weights depend on those of columns: a
  /// neighbour's is looked up for each entry, and two bytes each stay in the cache more often.
  std::vector<std::uint16_t> short_degrees_;
  std::optional<double> mean_;  ///< neighbours of a vertex, for a graph that is counted
  Drawn drawn_;
};

}  // namespace orrery
