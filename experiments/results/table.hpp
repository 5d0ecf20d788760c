// Aligned text tables for people.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

namespace orrery {

/// Columns as wide as their widest cell, two blanks apart; the first column left-aligned, the
/// others right-aligned; a rule under the header.
class Table {
 public:
  /// `names`: how many columns, from the left, say what a row is.
  explicit Table(std::vector<std::string> header, std::size_t names = 1)
      : names_(names), rows_{std::move(header)} {}
  /// Requires  as many cells as the header
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

  /// As wide as it is, or with lines of at most `width` characters if that is not 0: columns for
  /// which there is no room stand below, in tables of their own with the same names. A single column
  /// that is still too wide is broken at its blanks; names are cut where they leave it too little.
  std::string text(int width = 0) const;

 private:
  std::string block(const std::vector<std::vector<std::string>>& rows, std::size_t from,
                    std::size_t to, int width) const;

  std::size_t names_;
  std::vector<std::vector<std::string>> rows_;
};

/// How wide paragraphs are printed there: at most what reads well, and no wider than the terminal.
int paragraph_on(std::FILE* stream);

/// What text() of a table fits into that is printed there: the columns of a terminal, else 0.
int room_on(std::FILE* stream);

}  // namespace orrery
