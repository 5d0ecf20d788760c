#include "core/graph/read/ogb_tables.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/graph/read/readers.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;

/// Reads a table; `read(line)` reads one field.
template <class T, class Read>
CsvTable<T> read_table(const TextFile& file, const Read& read) {
  CsvTable<T> table;
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

std::int32_t read_label(Line& line) {
  Line retry = line;
  const double value = line.number("a label (an integer or nan)");
  if (std::isnan(value)) return kUnlabelled;
  if (value < 0 || value > std::numeric_limits<std::int32_t>::max() || value != std::floor(value))
    retry.fail("a label (an integer from 0 on, or nan)");
  return static_cast<std::int32_t>(value);
}

}  // namespace

std::optional<fs::path> find_csv(const fs::path& folder, const std::string& name) {
  std::error_code absent;  // a name that no file can have, too
  for (const char* ending : {".csv", ".csv.gz"})
    if (fs::exists(folder / (name + ending), absent)) return folder / (name + ending);
  return std::nullopt;
}

CsvTable<float> read_features_table(const TextFile& file) {
  return read_table<float>(file, read_feature);
}

CsvTable<std::int32_t> read_labels_table(const TextFile& file) {
  return read_table<std::int32_t>(file, read_label);
}

std::int64_t classes_of(const CsvTable<std::int32_t>& labels, const TextFile& file) {
  const std::int64_t classes = std::int64_t{*std::ranges::max_element(labels.values)} + 1;
  const std::int64_t most = most_implied_classes(labels.rows);
  if (classes > most) {
    const auto bad = std::ranges::find_if(labels.values, [&](auto label) { return label >= most; });
    file.fail({find_data_line(file, bad - labels.values.begin()),
               fmt::format("expected a label below {} (for {} vertices), found {}", most,
                           labels.rows, *bad)});
  }
  return classes;
}

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

void require_rows(const TextFile& file, std::int64_t found, std::int64_t expected,
                  const std::string& of_what) {
  if (found == expected) return;
  const char* hint = found < expected ? " (the file is cut short)" : "";
  file.fail({file.end(), fmt::format("expected {} rows, one per {}, found {}{}", expected, of_what,
                                     found, hint)});
}

void note_unread(const std::vector<fs::path>& folders, std::vector<std::string>& notes) {
  const std::pair<const char*, const char*> unread[] = {
      {"edge-feat", "features of edges come from edge_features.npy, beside edges.npy"},
      {"edge_reltype",
       "relations come from the folders in relations/, or from "
       "edge_relations.npy, beside edges.npy"}};
  for (const auto& [name, instead] : unread) {
    std::vector<std::string> there;
    for (const fs::path& folder : folders)
      if (const auto file = find_csv(folder, name)) there.push_back(file->filename().string());
    if (!there.empty())
      notes.push_back(fmt::format(
          "{}{} is not read: {}", there.front(),
          folders.size() > 1 ? fmt::format(" of {} relations", there.size()) : "", instead));
  }
}

std::optional<fs::path> first_split(std::vector<fs::path> splits, std::vector<std::string>& notes) {
  if (splits.empty()) return std::nullopt;
  std::ranges::sort(splits);
  if (splits.size() > 1)
    notes.push_back(fmt::format("{} published splits: '{}' is used", splits.size(),
                                splits.front().filename().string()));
  return splits.front();
}

void read_split_files(const fs::path& folder, std::int64_t first, std::int64_t count,
                      std::vector<Split>& split) {
  const std::pair<const char*, Split> parts[] = {
      {"train", Split::train}, {"valid", Split::validation}, {"test", Split::test}};
  for (const auto& [name, part] : parts) {
    const auto path = find_csv(folder, name);
    if (!path)
      throw DataError((folder / name).string() + ".csv", "",
                      "expected this file of the split, found none");
    const TextFile file(*path);
    const auto chunks = parse_lines<std::pair<Vertex, const char*>>(
        file, file.text().data(), [&](Line& line, auto& out) {
          const char* place = line.place();
          out.emplace_back(read_vertex(line, count), place);
          if (!line.at_end()) line.fail("one vertex number per line");
        });
    for (const auto& chunk : chunks)
      for (const auto& [v, place] : chunk) {
        auto& mine = split[at(first + v)];
        if (mine != Split::none)
          file.fail(
              {place,
               fmt::format("expected every vertex once in the split, found vertex {} again", v)});
        mine = part;
      }
  }
}

}  // namespace orrery
