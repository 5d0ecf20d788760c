// Which entries of a row a sample takes.
#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/csr.hpp"
#include "core/sample/draw_key.hpp"
#include "core/sample/variates.hpp"

namespace orrery {

/// The ways to choose among the entries `begin`, ..., `begin` + `length` − 1 of a row; all append
/// positions. The object holds memory that is used again and nothing else.
class RowPicks {
 public:
  using Positions = std::vector<EdgeIndex>;

  void all(EdgeIndex begin, std::uint32_t length, Positions& positions);

  /// `count` distinct ones, each set equally likely.
  ///
  /// Requires  count <= length
  /// Source    Floyd (Bentley and Floyd, CACM 1987), with draws that have no bias: the draw of step
  ///           j is among j + 1, not j, values
  void distinct(RowDraws draws, EdgeIndex begin, std::uint32_t length, std::uint32_t count,
                Positions& positions);

  /// `count` draws, each of all of them.
  void repeated(RowDraws draws, EdgeIndex begin, std::uint32_t length, std::uint32_t count,
                Positions& positions);

  /// The `count` whose columns have the lowest variates, in ascending order of these. All rows that
  /// share the variates tend to take the same columns.
  ///
  /// Requires  1 <= count <= length
  /// Shapes    columns [length], distinct
  void lowest(const Variates& variates, const Vertex* columns, EdgeIndex begin,
              std::uint32_t length, std::uint32_t count, Positions& positions);

  /// Tells values that are there from new ones; for one row at a time.
  void begin_set(std::uint32_t most);
  /// Whether it was not there.
  bool insert(std::uint32_t value);

 private:
  std::vector<std::uint32_t> few_;         ///< values, where they are few
  std::vector<std::uint64_t> many_;        ///< row << 32 | value, in open addresses
  std::vector<std::uint64_t> candidates_;  ///< variate << 32 | index in the row
  std::uint64_t row_ = 0;
  bool is_few_ = true;
};

}  // namespace orrery
