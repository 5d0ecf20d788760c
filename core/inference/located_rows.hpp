// The rows of features that a rank has read from unordered files, and the way to them for the first
// layer.
//
// Rank r of R reads the rows at an equal range of places, with all columns. To redistribute them,
// each row is sent to the ranks of its part, which get their columns. Fused with the first product
// there is no such exchange. If x·W comes first, r multiplies its rows and sends rows of the
// result. If A·x does, each rank requests the distinct rows that its part needs, including its own,
// and gets its columns of them, in groups like those of FetchedRows.
//
// Source    Deal section 3.5 (fusing feature preparation with the first primitive; Figure 13)
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/inference/input/feature_files.hpp"
#include "core/inference/layer_graphs.hpp"
#include "core/inference/layout/inference_config.hpp"
#include "core/runtime/buffer.hpp"
#include "core/strategy/product/local_matrix.hpp"

namespace orrery {

/// Which of the rows in files travel between which ranks; the same on all ranks.
struct LocatedInput {
  std::shared_ptr<const FeatureFiles> files;
  TileLayout layout;
  std::vector<std::int64_t>
      of_part;  ///< [ranks, P]: rows that the rank reads of the part's vertices
  std::int64_t rows_per_group = 0;
  /// [rounds, P, ranks]: distinct rows that the part requests from the rank in layer 1; none if no
  /// sum comes first.
  std::vector<std::int64_t> needed;

  Share places(int rank) const { return share_of(layout.vertices, layout.ranks(), rank); }
  /// The rank that has read the row of a vertex.
  int reader_of(Vertex vertex) const;
  int rounds() const {
    const std::int64_t each = std::int64_t{layout.row_parts} * layout.ranks();
    return static_cast<int>(static_cast<std::int64_t>(needed.size()) / each);
  }
  std::int64_t needed_of(int round, int part, int rank) const {
    return needed[at((std::int64_t{round} * layout.row_parts + part) * layout.ranks() + rank)];
  }
};

/// Counts it. `sums_first`: layer 1 begins with a sum; `only_part` and `add_up` are those of
/// LayerGraphs.
///
/// Cost      with `sums_first` and fused, the rows of A of one part at a time, 8 bytes for each entry
std::shared_ptr<const LocatedInput> locate_input(
    std::shared_ptr<const FeatureFiles> files, const LayerGraphs& graphs,
    const InferenceConfig& config, bool sums_first, std::optional<int> only_part,
    const std::function<void(std::vector<std::int64_t>&)>& add_up);

/// The first layer of a rank whose input is in the rows that it has read.
///
/// Placement x: the rows that a rank has read, with all columns; y: its tile
class LocatedRows {
 public:
  /// Reads this rank's share of the rows.
  LocatedRows(Runtime& rt, const LocatedInput& input, const LayerGraphs& graphs,
              std::shared_ptr<const Features> features, int column_tiles);

  /// Stands for the tile that is not made; this class computes products with it.
  Tensor placeholder() const;
  bool stands_for(const Tensor& x) const { return x.id == placeholder().id; }

  /// y ← this rank's tile.
  ///
  /// Shapes    y [rows of the part, columns of this rank]
  void redistribute(const Tensor& y);
  /// y ← x·W + beta·y of this rank's tile.
  ///
  /// Shapes    w [width of the features, n] · y [rows of the part, columns of this rank of n]
  void transform(const Tensor& w, const Tensor& y, float beta);
  /// y ← A·x + beta·y, A of layer 1.
  ///
  /// Requires  LocatedInput::needed
  /// Cost      in the process, 8 bytes for each entry of the part's rows of A and 12 for each vertex of
  ///           the graph while the groups are made
  void aggregate(const Tensor& y, float beta);

 private:
  using Counts64 = std::vector<std::int64_t>;
  int part() const { return input_.layout.part_of(rt_.rank()); }
  int share() const { return input_.layout.column_of(rt_.rank()); }
  std::int64_t part_rows() const { return input_.layout.rows(part()).count; }
  Group everyone() const { return {0, 0, input_.layout.ranks(), 1}; }

  /// y ← the rows of `whole`, which each rank has for the rows it has read, by tile; + beta·y.
  void send_to_tiles(const Tensor& whole, const Tensor& y, float beta);

  /// Part of A, and the rows of x that it meets.
  struct AskedGroup {
    std::int64_t first = 0, count = 0;  ///< of the numbers
    std::optional<LocalMatrix> block;
    std::optional<Event> numbers, rows;
  };
  void load_groups();
  void send_numbers(std::size_t g, Event free);
  Event send_rows(std::size_t g);
  std::int64_t served(std::size_t g) const;  ///< rows that a share requests from this rank

  Runtime& rt_;
  const LocatedInput& input_;
  const LayerGraphs& graphs_;
  int column_tiles_;
  Buffer rows_;   ///< the rows read, by vertex
  Buffer order_;  ///< for each row of the part, its number among the rows that come

  std::vector<AskedGroup> groups_;
  Buffer numbers_;
  std::array<std::vector<Buffer>, 2> asked_, sent_;  ///< by share of the columns
  std::array<Buffer, 2> received_;
};

}  // namespace orrery
