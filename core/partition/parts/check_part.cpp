#include "core/partition/parts/check_part.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/graph/files/checksum.hpp"
#include "core/graph/files/folder_in_progress.hpp"
#include "core/graph/files/npy.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;

/// Errors of one part: which of its files, and where in it.
struct Complaint {
  const fs::path& folder;

  [[noreturn]] void operator()(const char* file, const std::string& position,
                               const std::string& problem) const {
    throw DataError((folder / file).string(), position, problem);
  }
  [[noreturn]] void element(const char* file, std::int64_t i, const std::string& problem) const {
    (*this)(file, fmt::format("element {}", i), problem);
  }
};

void check_targets(const Dataset& local, const DataFacts& facts, const Complaint& complain) {
  const Labels& labels = local.labels;
  const std::int64_t width = local.features ? local.features->width() : 0;
  if (width != facts.features)
    complain("meta.json", "key feature_storage",
             fmt::format("expected features of {} columns, found {}", facts.features, width));
  if (local.vertices() == 0) return;
  if (facts.classes > 0 && !labels.present())
    complain("meta.json", "key has_labels",
             fmt::format("expected labels of {} classes, found none", facts.classes));
  if (labels.present() && (labels.multilabel != facts.multilabel || labels.classes > facts.classes))
    complain("labels.npy", "",
             fmt::format("expected labels of {} classes, {} of each vertex, found {} classes, {}",
                         facts.classes, facts.multilabel ? "several" : "one", labels.classes,
                         labels.multilabel ? "several" : "one"));
  if (facts.training_vertices > 0 && local.split.empty())
    complain("meta.json", "key has_split",
             fmt::format("expected a split with {} training vertices in all, found none",
                         facts.training_vertices));
}

void check_split(const Dataset& local, std::int64_t owned, std::int64_t training,
                 const Complaint& complain) {
  std::int64_t found = 0;
  for (std::size_t v = 0; v < local.split.size(); ++v) {
    const auto vertex = static_cast<std::int64_t>(v);
    if (vertex >= owned && local.split[v] != Split::none)
      complain.element("split.npy", vertex, "expected 255 (none) of a vertex of another part");
    if (local.split[v] != Split::train) continue;
    ++found;
    if (local.labels.present() && !local.labels.multilabel && local.labels.values[v] < 0)
      complain.element("labels.npy", vertex, "expected a class of a training vertex, found -1");
  }
  if (found != training)
    complain(
        "split.npy", "",
        fmt::format("expected {} training vertices as the meta.json of all parts says, found {}",
                    training, found));
}

void check_numbers(const StoredPart& part, const Complaint& complain) {
  const std::vector<Vertex>& own = *part.vertices;
  for (std::size_t i = 1; i < own.size(); ++i)
    if (own[i] <= own[i - 1])
      complain.element(
          "vertices.npy", static_cast<std::int64_t>(i),
          fmt::format("expected own vertices that ascend, found {} behind {}", own[i], own[i - 1]));
  std::vector<Vertex> others = part.replicas;
  std::sort(others.begin(), others.end());
  for (std::size_t i = 0; i < others.size(); ++i)
    if ((i > 0 && others[i] == others[i - 1]) ||
        std::binary_search(own.begin(), own.end(), others[i]))
      complain("vertices.npy", "",
               fmt::format("expected every vertex once, found {} again", others[i]));
}

/// Checks the owner of each replica, its row there and its distance.
void check_replicas(const StoredPart& part, const PartitionedDataset& whole, int number,
                    const Complaint& complain) {
  const auto column = [&](std::size_t i, const std::string& problem) {
    complain("replicas.npy", fmt::format("column {}", i), problem);
  };
  for (std::size_t i = 0; i < part.replicas.size(); ++i) {
    const std::int32_t owner = part.replica_owner[i], distance = part.replica_distance[i];
    const Vertex row = part.replica_row[i], vertex = part.replicas[i];
    const std::int64_t size = whole.sizes()[at(owner)];
    if (owner == number) column(i, "expected a vertex of another part, found one of this");
    if (distance < 1 || distance > whole.farthest())
      column(i,
             fmt::format("expected a distance from 1 to {}, found {}", whole.farthest(), distance));
    // Rows count an owner's vertices in ascending order: at least `row` numbers are below, and the
    // rest above.
    if (row >= size || row > vertex || size - row > whole.facts().vertices - vertex)
      column(i, fmt::format("expected the row of vertex {} among {} of part {}, found {}", vertex,
                            size, owner, row));
    if (i == 0) continue;
    const auto before = std::tuple(part.replica_distance[i - 1], part.replica_owner[i - 1]);
    const auto here = std::tuple(distance, owner);
    const Vertex rows = row - part.replica_row[i - 1], numbers = vertex - part.replicas[i - 1];
    if (here < before || (here == before && (rows <= 0 || numbers < rows)))
      column(i,
             "expected columns that ascend by distance, owner and row as their vertices do, found "
             "them out of order");
  }
}

/// Compares the rows of replicas with the numbers of their owners' vertices, for the parts that are
/// present: a server may have only its own.
void check_rows(const StoredPart& part, const PartitionedDataset& whole, const fs::path& parts,
                const Complaint& complain) {
  struct Others {
    std::optional<NpyArray> file;
    std::span<const std::int32_t> vertices;  ///< empty if the part is not present
  };
  std::map<std::int32_t, Others> others;
  for (std::size_t i = 0; i < part.replicas.size(); ++i) {
    const std::int32_t owner = part.replica_owner[i];
    const auto [known, is_new] = others.try_emplace(owner);
    Others& other = known->second;
    if (is_new) {
      const fs::path path = part_folder(parts, owner) / "vertices.npy";
      if (fs::exists(path))
        other.vertices = other.file.emplace(path).values<std::int32_t>(
            {whole.sizes()[at(owner)] + whole.replicas()[at(owner)]});
    }
    if (other.vertices.empty()) continue;
    const Vertex found = other.vertices[at(part.replica_row[i])];
    if (found != part.replicas[i])
      complain("replicas.npy", fmt::format("column {}", i),
               fmt::format("expected the row of vertex {} in {}, found that of vertex {}",
                           part.replicas[i], other.file->path(), found));
  }
}

/// In-degrees in the whole graph. All in-neighbours of vertices less than `hops` away are present.
void check_degrees(const StoredPart& part, int hops, const Complaint& complain) {
  const Csr& graph = *part.local->graph;
  for (std::int64_t v = 0; v < graph.rows; ++v) {
    const auto row = graph.row(v);
    const auto here = std::count_if(row.begin(), row.end(), [&](Vertex u) { return u != v; });
    const int distance = v < part.owned ? 0 : part.replica_distance[at(v - part.owned)];
    const std::int32_t degree = part.degrees[at(v)];
    if (degree < here || (distance < hops && degree > here))
      complain.element("degrees.npy", v,
                       fmt::format("expected {}{} as the part has that many edges to it, found {}",
                                   distance < hops ? "" : "at least ", here, degree));
  }
}

/// Every edge of the part has a relation, and every relation's edges are among them.
void check_relations(const StoredPart& part, const Complaint& complain) {
  TypedGraph typed;
  for (const Csr& graph : part.relations)
    typed.relations.push_back({"", "", "", std::make_shared<const Csr>(graph)});
  if (union_of(typed) != *part.local->graph)
    complain("relations.npy", "",
             "expected the edges of edges.npy, each with a relation, found others");
}

}  // namespace

void check_part_files(const MetaFile& meta, const fs::path& folder, const PartitionedDataset& whole,
                      int number) {
  const DataFacts& facts = whole.facts();
  const auto expect = [&](const char* key, std::int64_t expected) {
    if (const std::int64_t found = meta.count(key); found != expected)
      meta.fail(key, fmt::format("expected {} as the meta.json of all parts says, found {}",
                                 expected, found));
  };
  const auto expect_flag = [&](const char* key, bool expected) {
    if (meta.get<bool>(key, false) != expected)
      meta.fail(key, fmt::format("expected {} as the meta.json of all parts says, found {}",
                                 expected, !expected));
  };
  if (const auto version = meta.get<std::int64_t>("schema_version", kPartVersion);
      version != kPartVersion)
    meta.fail("schema_version",
              fmt::format("expected {} of a part, found {}", kPartVersion, version));
  const std::int64_t owned = whole.sizes()[at(number)];
  expect("owned_nodes", owned);
  expect("num_nodes", owned + whole.replicas()[at(number)]);
  expect("num_features", facts.features);
  expect("num_classes", facts.classes);
  expect_flag("multilabel", facts.multilabel);
  expect_flag("symmetric", facts.symmetric);
  if (meta.has("directed")) expect_flag("directed", !facts.symmetric);
  std::set<std::string> known{"meta.json"};
  for (const auto& [name, sum] : meta.object("checksums").items()) {
    if (name.find('/') != std::string::npos || !sum.is_string())
      meta.fail("checksums", fmt::format("expected checksums of files here, found {}: {}", name,
                                         JsonReader::shown(sum)));
    require_checksum(folder / name, sum.get<std::string>());
    known.insert(name);
  }
  const std::string unknown =
      foreign_entry(folder, [&](const std::string& name) { return known.contains(name); });
  if (!unknown.empty())
    meta.fail("checksums", fmt::format("expected one of {}, found none", unknown));
}

void check_part(const StoredPart& part, const fs::path& folder, const PartitionedDataset& whole,
                int number) {
  const Complaint complain{folder};
  check_targets(*part.local, whole.facts(), complain);
  check_split(*part.local, part.owned, whole.training()[at(number)], complain);
  check_numbers(part, complain);
  check_replicas(part, whole, number, complain);
  check_rows(part, whole, folder.parent_path(), complain);
  check_degrees(part, whole.hops(), complain);
  if (whole.typed()) check_relations(part, complain);
}

void check_edge_count(const PartitionedDataset& whole, const fs::path& folder) {
  std::int64_t least = 0;  // degrees leave self-loops out: at most one for each vertex
  for (int part = 0; part < static_cast<int>(whole.sizes().size()); ++part) {
    const fs::path file = part_folder(folder, part) / "degrees.npy";
    if (!fs::exists(file)) return;
    const NpyArray degrees(file);
    const std::int64_t owned = whole.sizes()[at(part)];
    const auto all = degrees.values<std::int32_t>({owned + whole.replicas()[at(part)]});
    for (const std::int32_t degree : all.first(at(owned))) least += degree;
  }
  const DataFacts& facts = whole.facts();
  const std::int64_t most = least + facts.vertices;
  if (facts.edges < least || facts.edges > most)
    throw DataError((folder / "meta.json").string(), "key num_edges",
                    fmt::format("expected {} to {} as the degrees of all parts say, found {}",
                                least, most, facts.edges));
}

}  // namespace orrery
