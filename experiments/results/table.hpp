// Aligned text tables.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

namespace orrery {

/// Columns as wide as their widest cell, two blanks apart; the first column left-aligned, and the last if
/// it holds sentences, the others right-aligned; a rule under the header.
class Table {
 public:
  /// `names`: number of columns, from the left, that name a row. `sentences`: the last column holds some.
  explicit Table(std::vector<std::string> header, std::size_t names = 1, bool sentences = false)
      : names_(names), sentences_(sentences), rows_{std::move(header)} {}
  /// Requires  as many cells as the header
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

  /// At full width, or with lines of at most `width` characters if that is not 0: columns without
  /// room go below, in separate tables with the same names. A single column that is still too wide
  /// is broken at its blanks; names are cut if they leave it too little room.
  std::string text(int width = 0) const;

 private:
  std::string block(const std::vector<std::vector<std::string>>& rows, std::size_t from,
                    std::size_t to, int width) const;

  std::size_t names_;
  bool sentences_;  ///< in the last column
  std::vector<std::vector<std::string>> rows_;
};

/// Width of printed paragraphs: at most what reads well, and at most the terminal's.
int paragraph_on(std::FILE* stream);

/// Width for text() of a table: the columns of a terminal, else 0.
int room_on(std::FILE* stream);

}  // namespace orrery
