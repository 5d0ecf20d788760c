// Reads the raw CSV layout of the Open Graph Benchmark's heterogeneous sets.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/name.hpp"
#include "core/graph/plausible.hpp"
#include "core/graph/read/choices.hpp"
#include "core/graph/read/features_by_type.hpp"
#include "core/graph/read/ogb_tables.hpp"
#include "core/graph/read/readers.hpp"
#include "core/graph/read/typed_files.hpp"
#include "core/terminal/plain_text.hpp"
#include "core/terminal/words.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTypes = "num-node-dict";
constexpr const char* kRelations = "triplet-type-list";
/// What a vertex takes besides a place in each relation, in such places.
constexpr std::int64_t kPlacesOfVertex = 4;
constexpr std::int64_t kNumbersOfByte = 4;  ///< features that a byte of text may make

std::string shown(std::string_view name) { return one_line(name.substr(0, 40)); }

/// Calls f(line) for a line of a file; what it rejects is an error of that line.
template <class F>
void with_line(const TextFile& file, const char* begin, const F& f) {
  Line line(begin, std::find(begin, file.end(), '\n'));
  try {
    f(line);
  } catch (const TextProblem& problem) {
    file.fail(problem);
  }
}

void require_name(const TextFile& file, const char* place, std::string_view name) {
  if (!is_name(name))
    file.fail({place, fmt::format("\"{}\" is no name: {}", shown(name), kNameRule)});
}

/// The folders in a folder, by name.
std::vector<fs::path> folders_in(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code absent;
  for (const auto& entry : fs::directory_iterator(folder, absent))
    if (entry.is_directory(absent)) found.push_back(entry.path());
  std::ranges::sort(found);
  return found;
}

fs::path folder_of(const fs::path& raw, const Relation& relation) {
  return raw / "relations" /
         fmt::format("{}___{}___{}", relation.source, relation.name, relation.destination);
}

/// What a set has for each of its types: nothing where it has none.
template <class T>
using OfTypes = std::vector<std::optional<T>>;

/// The files of one set. Nothing that takes memory for each vertex is made before all of them are
/// read, so that their size is known.
class TypedOgb {
 public:
  explicit TypedOgb(const fs::path& folder)
      : folder_(folder),
        raw_(find_csv(folder / "raw", kTypes) || find_csv(folder / "raw", kRelations)
                 ? folder / "raw"
                 : folder) {
    read_types();
    read_relations();
  }

  Dataset read(const std::string& missing_features);

 private:
  fs::path required(const char* name) const;
  void count_bytes(const TextFile& file);
  void require_type(const std::string& file, const std::string& position, const std::string& text,
                    const std::string& name) const;
  void read_types();
  void read_relations();
  EdgeList read_edges(const Relation& relation, std::int64_t line);
  std::optional<std::set<std::string>> read_marks(const fs::path& folder,
                                                  const std::string& what) const;
  OfTypes<fs::path> files_of_types(const fs::path& folder, const std::string& name,
                                   const std::optional<std::set<std::string>>& marked) const;
  OfTypes<CsvTable<std::int32_t>> read_labels(std::int64_t& classes);
  OfTypes<CsvTable<float>> read_features(std::int64_t& columns);
  void require_plausible(std::int64_t columns) const;
  void set_labels(Dataset& dataset, OfTypes<CsvTable<std::int32_t>>& tables,
                  std::int64_t classes) const;
  void set_features(Dataset& dataset, OfTypes<CsvTable<float>>& tables,
                    const std::string& missing_features) const;
  void set_split(Dataset& dataset, const std::vector<bool>& labelled) const;

  fs::path folder_, raw_;
  TypedGraph typed_;
  std::vector<std::string> names_;             ///< of the types
  std::map<std::string, std::size_t> number_;  ///< of a type
  std::vector<std::int64_t> lines_;            ///< of the relations, in their list
  std::int64_t vertices_ = 0;
  std::int64_t bytes_ = 0, characters_ = 0;  ///< of the files; of their text
};

fs::path TypedOgb::required(const char* name) const {
  if (auto path = find_csv(raw_, name)) return *path;
  throw DataError((raw_ / name).string() + ".csv", "",
                  fmt::format("expected {0}.csv or {0}.csv.gz, found neither", name));
}

void TypedOgb::count_bytes(const TextFile& file) {
  bytes_ += static_cast<std::int64_t>(fs::file_size(file.path()));
  characters_ += std::ssize(file.text());
}

/// Throws unless there is such a type; `text` names what has it.
void TypedOgb::require_type(const std::string& file, const std::string& position,
                            const std::string& text, const std::string& name) const {
  if (!number_.contains(name))
    throw DataError(file, position,
                    fmt::format("{} has {}", text, unknown("vertex type", name, names_)));
}

void TypedOgb::read_types() {
  const TextFile file(required(kTypes));
  count_bytes(file);
  with_line(file, find_data_line(file, 0), [&](Line& line) {
    if (line.at_end()) line.fail("the names of the types of vertices");
    while (!line.at_end()) {
      const char* place = line.place();
      const std::string name(line.field());
      require_name(file, place, name);
      if (!number_.emplace(name, names_.size()).second)
        file.fail({place, fmt::format("has \"{}\" twice", shown(name))});
      names_.push_back(name);
    }
  });
  with_line(file, find_data_line(file, 1), [&](Line& line) {
    for (const std::string& name : names_) {
      Line retry = line;
      const auto count = line.integer(
          fmt::format("a count for each of the {} types of vertices", names_.size()).c_str());
      const std::int64_t left = kMaxVertices - vertices_;
      if (count > static_cast<std::uint64_t>(left))
        retry.fail(fmt::format("at most {} vertices of all types", kMaxVertices));
      typed_.types.push_back({name, vertices_, static_cast<std::int64_t>(count)});
      vertices_ += static_cast<std::int64_t>(count);
    }
    if (!line.at_end())
      line.fail(
          fmt::format("a count for each of the {} types of vertices, then the end of the "
                      "line",
                      names_.size()));
  });
  if (const char* more = find_data_line(file, 2); more != file.end())
    file.fail({more, "expected the counts of one graph, found a line more"});
}

void TypedOgb::read_relations() {
  const TextFile file(required(kRelations));
  count_bytes(file);
  struct Words {
    std::string_view source, name, destination;
    const char* place;
  };
  const auto chunks =
      parse_lines<Words>(file, file.text().data(), [](Line& line, std::vector<Words>& out) {
        constexpr const char* kColumns = "three columns 'source type,name,destination type'";
        Words words{{}, {}, {}, line.place()};
        for (std::string_view* word : {&words.source, &words.name, &words.destination}) {
          if (line.at_end()) line.fail(kColumns);
          *word = line.field();
        }
        if (!line.at_end()) line.fail(kColumns);
        out.push_back(words);
      });
  std::set<std::string> before;
  std::int64_t line = 0;
  const char* counted = file.text().data();  // lines before this place are counted
  for (const auto& chunk : chunks)
    for (const Words& words : chunk) {
      line += std::count(counted, words.place, '\n');
      counted = words.place;
      const std::string position = fmt::format("line {}", line + 1);
      Relation relation{std::string(words.source), std::string(words.name),
                        std::string(words.destination), nullptr};
      const std::string text = fmt::format("[{}, {}, {}]", shown(words.source), shown(words.name),
                                           shown(words.destination));
      require_type(file.path(), position, text, relation.source);
      require_name(file, words.place, words.name);
      require_type(file.path(), position, text, relation.destination);
      if (!before.insert(relation.text()).second)
        file.fail({words.place, fmt::format("has {} twice", text)});
      typed_.relations.push_back(std::move(relation));
      lines_.push_back(line + 1);
    }
  if (typed_.relations.empty())
    throw DataError(file.path(), "line 1", "expected at least one relation, found none");
}

/// A number of a vertex among those of its type.
Vertex read_end(Line& line, const VertexType& type) {
  Line retry = line;
  const std::uint64_t id = line.integer("a vertex number");
  if (id >= static_cast<std::uint64_t>(type.count))
    retry.fail(fmt::format("a vertex number of type {}, below {}", type.name, type.count));
  return static_cast<Vertex>(type.first + static_cast<std::int64_t>(id));
}

EdgeList TypedOgb::read_edges(const Relation& relation, std::int64_t line) {
  const fs::path folder = folder_of(raw_, relation);
  const auto path = find_csv(folder, "edge");
  if (std::error_code absent; !path && !fs::is_directory(folder, absent)) {
    std::vector<std::string> there;
    for (const fs::path& each : folders_in(raw_ / "relations"))
      there.push_back(one_line(each.filename().string()));
    constexpr std::size_t kLongest = 255;  // of a file's name; the search takes its square
    const std::string name = folder.filename().string();
    const std::string close = name.size() <= kLongest ? nearest(name, there) : "";
    throw DataError(
        folder.string(), "",
        fmt::format("expected the folder of the relation in line {} of {}.csv, found none{}", line,
                    kRelations, close.empty() ? "" : fmt::format("; did you mean '{}'?", close)));
  }
  if (!path)
    throw DataError((folder / "edge.csv").string(), "",
                    "expected edge.csv or edge.csv.gz, found neither");
  const TextFile file(*path);
  count_bytes(file);
  const VertexType& source = typed_.types[number_.at(relation.source)];
  const VertexType& destination = typed_.types[number_.at(relation.destination)];
  auto chunks = parse_lines<Edge>(file, file.text().data(), [&](Line& fields, auto& out) {
    const Vertex from = read_end(fields, source), to = read_end(fields, destination);
    if (!fields.at_end()) fields.fail("two columns 'source,destination'");
    out.push_back({from, to});
  });
  std::int64_t edges = 0;
  for (const auto& chunk : chunks) edges += std::ssize(chunk);
  const auto announced = read_count(folder, "num-edge-list");
  if (announced) require_rows(file, edges, *announced, "edge");
  if (!announced && edges == 0)
    throw DataError(file.path(), "line 1",
                    "expected edges 'source,destination', found an empty file");
  return join_chunks(vertices_, std::move(chunks));
}

/// The types for which nodetype-has-WHAT.csv says True, if there is such a file.
std::optional<std::set<std::string>> TypedOgb::read_marks(const fs::path& folder,
                                                          const std::string& what) const {
  const auto path = find_csv(folder, "nodetype-has-" + what);
  if (!path) return std::nullopt;
  const TextFile file(*path);
  std::set<std::string> marked;
  Line names(nullptr, nullptr);
  with_line(file, find_data_line(file, 0), [&](Line& line) { names = line; });
  const std::string position = fmt::format("line {}", file.line_number(find_data_line(file, 0)));
  with_line(file, find_data_line(file, 1), [&](Line& line) {
    while (!names.at_end()) {
      const std::string name(names.field());
      require_type(file.path(), position, "the header", name);
      Line retry = line;
      const std::string_view mark = line.field();
      if (mark != "True" && mark != "False") retry.fail("True or False for each type");
      if (mark == "True") marked.insert(name);
    }
    if (!line.at_end()) line.fail("True or False for each type, then the end of the line");
  });
  return marked;
}

/// FOLDER/TYPE/NAME.csv of the marked types, or where nothing is marked of those that have it.
OfTypes<fs::path> TypedOgb::files_of_types(
    const fs::path& folder, const std::string& name,
    const std::optional<std::set<std::string>>& marked) const {
  for (const fs::path& each : folders_in(folder))
    if (find_csv(each, name))
      require_type(each.string(), "", "the folder", each.filename().string());
  OfTypes<fs::path> files;
  for (const std::string& type : names_) {
    files.push_back(find_csv(folder / type, name));
    if (!marked) continue;
    if (!marked->contains(type)) files.back() = std::nullopt;
    if (marked->contains(type) && !files.back())
      throw DataError((folder / type / name).string() + ".csv", "",
                      fmt::format("expected this file, because nodetype-has-*.csv says True for "
                                  "{}, found none",
                                  type));
  }
  return files;
}

OfTypes<CsvTable<std::int32_t>> TypedOgb::read_labels(std::int64_t& classes) {
  OfTypes<CsvTable<std::int32_t>> tables(names_.size());
  const auto files = files_of_types(raw_ / "node-label", "node-label", read_marks(raw_, "label"));
  for (std::size_t t = 0; t < files.size(); ++t) {
    if (!files[t]) continue;
    const TextFile file(*files[t]);
    count_bytes(file);
    auto table = read_labels_table(file);
    require_rows(file, table.rows, typed_.types[t].count, "vertex of type " + names_[t]);
    if (table.columns != 1)
      file.fail({find_data_line(file, 0),
                 fmt::format("expected one column, the class, as vertices have types; found {}",
                             table.columns)});
    classes = std::max(classes, classes_of(table, file));
    tables[t] = std::move(table);
  }
  return tables;
}

OfTypes<CsvTable<float>> TypedOgb::read_features(std::int64_t& columns) {
  OfTypes<CsvTable<float>> tables(names_.size());
  // OGB's own reader does not ask nodetype-has-feat.csv either.
  const auto files = files_of_types(raw_ / "node-feat", "node-feat", std::nullopt);
  for (std::size_t t = 0; t < files.size(); ++t) {
    if (!files[t]) continue;
    const TextFile file(*files[t]);
    count_bytes(file);
    tables[t] = read_features_table(file);
    require_rows(file, tables[t]->rows, typed_.types[t].count, "vertex of type " + names_[t]);
    columns = std::max(columns, tables[t]->columns);
  }
  return tables;
}

/// Files that are short may not ask for all memory: each relation has a place for each vertex, and
/// so has each column of the features.
void TypedOgb::require_plausible(std::int64_t columns) const {
  const std::int64_t places = std::ssize(typed_.relations) + kPlacesOfVertex;
  const std::int64_t most = most_plausible(bytes_);
  if (vertices_ > kPlacesOfVertex * most / places)
    throw DataError(
        required(kTypes).string(), "line 2",
        fmt::format("expected at most {} vertices with {} relations and {} bytes of "
                    "files, found {}",
                    kPlacesOfVertex * most / places, typed_.relations.size(), bytes_, vertices_));
  const std::int64_t numbers = most + kNumbersOfByte * characters_;
  if (columns * vertices_ > numbers)
    throw DataError((raw_ / "node-feat").string(), "",
                    fmt::format("expected at most {} columns of features with {} vertices and {} "
                                "bytes of files, found {}",
                                numbers / vertices_, vertices_, bytes_, columns));
}

void TypedOgb::set_labels(Dataset& dataset, OfTypes<CsvTable<std::int32_t>>& tables,
                          std::int64_t classes) const {
  if (std::ranges::none_of(tables, [](const auto& table) { return table.has_value(); })) return;
  dataset.labels = {classes, false, std::vector<std::int32_t>(at(vertices_), kUnlabelled)};
  for (std::size_t t = 0; t < tables.size(); ++t)
    if (tables[t])
      std::ranges::copy(tables[t]->values, dataset.labels.values.begin() + typed_.types[t].first);
}

void TypedOgb::set_features(Dataset& dataset, OfTypes<CsvTable<float>>& tables,
                            const std::string& missing_features) const {
  if (std::ranges::none_of(tables, [](const auto& table) { return table.has_value(); })) {
    if (!missing_features.empty()) refuse_missing_features(folder_.string());
    return dataset.notes.push_back("features absent");
  }
  const fs::path where = raw_ / "node-feat";
  std::vector<std::shared_ptr<const Features>> of_types(tables.size());
  for (std::size_t t = 0; t < tables.size(); ++t)
    if (tables[t])
      of_types[t] = dense_features(tables[t]->rows, tables[t]->columns,
                                   std::move(tables[t]->values), where.string(), false);
  dataset.features = join_features(of_types, *dataset.typed, *dataset.graph, missing_features,
                                   folder_.string(), "read from " + where.string(), dataset.notes);
}

void TypedOgb::set_split(Dataset& dataset, const std::vector<bool>& labelled) const {
  const auto has_types = [](const fs::path& folder) {
    return find_csv(folder, "nodetype-has-split") ||
           std::ranges::any_of(folders_in(folder), [](const fs::path& each) {
             return find_csv(each, "train").has_value();
           });
  };
  std::vector<fs::path> named;
  for (const fs::path& each : folders_in(folder_ / "split"))
    if (has_types(each)) named.push_back(each);
  if (named.empty() && has_types(folder_ / "split")) named.push_back(folder_ / "split");
  const auto where = first_split(std::move(named), dataset.notes);
  if (!where) return;
  const auto files = files_of_types(*where, "train", read_marks(*where, "split"));
  dataset.split.assign(at(vertices_), Split::none);
  for (std::size_t t = 0; t < files.size(); ++t) {
    if (!files[t]) continue;
    if (dataset.labels.present() && !labelled[t])
      throw DataError(files[t]->parent_path().string(), "",
                      fmt::format("expected a split of a type with labels, found {}, which has "
                                  "none in {}",
                                  names_[t], (raw_ / "node-label").string()));
    read_split_files(files[t]->parent_path(), typed_.types[t].first, typed_.types[t].count,
                     dataset.split);
  }
}

Dataset TypedOgb::read(const std::string& missing_features) {
  std::vector<EdgeList> edges;
  for (std::size_t r = 0; r < typed_.relations.size(); ++r)
    edges.push_back(read_edges(typed_.relations[r], lines_[r]));
  std::int64_t classes = 0, columns = 0;
  auto labels = read_labels(classes);
  auto features = read_features(columns);
  require_plausible(columns);

  Dataset dataset;
  std::int64_t merged = 0;
  for (std::size_t r = 0; r < edges.size(); ++r) {
    auto graph = std::make_shared<const Csr>(build_csr(edges[r]));
    merged += edges[r].size() - graph->nnz();
    typed_.relations[r].graph = std::move(graph);
    edges[r] = {};
  }
  set_typed_graph(dataset, typed_);
  note_duplicates(dataset, merged);
  std::vector<bool> labelled;
  for (const auto& table : labels) labelled.push_back(table.has_value());
  set_labels(dataset, labels, classes);
  set_features(dataset, features, missing_features);
  set_split(dataset, labelled);
  std::vector<fs::path> folders;
  for (const Relation& relation : typed_.relations) folders.push_back(folder_of(raw_, relation));
  note_unread(folders, dataset.notes);
  return dataset;
}

}  // namespace

bool has_ogb_types(const fs::path& folder) {
  const auto has = [](const fs::path& where) {
    return !find_csv(where, "edge") && (find_csv(where, kTypes) || find_csv(where, kRelations));
  };
  return has(folder / "raw") || (!find_csv(folder / "raw", "edge") && has(folder));
}

Dataset read_typed_ogb(const fs::path& folder, const std::string& missing_features) {
  return TypedOgb(folder).read(missing_features);
}

}  // namespace orrery
