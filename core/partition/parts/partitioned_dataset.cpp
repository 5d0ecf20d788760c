#include "core/partition/parts/partitioned_dataset.hpp"

#include <fmt/core.h>

#include <numeric>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/graph/files/checksum.hpp"
#include "core/graph/files/npy.hpp"
#include "core/graph/read/readers.hpp"
#include "core/graph/read/typed_files.hpp"
#include "core/partition/parts/check_part.hpp"
#include "core/partition/parts/neighbourhood_finder.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// An array [rows, count] of numbers, each from 0 to below the limit of its row.
std::span<const std::int32_t> read_numbers(const NpyArray& array, std::int64_t count,
                                           std::initializer_list<std::int64_t> limits) {
  const auto rows = static_cast<std::int64_t>(limits.size());
  const auto values =
      rows == 1 ? array.values<std::int32_t>({count}) : array.values<std::int32_t>({rows, count});
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t limit = limits.begin()[static_cast<std::int64_t>(i) / count];
    if (values[i] < 0 || values[i] >= limit)
      throw DataError(array.path(), place_of(array.shape(), static_cast<std::int64_t>(i)),
                      fmt::format("expected numbers below {}, found {}", limit, values[i]));
  }
  return values;
}

/// The edges of each relation; `numbers`: the global number of each vertex of the part.
std::vector<Csr> read_relations(const fs::path& file, const TypedGraph& typed,
                                std::span<const std::int32_t> numbers) {
  const NpyArray array(file);
  const std::int64_t relations = std::ssize(typed.relations), held = std::ssize(numbers);
  const std::int64_t edges = array.shape().size() == 2 ? array.shape()[1] : 0;
  const auto values = read_numbers(array, edges, {relations, held, held});
  struct Found {
    const VertexType *source, *destination;
    std::vector<Vertex> from, to;
  };
  std::vector<Found> found;
  for (const Relation& relation : typed.relations)
    found.push_back({typed.type(relation.source), typed.type(relation.destination), {}, {}});
  for (std::size_t e = 0; e < at(edges); ++e) {
    const std::size_t r = at(values[e]);
    const Vertex from = values[at(edges) + e], to = values[2 * at(edges) + e];
    for (const auto& [type, v] : {std::pair{found[r].source, from}, {found[r].destination, to}})
      if (!type->has(numbers[at(v)]))
        throw DataError(array.path(), fmt::format("column {}", e),
                        fmt::format("expected vertices of the types of {}, found vertex {}",
                                    typed.relations[r].text(), numbers[at(v)]));
    found[r].from.push_back(from);
    found[r].to.push_back(to);
  }
  std::vector<Csr> graphs;
  for (const Found& edges_of : found) graphs.push_back(build_csr(held, edges_of.from, edges_of.to));
  return graphs;
}

void require_version(const MetaFile& meta) {
  const bool former = !meta.has("schema_version") && meta.has("version");
  const char* key = former ? "version" : "schema_version";
  const auto refuse = [&](const std::string& found) {
    meta.fail(key, fmt::format("expected {}, found {}: write the parts again with orrery partition",
                               kPartsVersion, found));
  };
  if (!meta.has(key)) refuse("none");
  if (const std::int64_t version = meta.count(key); version != kPartsVersion)
    refuse(std::to_string(version));
}

std::int64_t sum_of(const std::vector<std::int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

}  // namespace

fs::path part_folder(const fs::path& folder, int part) {
  return folder / fmt::format("part-{:05}", part);
}

PartitionedDataset::PartitionedDataset(fs::path folder) : folder_(std::move(folder)) {
  const MetaFile meta(folder_);
  const std::string file = (folder_ / "meta.json").string();
  if (!meta.has("format") || meta.json()["format"] != kPartsFormat)
    throw DataError(file, "",
                    "expected the meta.json of a folder of parts (orrery partition writes one)");
  require_version(meta);
  Json rest = meta.json();
  rest.erase("checksum");
  if (meta.get<std::string>("checksum", "") != checksum(rest.dump()))
    throw DataError(file, "", "is damaged or was edited: its checksum does not match");
  method_ = meta.words("method");
  hops_ = meta.get<int>("hops");
  one_sided_ = meta.get<bool>("one_sided", false);
  sizes_ = meta.counts("sizes");
  replicas_ = meta.counts("replicas");
  training_ = meta.counts("training");
  checksums_ = meta.get<std::vector<std::string>>("checksums");
  facts_ = {.name = meta.words("name"),
            .vertices = meta.count("num_nodes"),
            .edges = meta.count("num_edges"),
            .symmetric = meta.get<bool>("symmetric"),
            .generated = meta.get<bool>("generated"),
            .features = meta.count("num_features"),
            .features_provenance = meta.words("features"),
            .classes = meta.count("num_classes"),
            .multilabel = meta.get<bool>("multilabel"),
            .training_vertices = meta.count("training_vertices"),
            .notes = meta.list_of_words("notes", {})};
  check_lists(meta);
  typed_ = read_types(meta, facts_.vertices);
}

/// Compares the records of each part with those of all.
void PartitionedDataset::check_lists(const MetaFile& meta) const {
  const auto fail = [&](const char* key, std::int64_t expected, const char* of_what,
                        std::int64_t found) {
    meta.fail(key, fmt::format("expected {} {}, found {}", expected, of_what, found));
  };
  if (hops_ < 0 || hops_ > kMostHops)
    meta.fail("hops", fmt::format("expected 0 to {}, found {}", kMostHops, hops_));
  if (one_sided_ && hops_ > 0)
    meta.fail("one_sided",
              "expected false, because the parts hold the neighbours of their "
              "vertices");
  if (facts_.vertices > kMaxVertices)
    meta.fail("num_nodes",
              fmt::format("expected at most {}, found {}", kMaxVertices, facts_.vertices));
  if (const std::int64_t most = facts_.vertices * facts_.vertices; facts_.edges > most)
    fail("num_edges", most, fmt::format("at most among {} vertices", facts_.vertices).c_str(),
         facts_.edges);
  const std::int64_t parts = meta.count("parts");
  if (parts < 1) meta.fail("parts", fmt::format("expected at least 1, found {}", parts));
  for (const auto& [key, length] :
       {std::pair{"sizes", sizes_.size()}, std::pair{"replicas", replicas_.size()},
        std::pair{"training", training_.size()}, std::pair{"checksums", checksums_.size()}})
    if (static_cast<std::int64_t>(length) != parts)
      fail(key, parts, "of them, one per part", static_cast<std::int64_t>(length));
  for (std::size_t i = 0; i < sizes_.size(); ++i) {
    const std::int64_t others = farthest() == 0 ? 0 : facts_.vertices - sizes_[i];
    if (sizes_[i] > facts_.vertices) fail("sizes", facts_.vertices, "vertices at most", sizes_[i]);
    if (replicas_[i] > others) fail("replicas", others, "vertices of others at most", replicas_[i]);
    if (training_[i] > sizes_[i])
      fail("training", sizes_[i], "vertices of the part at most", training_[i]);
  }
  if (sum_of(sizes_) != facts_.vertices)
    fail("sizes", facts_.vertices, "vertices (num_nodes) in all", sum_of(sizes_));
  if (sum_of(training_) != facts_.training_vertices)
    fail("training", facts_.training_vertices, "vertices (training_vertices) in all",
         sum_of(training_));
}

StoredPart PartitionedDataset::read(int part) const {
  const fs::path folder = part_folder(folder_, part);
  require_checksum(folder / "meta.json", checksums_.at(at(part)));
  check_part_files(MetaFile(folder), folder, *this, part);
  const std::int64_t n = sizes_[at(part)], r = replicas_.at(at(part));
  auto local = std::make_shared<Dataset>(read_orrery(folder));
  local->symmetric = facts_.symmetric;
  local->generated = facts_.generated;
  local->notes = facts_.notes;
  if (local->vertices() != n + r)
    throw DataError(folder.string(), "",
                    fmt::format("expected {} vertices, found {}", n + r, local->vertices()));
  StoredPart result;
  result.owned = n;
  const NpyArray vertices(folder / "vertices.npy"), replicas(folder / "replicas.npy"),
      degrees(folder / "degrees.npy");
  const auto numbers = read_numbers(vertices, n + r, {facts_.vertices});
  const auto own = numbers.first(at(n)), others = numbers.subspan(at(n));
  result.vertices = std::make_shared<const std::vector<Vertex>>(own.begin(), own.end());
  result.replicas.assign(others.begin(), others.end());
  const auto places =
      read_numbers(replicas, r, {std::ssize(sizes_), facts_.vertices, std::int64_t{kMostHops} + 1});
  const auto owner = places.first(at(r)), row = places.subspan(at(r), at(r)),
             distance = places.last(at(r));
  result.replica_owner.assign(owner.begin(), owner.end());
  result.replica_row.assign(row.begin(), row.end());
  result.replica_distance.assign(distance.begin(), distance.end());
  const auto d = read_numbers(degrees, n + r, {facts_.vertices});
  result.degrees.assign(d.begin(), d.end());
  if (typed_) result.relations = read_relations(folder / "relations.npy", *typed_, numbers);
  result.local = local;
  check_part(result, folder, *this, part);
  if (part + 1 == std::ssize(sizes_)) check_edge_count(*this, folder_);
  local->labels.classes = facts_.classes;  // also if the part is empty
  local->labels.multilabel = facts_.multilabel;
  return result;
}

}  // namespace orrery
