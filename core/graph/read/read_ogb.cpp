// Reads the raw CSV layout of the Open Graph Benchmark.
#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/graph/plausible.hpp"
#include "core/graph/read/ogb_tables.hpp"
#include "core/graph/read/readers.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;

/// `rows`: number of vertices that were read.
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
    require_rows(file, edges, *announced, "edge");
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
void set_multilabels(Dataset& dataset, CsvTable<std::int32_t>& table, const TextFile& file) {
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

void set_labels(Dataset& dataset, CsvTable<std::int32_t>& table, const TextFile& file) {
  if (table.columns > 1) return set_multilabels(dataset, table, file);
  dataset.labels = {classes_of(table, file), false, std::move(table.values)};
}

/// The folder that holds train.csv: split/<first name>, split, or the folder itself.
std::optional<fs::path> find_split(const fs::path& folder, Dataset& dataset) {
  std::vector<fs::path> named;
  if (fs::is_directory(folder / "split"))
    for (const auto& entry : fs::directory_iterator(folder / "split"))
      if (entry.is_directory() && find_csv(entry.path(), "train")) named.push_back(entry.path());
  if (!named.empty()) return first_split(std::move(named), dataset.notes);
  for (const auto& candidate : {folder / "split", folder})
    if (find_csv(candidate, "train")) return candidate;
  return std::nullopt;
}

void set_split(Dataset& dataset, const fs::path& folder) {
  const auto where = find_split(folder, dataset);
  if (!where) return;
  dataset.split.assign(at(dataset.vertices()), Split::none);
  read_split_files(*where, 0, dataset.vertices(), dataset.split);
}

}  // namespace

Dataset read_ogb(const fs::path& folder) {
  const fs::path raw = find_csv(folder / "raw", "edge") ? folder / "raw" : folder;
  if (!find_csv(raw, "edge"))
    throw DataError(
        (raw / "edge.csv").string(), "",
        "expected edge.csv[.gz], or num-node-dict.csv[.gz] of several types, found neither");

  std::optional<std::int64_t> vertices = read_count(raw, "num-node-list");
  if (vertices && (*vertices < 0 || *vertices > kMaxVertices))
    throw DataError((raw / "num-node-list.csv").string(), "line 1",
                    fmt::format("expected at most {} vertices, found {}", kMaxVertices,
                                static_cast<std::uint64_t>(*vertices)));

  Dataset dataset;
  std::int64_t rows = 0;
  if (const auto path = find_csv(raw, "node-label")) {
    const TextFile file(*path);
    auto table = read_labels_table(file);
    if (vertices) require_rows(file, table.rows, *vertices, "vertex");
    vertices = rows = table.rows;
    set_labels(dataset, table, file);
  }
  if (const auto path = find_csv(raw, "node-feat")) {
    const TextFile file(*path);
    auto table = read_features_table(file);
    if (vertices) require_rows(file, table.rows, *vertices, "vertex");
    vertices = rows = table.rows;
    dataset.features = dense_features(table.rows, table.columns, std::move(table.values),
                                      "read from " + file.path(), false);
  } else {
    dataset.notes.push_back("features absent");
  }
  set_edges(dataset, raw, vertices, rows);
  note_unread({raw}, dataset.notes);
  set_split(dataset, folder);
  return dataset;
}

}  // namespace orrery
