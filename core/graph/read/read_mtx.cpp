// Reads Matrix Market coordinate files as graphs.
#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "core/base/error.hpp"
#include "core/graph/plausible.hpp"
#include "core/graph/read/readers.hpp"

namespace orrery {
namespace {

struct MatrixHeader {
  bool has_values = false, symmetric = false;
  std::int64_t vertices = 0, entries = 0;
  const char* entries_begin = nullptr;
};

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

const char* line_end(const TextFile& file, const char* p) { return std::find(p, file.end(), '\n'); }

void parse_banner(Line line, MatrixHeader& header) {
  const auto word = [&](std::initializer_list<std::string_view> allowed, const char* expected) {
    Line before = line;
    const std::string found = lower(line.field());
    if (std::ranges::find(allowed, found) == allowed.end()) before.fail(expected);
    return found;
  };
  word({"%%matrixmarket"}, "'%%MatrixMarket'");
  word({"matrix"}, "'matrix'");
  word({"coordinate"}, "'coordinate' (a sparse matrix)");
  header.has_values =
      word({"pattern", "real", "integer"}, "'pattern', 'real' or 'integer'") != "pattern";
  header.symmetric = word({"general", "symmetric"}, "'general' or 'symmetric'") == "symmetric";
}

MatrixHeader parse_header(const TextFile& file) {
  MatrixHeader header;
  const char* p = file.text().data();
  parse_banner(Line(p, line_end(file, p)), header);
  const auto skippable = [&] {
    Line line(p, line_end(file, p));
    return line.at_end() || line.peek() == '%';
  };
  while (p < file.end() && skippable()) p = std::min(line_end(file, p) + 1, file.end());

  Line line(p, line_end(file, p));
  const char* expected = "the size line 'rows columns entries'";
  const std::uint64_t rows = line.integer(expected), columns = line.integer(expected);
  header.entries = static_cast<std::int64_t>(line.integer(expected));
  if (!line.at_end()) line.fail("the end of the line after 'rows columns entries'");
  if (rows != columns)
    throw TextProblem{
        p, fmt::format("expected a square matrix (a graph), found {} x {}", rows, columns)};
  if (rows > static_cast<std::uint64_t>(kMaxVertices))
    throw TextProblem{p, fmt::format("expected at most {} rows, found {}", kMaxVertices, rows)};
  header.vertices = static_cast<std::int64_t>(rows);
  if (const std::int64_t most = most_plausible(std::ssize(file.text())); header.vertices > most)
    throw TextProblem{p, fmt::format("expected at most {} rows in a text of {} bytes, found {}",
                                     most, file.text().size(), rows)};
  header.entries_begin = std::min(line_end(file, p) + 1, file.end());
  return header;
}

Vertex read_index(Line& line, const MatrixHeader& header) {
  Line retry = line;
  const std::uint64_t index = line.integer("an index");
  if (index < 1 || index > static_cast<std::uint64_t>(header.vertices))
    retry.fail(fmt::format("an index between 1 and {}", header.vertices));
  return static_cast<Vertex>(index - 1);
}

}  // namespace

Dataset read_mtx(const TextFile& file) {
  MatrixHeader header;
  try {
    header = parse_header(file);
  } catch (const TextProblem& problem) {
    file.fail(problem);
  }
  auto chunks = parse_lines<Edge>(file, header.entries_begin, [&](Line& line, auto& out) {
    const Vertex row = read_index(line, header), column = read_index(line, header);
    if (header.has_values) line.number("a value");
    if (!line.at_end()) line.fail("the end of the line");
    out.push_back({row, column});
  });
  std::int64_t entries = 0;
  for (const auto& chunk : chunks) entries += static_cast<std::int64_t>(chunk.size());
  if (entries != header.entries)
    file.fail({file.end(), fmt::format("expected {} entries as the size line says, found {}",
                                       header.entries, entries)});

  Dataset dataset;
  set_graph(dataset, join_chunks(header.vertices, std::move(chunks)));
  if (header.symmetric) dataset.graph = std::make_shared<Csr>(symmetrise(*dataset.graph));
  if (header.has_values)
    dataset.notes.push_back("values of the matrix ignored: edges carry no weight");
  return dataset;
}

}  // namespace orrery
