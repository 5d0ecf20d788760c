// Aligned text tables for people.
#pragma once

#include <string>
#include <vector>

namespace orrery {

/// Columns as wide as their widest cell, two blanks apart; the first column left-aligned, the
/// others right-aligned; a rule under the header.
class Table {
 public:
  explicit Table(std::vector<std::string> header) : rows_{std::move(header)} {}
  /// Requires  as many cells as the header
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace orrery
