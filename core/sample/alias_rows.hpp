// Draws by weight among the entries of a row.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/base/cache_line.hpp"
#include "core/base/index.hpp"
#include "core/sample/csr_view.hpp"
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
  /// Shapes    weights [nnz]: finite and >= 0; not copied
  /// Cost      one pass over the entries; 8 bytes per entry and 4 per row
  /// Errors    Error: a weight that is negative or not finite, with its place
  AliasRows(const CsrView& graph, std::span<const float> weights);

  /// Draws of a row that are made side by side.
  static constexpr std::uint32_t kAtOnce = 16;

  /// A row's first draws, whose entries of the table are on their way from memory.
  struct Begun {
    RowDraws draws{0, 0, 0};
    std::uint32_t many = 0;
    std::array<std::pair<std::uint32_t, std::uint32_t>, kAtOnce>
        drawn{};  ///< entry, rest of a word
  };

  /// Announces that draws of the row will begin soon.
  void announce(Vertex row) const { prefetch(&positive_[at(row)]); }

  /// Makes the first draws of a row and asks for what finish() reads of the table.
  void begin(RowDraws draws, Vertex row, EdgeIndex begin, std::uint32_t length, int fanout,
             Begun& begun) const;

  /// Appends `fanout` distinct entries of a row whose draws have begun, drawn one after the other by weight among those
  /// that are left; all of positive weight where they are no more, or where fanout is
  /// kAllNeighbours.
  ///
  /// Source    an entry that is there already is drawn again, which gives the same probabilities;
  ///           after many such draws the rest comes by exponential keys (Efraimidis and Spirakis
  ///           2006)
  void finish(Begun& begun, Vertex row, EdgeIndex begin, std::uint32_t length, int fanout,
              RowPicks& picks, RowPicks::Positions& positions) const;

 private:
  bool takes_all(Vertex row, int fanout) const {
    return fanout < 0 || positive_[at(row)] <= static_cast<std::uint32_t>(fanout);
  }
  void draw_some(Begun& begun, EdgeIndex begin, std::uint32_t length, std::uint32_t most) const;
  void build_row(EdgeIndex begin, std::uint32_t length, std::vector<double>& share,
                 std::vector<std::uint32_t>& small, std::vector<std::uint32_t>& large);
  /// For the entries that are not among the positions from `first_of_row` on.
  void draw_by_keys(RowDraws& draws, EdgeIndex begin, std::uint32_t length,
                    std::size_t first_of_row, std::uint32_t wanted,
                    RowPicks::Positions& positions) const;

  struct Entry {
    std::uint32_t keep = 0;   ///< it is drawn itself if a word is not above this
    std::uint32_t other = 0;  ///< otherwise this entry of the row is drawn
  };
  std::span<const float> weights_;
  std::vector<Entry> entries_;           ///< [nnz]
  std::vector<std::uint32_t> positive_;  ///< [rows]
};

}  // namespace orrery
