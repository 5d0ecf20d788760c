// Text files of numbers, plain or gzip, parsed in parallel with exact line numbers in errors.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/parallel.hpp"
#include "core/graph/files/mapped_file.hpp"

namespace orrery {

/// A fault at a place of a text; parse_lines turns it into a DataError with the line number.
struct TextProblem {
  const char* place;
  std::string message;
};

/// A text in memory: mapped if plain, inflated if gzip (recognised by its first bytes).
///
/// Errors    DataError: the file cannot be read; gzip data that is damaged or cut short (with the
///           byte in the compressed file)
class TextFile {
 public:
  explicit TextFile(const std::filesystem::path& path);

  const std::string& path() const { return file_.path(); }
  std::string_view text() const { return text_; }
  const char* end() const { return text_.data() + text_.size(); }

  /// Number (from 1) of the line that holds `place`.
  std::int64_t line_number(const char* place) const;
  /// Throws the DataError "path:line N: message" for the line that holds `problem.place`.
  [[noreturn]] void fail(const TextProblem& problem) const;

 private:
  MappedFile file_;
  std::string inflated_;
  std::string_view text_;
};

/// The fields of one line, read from left to right; blanks, tabs and commas separate.
///
/// Errors    TextProblem at the field, with `what` was expected and the text found
class Line {
 public:
  Line(const char* begin, const char* end) : next_(begin), end_(end) {}

  /// True if no field is left.
  bool at_end() {
    while (next_ != end_ && separates(next_)) ++next_;
    return next_ == end_;
  }
  /// True at the start of a line without data: blank, or a comment (starting with # or %).
  bool skippable() { return at_end() || *next_ == '#' || *next_ == '%'; }
  /// First character of the next field; call at_end() first.
  char peek() const { return *next_; }
  const char* place() const { return next_; }  ///< place of the next field, for a TextProblem
  std::uint64_t integer(const char* what);     ///< 0 to 2^64 - 1, decimal digits
  double number(const char* what);             ///< NaN and infinity are numbers here
  std::string_view field();                    ///< the next field unchanged; empty at the end
  [[noreturn]] void fail(const std::string& expected);  ///< "expected ..., found (the next field)"

 private:
  /// Whether a field ends here. A carriage return ends a field only at the end of the line:
  /// elsewhere it ends a line of a file that is read as one line.
  bool separates(const char* p) const {
    return *p == ' ' || *p == '\t' || *p == ',' || (*p == '\r' && p + 1 == end_);
  }

  const char* next_;
  const char* end_;
};

/// A vertex number of a text; a problem unless it is below `vertices`.
std::int32_t read_vertex(Line& line, std::int64_t vertices);

constexpr std::int64_t kTextChunk = 1 << 20;  ///< bytes parsed as one piece of parallel work

/// Start of data line number `row` (from 0), counted as parse_lines does, or the end of the text.
const char* find_data_line(const TextFile& file, std::int64_t row);

/// Calls parse(Line&, std::vector<T>& out) for every line from `begin` on that is not skippable(),
/// and returns what the chunks of the text appended, in order.
///
/// Errors    DataError for the first line (in the file) that parse rejects with a TextProblem
template <class T, class Parse>
std::vector<std::vector<T>> parse_lines(const TextFile& file, const char* begin,
                                        const Parse& parse) {
  const std::int64_t bytes = file.end() - begin;
  const auto chunks = static_cast<std::size_t>((bytes + kTextChunk - 1) / kTextChunk);
  std::vector<std::vector<T>> rows(chunks);
  std::vector<std::unique_ptr<TextProblem>> problems(chunks);
  const auto line_end = [&](const char* p) {
    const auto* found = static_cast<const char*>(
        __builtin_memchr(p, '\n', static_cast<std::size_t>(file.end() - p)));
    return found == nullptr ? file.end() : found;
  };
  parallel_for(bytes, kTextChunk, [&](std::int64_t chunk_begin, std::int64_t chunk_end) {
    const auto chunk = static_cast<std::size_t>(chunk_begin / kTextChunk);
    const char* p = begin + chunk_begin;  // a chunk holds the lines that start inside it
    if (chunk_begin != 0 && p[-1] != '\n') p = line_end(p) + 1;
    try {
      while (p < begin + chunk_end) {
        const char* end = line_end(p);
        Line line(p, end);
        if (!line.skippable()) parse(line, rows[chunk]);
        p = end + 1;
      }
    } catch (const TextProblem& problem) {
      problems[chunk] = std::make_unique<TextProblem>(problem);
    }
  });
  for (const auto& problem : problems)
    if (problem) file.fail(*problem);
  return rows;
}

}  // namespace orrery
