#include "core/partition/parts/partitioned_dataset.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/graph/files/checksum.hpp"
#include "core/graph/files/npy.hpp"
#include "core/graph/read/readers.hpp"
#include "core/partition/parts/neighbourhood_finder.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// The object in a meta.json; empty when there is none.
Json read_meta(const fs::path& file) {
  const MappedFile mapped(file);
  Json meta = Json::parse(mapped.bytes(), nullptr, false);
  return meta.is_object() ? meta : Json::object();
}

/// An array [rows, count] of numbers from 0 to below the limit of their row.
std::span<const std::int32_t> read_numbers(const NpyArray& array, std::int64_t count,
                                           std::initializer_list<std::int64_t> limits) {
  const auto rows = static_cast<std::int64_t>(limits.size());
  const auto values =
      rows == 1 ? array.values<std::int32_t>({count}) : array.values<std::int32_t>({rows, count});
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t limit = limits.begin()[static_cast<std::int64_t>(i) / count];
    if (values[i] < 0 || values[i] >= limit)
      throw DataError(array.path(), fmt::format("element {}", i),
                      fmt::format("expected numbers below {}, found {}", limit, values[i]));
  }
  return values;
}

/// Compares every file of a part with its checksum.
void require_whole(const fs::path& folder, const std::string& meta_checksum) {
  require_checksum(folder / "meta.json", meta_checksum);
  const Json meta = read_meta(folder / "meta.json");
  const Json sums = meta.value("checksums", Json::object());
  for (const auto& [name, sum] : sums.items()) require_checksum(folder / name, sum);
}

}  // namespace

fs::path part_folder(const fs::path& folder, int part) {
  return folder / fmt::format("part-{:05}", part);
}

PartitionedDataset::PartitionedDataset(fs::path folder) : folder_(std::move(folder)) {
  const std::string file = (folder_ / "meta.json").string();
  Json meta = read_meta(file);
  if (meta.value("format", "") != kPartsFormat)
    throw DataError(file, "",
                    "expected the meta.json of a folder of parts (orrery partition writes one)");
  if (meta.value("version", 1) != kPartsVersion)
    throw DataError(
        file, "key version",
        fmt::format("expected {}, found {}: write the parts again with orrery partition",
                    kPartsVersion, meta.value("version", 1)));
  const std::string sum = meta.value("checksum", "");
  meta.erase("checksum");
  if (sum != checksum(meta.dump()))
    throw DataError(file, "", "is damaged or was edited: its checksum does not fit");
  try {
    method_ = meta.at("method");
    hops_ = meta.at("hops");
    sizes_ = meta.at("sizes").get<std::vector<std::int64_t>>();
    replicas_ = meta.at("replicas").get<std::vector<std::int64_t>>();
    training_ = meta.at("training").get<std::vector<std::int64_t>>();
    checksums_ = meta.at("checksums").get<std::vector<std::string>>();
    facts_ = {.name = meta.at("name"),
              .vertices = meta.at("num_nodes"),
              .edges = meta.at("num_edges"),
              .symmetric = meta.at("symmetric"),
              .generated = meta.at("generated"),
              .features = meta.at("num_features"),
              .features_provenance = meta.at("features"),
              .classes = meta.at("num_classes"),
              .multilabel = meta.at("multilabel"),
              .training_vertices = meta.at("training_vertices"),
              .notes = meta.at("notes")};
  } catch (const Json::exception& error) {
    throw DataError(file, "", fmt::format("is incomplete: {}", error.what()));
  }
}

StoredPart PartitionedDataset::read(int part) const {
  const fs::path folder = part_folder(folder_, part);
  require_whole(folder, checksums_.at(at(part)));
  const std::int64_t n = sizes_[at(part)], r = replicas_.at(at(part));
  auto local = std::make_shared<Dataset>(read_orrery(folder));
  local->symmetric = facts_.symmetric;
  local->generated = facts_.generated;
  local->notes = facts_.notes;
  local->labels.classes = facts_.classes;  // also where the part is empty
  local->labels.multilabel = facts_.multilabel;
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
  for (std::size_t i = 0; i < at(r); ++i)
    if (row[i] >= sizes_[at(owner[i])])
      throw DataError(replicas.path(), fmt::format("column {}", i),
                      "names a row that its owner has not");
  result.replica_owner.assign(owner.begin(), owner.end());
  result.replica_row.assign(row.begin(), row.end());
  result.replica_distance.assign(distance.begin(), distance.end());
  const auto d = read_numbers(degrees, n + r, {facts_.vertices});
  result.degrees.assign(d.begin(), d.end());
  result.local = std::move(local);
  return result;
}

}  // namespace orrery
