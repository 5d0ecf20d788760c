// Reads the raw CSV layout of the Open Graph Benchmark.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/graph/plausible.hpp"
#include "core/graph/read/readers.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;

constexpr std::int32_t kUnlabelled = -1;

/// folder/name.csv or folder/name.csv.gz, whichever is there.
std::optional<fs::path> find_csv(const fs::path& folder, const std::string& name) {
  for (const char* ending : {".csv", ".csv.gz"})
    if (fs::exists(folder / (name + ending))) return folder / (name + ending);
  return std::nullopt;
}

/// Numbers in rows of equal length, row-major.
template <class T>
struct Table {
  std::int64_t rows = 0, columns = 0;
  std::vector<T> values;
};

/// Reads a table; `read(line)` reads one field.
template <class T, class Read>
Table<T> read_table(const TextFile& file, const Read& read) {
  Table<T> table;
  const char* begin = find_data_line(file, 0);
  Line first(begin, std::find(begin, file.end(), '\n'));
  while (!first.at_end()) {
    first.field();
    ++table.columns;
  }
  const std::string expected =
      fmt::format("{} columns as in line {}", table.columns, file.line_number(begin));
  auto chunks = parse_lines<T>(file, file.text().data(), [&](Line& line, auto& out) {
    for (std::int64_t c = 0; c < table.columns; ++c) {
      if (line.at_end()) line.fail(expected);
      out.push_back(read(line));
    }
    if (!line.at_end()) line.fail(expected + ", then the end of the line");
  });
  for (auto& chunk : chunks) {
    table.values.insert(table.values.end(), chunk.begin(), chunk.end());
    std::vector<T>().swap(chunk);
  }
  if (table.values.empty())
    throw DataError(file.path(), "line 1", "expected a row of numbers, found an empty file");
  table.rows = static_cast<std::int64_t>(table.values.size()) / table.columns;
  return table;
}

float read_feature(Line& line) {
  Line retry = line;
  const auto value = static_cast<float>(line.number("a number"));
  if (!std::isfinite(value)) retry.fail("a finite number");
  return value;
}

/// A class (or 0/1); "nan" means unlabelled.
std::int32_t read_label(Line& line) {
  Line retry = line;
  const double value = line.number("a label (an integer or nan)");
  if (std::isnan(value)) return kUnlabelled;
  if (value < 0 || value > std::numeric_limits<std::int32_t>::max() || value != std::floor(value))
    retry.fail("a label (an integer from 0 on, or nan)");
  return static_cast<std::int32_t>(value);
}

/// The single count in num-node-list.csv or num-edge-list.csv, where there is one.
std::optional<std::int64_t> read_count(const fs::path& folder, const std::string& name) {
  const auto path = find_csv(folder, name);
  if (!path) return std::nullopt;
  const TextFile file(*path);
  const auto table = read_table<std::int64_t>(
      file, [](Line& line) { return static_cast<std::int64_t>(line.integer("a count")); });
  if (table.values.size() != 1)
    throw DataError(file.path(), "line 2",
                    fmt::format("expected one graph, found {} counts", table.values.size()));
  return table.values.front();
}

void expect_rows(const TextFile& file, std::int64_t found, std::int64_t expected,
                 const char* of_what) {
  if (found == expected) return;
  const char* hint = found < expected ? " (the file is cut short)" : "";
  file.fail({file.end(), fmt::format("expected {} rows, one per {}, found {}{}", expected, of_what,
                                     found, hint)});
}

/// `rows`: of vertices that were read.
void set_edges(Dataset& dataset, const fs::path& raw, std::optional<std::int64_t> vertices,
               std::int64_t rows) {
  const TextFile file(*find_csv(raw, "edge"));
  const std::int64_t limit = vertices.value_or(kMaxVertices);
  auto chunks = parse_lines<Edge>(file, file.text().data(), [&](Line& line, auto& out) {
    const Vertex source = read_vertex(line, limit), destination = read_vertex(line, limit);
    if (!line.at_end()) line.fail("two columns 'source,destination'");
    out.push_back({source, destination});
  });
  std::int64_t edges = 0;
  Vertex largest = -1;
  for (const auto& chunk : chunks) {
    edges += static_cast<std::int64_t>(chunk.size());
    for (const Edge edge : chunk) largest = std::max({largest, edge.source, edge.destination});
  }
  if (edges == 0)
    throw DataError(file.path(), "line 1",
                    "expected edges 'source,destination', found an empty file");
  if (const auto announced = read_count(raw, "num-edge-list"))
    expect_rows(file, edges, *announced, "edge");
  const std::int64_t all = vertices.value_or(std::int64_t{largest} + 1),
                     most = std::max(rows, most_plausible(std::ssize(file.text())));
  if (all > most)
    throw DataError(file.path(), "",
                    fmt::format("expected at most {} vertices with {} bytes of edges, found {}{}",
                                most, file.text().size(), all,
                                vertices ? " in num-node-list.csv" : " (the largest number + 1)"));
  set_graph(dataset, join_chunks(all, std::move(chunks)));
}

/// Whole rows of nan are unlabelled; a single nan beside numbers counts as 0.
void set_multilabels(Dataset& dataset, Table<std::int32_t>& table, const TextFile& file) {
  std::int64_t missing = 0;
  for (std::size_t i = 0; i < table.values.size(); ++i) {
    auto& value = table.values[i];
    if (value > 1)
      file.fail({find_data_line(file, static_cast<std::int64_t>(i) / table.columns),
                 fmt::format("expected 0, 1 or nan, found {} in column {}", value,
                             static_cast<std::int64_t>(i) % table.columns)});
    missing += value == kUnlabelled;
    value = std::max(value, 0);
  }
  dataset.labels = {table.columns, true, std::move(table.values)};
  if (missing > 0)
    dataset.notes.push_back(fmt::format("{} unknown labels (nan) of {} taken as 0", missing,
                                        dataset.labels.values.size()));
}

void set_labels(Dataset& dataset, Table<std::int32_t>& table, const TextFile& file) {
  if (table.columns > 1) return set_multilabels(dataset, table, file);
  const std::int64_t classes = std::int64_t{*std::ranges::max_element(table.values)} + 1;
  const std::int64_t most = most_implied_classes(table.rows);
  if (classes > most) {
    const auto bad = std::ranges::find_if(table.values, [&](auto label) { return label >= most; });
    file.fail({find_data_line(file, bad - table.values.begin()),
               fmt::format("expected a label below {} (for {} vertices), found {}", most,
                           table.rows, *bad)});
  }
  dataset.labels = {classes, false, std::move(table.values)};
}

/// The folder that holds train.csv: split/<first name>, split, or the folder itself.
std::optional<fs::path> find_split(const fs::path& folder, Dataset& dataset) {
  std::vector<fs::path> named;
  if (fs::is_directory(folder / "split"))
    for (const auto& entry : fs::directory_iterator(folder / "split"))
      if (entry.is_directory() && find_csv(entry.path(), "train")) named.push_back(entry.path());
  std::ranges::sort(named);
  if (named.size() > 1)
    dataset.notes.push_back(fmt::format("{} published splits: '{}' is used", named.size(),
                                        named.front().filename().string()));
  if (!named.empty()) return named.front();
  for (const auto& candidate : {folder / "split", folder})
    if (find_csv(candidate, "train")) return candidate;
  return std::nullopt;
}

void set_split(Dataset& dataset, const fs::path& folder) {
  const auto where = find_split(folder, dataset);
  if (!where) return;
  dataset.split.assign(static_cast<std::size_t>(dataset.vertices()), Split::none);
  const std::pair<const char*, Split> parts[] = {
      {"train", Split::train}, {"valid", Split::validation}, {"test", Split::test}};
  for (const auto& [name, part] : parts) {
    const auto path = find_csv(*where, name);
    if (!path)
      throw DataError((*where / name).string() + ".csv", "",
                      "expected this file of the split, found none");
    const TextFile file(*path);
    const auto chunks = parse_lines<std::pair<Vertex, const char*>>(
        file, file.text().data(), [&](Line& line, auto& out) {
          const char* place = line.place();
          out.emplace_back(read_vertex(line, dataset.vertices()), place);
          if (!line.at_end()) line.fail("one vertex number per line");
        });
    for (const auto& chunk : chunks)
      for (const auto& [v, place] : chunk) {
        auto& mine = dataset.split[at(v)];
        if (mine != Split::none)
          file.fail(
              {place,
               fmt::format("expected every vertex once in the split, found vertex {} again", v)});
        mine = part;
      }
  }
}

}  // namespace

Dataset read_ogb(const fs::path& folder) {
  const fs::path raw = find_csv(folder / "raw", "edge") ? folder / "raw" : folder;
  if (!find_csv(raw, "edge"))
    throw DataError((raw / "edge.csv").string(), "",
                    "expected edge.csv or edge.csv.gz, found neither");

  std::optional<std::int64_t> vertices = read_count(raw, "num-node-list");
  if (vertices && (*vertices < 0 || *vertices > kMaxVertices))
    throw DataError((raw / "num-node-list.csv").string(), "line 1",
                    fmt::format("expected at most {} vertices, found {}", kMaxVertices,
                                static_cast<std::uint64_t>(*vertices)));

  Dataset dataset;
  std::int64_t rows = 0;
  if (const auto path = find_csv(raw, "node-label")) {
    const TextFile file(*path);
    auto table = read_table<std::int32_t>(file, read_label);
    if (vertices) expect_rows(file, table.rows, *vertices, "vertex");
    vertices = rows = table.rows;
    set_labels(dataset, table, file);
  }
  if (const auto path = find_csv(raw, "node-feat")) {
    const TextFile file(*path);
    auto table = read_table<float>(file, read_feature);
    if (vertices) expect_rows(file, table.rows, *vertices, "vertex");
    vertices = rows = table.rows;
    dataset.features = dense_features(table.rows, table.columns, std::move(table.values),
                                      "read from " + file.path(), false);
  } else {
    dataset.notes.push_back("features absent");
  }
  set_edges(dataset, raw, vertices, rows);
  set_split(dataset, folder);
  return dataset;
}

}  // namespace orrery
