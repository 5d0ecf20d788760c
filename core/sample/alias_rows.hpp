// Draws by weight among the entries of a row.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/index.hpp"
#include "core/graph/csr.hpp"
#include "core/sample/draw_key.hpp"
#include "core/sample/row_picks.hpp"

namespace orrery {

/// An alias table for each row of a graph: a draw by weight is one word and one access. The word says
/// which entry and, with what is left of it, whether that or its alias: probabilities are off by at
/// most 2^-32.
///
/// Source    Walker (1977), built as by Vose (1991)
class AliasRows {
 public:
  /// Shapes    weights [nnz]: finite and >= 0, which stay where they are
  /// Cost      one pass over the entries; 8 bytes per entry and 4 per row
  /// Errors    Error: a weight that is negative or not finite, with its place
  AliasRows(const Csr& graph, std::span<const float> weights);

  /// The row will be drawn from soon.
  void prefetch(Vertex row) const { __builtin_prefetch(&positive_[at(row)]); }

  /// So will the entries from `begin` to `end`, of which the first lines are asked for.
  void prefetch_entries(EdgeIndex begin, EdgeIndex end) const {
    constexpr EdgeIndex kPerLine = 64 / sizeof(Entry), kLines = 4;
    for (EdgeIndex e = begin; e < std::min(end, begin + kLines * kPerLine); e += kPerLine)
      __builtin_prefetch(&entries_[at(e)]);
  }

  /// Appends `fanout` distinct entries of a row, drawn one after the other by weight among those
  /// that are left; all of positive weight where they are no more, or where fanout is
  /// kAllNeighbours.
  ///
  /// Source    an entry that is there already is drawn again, which gives the same probabilities;
  ///           after many such draws the rest comes by exponential keys (Efraimidis and Spirakis
  ///           2006)
  void draw(RowDraws draws, Vertex row, EdgeIndex begin, std::uint32_t length, int fanout,
            RowPicks& picks, RowPicks::Positions& positions) const;

 private:
  void build_row(EdgeIndex begin, std::uint32_t length, std::vector<double>& share,
                 std::vector<std::uint32_t>& small, std::vector<std::uint32_t>& large);
  /// Of the entries that are not among the positions from `first_of_row` on.
  void draw_by_keys(RowDraws& draws, EdgeIndex begin, std::uint32_t length,
                    std::size_t first_of_row, std::uint32_t wanted,
                    RowPicks::Positions& positions) const;

  struct Entry {
    std::uint32_t keep = 0;   ///< it is drawn itself where a word is not above
    std::uint32_t other = 0;  ///< else this entry of the row is
  };
  std::span<const float> weights_;
  std::vector<Entry> entries_;           ///< [nnz]
  std::vector<std::uint32_t> positive_;  ///< [rows]
};

}  // namespace orrery
