#include "experiments/results/table.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <sstream>

#include "core/terminal/terminal.hpp"

namespace orrery {
namespace {

using Row = std::vector<std::string>;

std::vector<int> widths_of(const std::vector<Row>& rows) {
  std::vector<int> widths(rows.front().size(), 0);
  for (const Row& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], width_of(row[c]));
  return widths;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  if (lines.empty()) lines.emplace_back();
  return lines;
}

std::string padded(const std::string& cell, int width, bool left) {
  const std::string pad(static_cast<std::size_t>(std::max(0, width - width_of(cell))), ' ');
  return left ? cell + pad : pad + cell;
}

}  // namespace

/// The names and the columns `from` up to `to`; with a width, the last column is broken to fit.
std::string Table::block(const std::vector<Row>& rows, std::size_t from, std::size_t to,
                         int width) const {
  std::vector<std::size_t> columns;
  for (std::size_t c = 0; c < names_; ++c) columns.push_back(c);
  for (std::size_t c = from; c < to; ++c) columns.push_back(c);
  std::vector<int> widths = widths_of(rows);
  int total = 2 * (static_cast<int>(columns.size()) - 1);
  for (const std::size_t c : columns) total += widths[c];
  const bool breaks = width > 0 && total > width && !columns.empty();
  if (breaks) {
    int& last = widths[columns.back()];
    last = std::max(last - (total - width), 1);
    total = std::max(width, total - widths_of(rows)[columns.back()] + last);
  }
  std::string text;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const std::string& end = rows[r][columns.back()];
    const auto parts = lines_of(breaks ? wrapped(end, widths[columns.back()]) : end);
    for (std::size_t p = 0; p < parts.size(); ++p) {
      std::string line;
      for (const std::size_t c : columns) {
        const bool last = c == columns.back();
        const bool left = c == 0 || (last && breaks) || (sentences_ && c + 1 == rows[r].size());
        const std::string& cell = last ? parts[p] : p == 0 ? rows[r][c] : "";
        line += (c == columns.front() ? "" : "  ") + padded(cell, widths[c], left);
      }
      text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
    if (r == 0) text += std::string(static_cast<std::size_t>(total), '-') + "\n";
  }
  return text;
}

std::string Table::text(int width) const {
  const std::size_t columns = rows_.front().size();
  if (width <= 0) return block(rows_, names_, columns, 0);
  constexpr int kEnoughForACell = 20;
  std::vector<Row> rows = rows_;
  int widest = 0;  // of the other columns
  const std::vector<int> whole = widths_of(rows);
  for (std::size_t c = names_; c < columns; ++c) widest = std::max(widest, whole[c]);
  const int left = width - std::min(widest, kEnoughForACell) - 2 * static_cast<int>(names_);
  const int most = std::max(8, left / static_cast<int>(names_));
  for (Row& row : rows)
    for (std::size_t c = 0; c < names_; ++c) row[c] = cut_to(row[c], most);
  const std::vector<int> widths = widths_of(rows);
  int names = 2 * (static_cast<int>(names_) - 1);
  for (std::size_t c = 0; c < names_; ++c) names += widths[c];
  std::string text;
  for (std::size_t from = names_; from < columns || text.empty();) {
    std::size_t to = from;
    for (int room = width - names; to < columns && room >= 2 + widths[to]; ++to)
      room -= 2 + widths[to];
    to = std::min(columns, std::max(to, from + 1));
    text += (text.empty() ? "" : "\n") + block(rows, from, to, width);
    from = to;
  }
  return text;
}

int paragraph_on(std::FILE* stream) {
  constexpr int kReadsWell = 92;
  const int room = room_on(stream);
  return room == 0 ? kReadsWell : std::min(room, kReadsWell);
}

int room_on(std::FILE* stream) { return columns_of(::fileno(stream)); }

}  // namespace orrery
