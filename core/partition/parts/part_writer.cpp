#include "core/partition/parts/part_writer.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/whole_file.hpp"
#include "core/graph/files/checksum.hpp"
#include "core/graph/files/npy.hpp"
#include "core/graph/files/plain_file.hpp"
#include "core/graph/read/write_vertex_rows.hpp"
#include "core/partition/parts/partitioned_dataset.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::size_t kBlock = 1 << 16;  ///< values per write

/// Writes an array of a few rows, column by column.
template <std::size_t kRows>
class ColumnWriter {
 public:
  ColumnWriter(const fs::path& file, std::int64_t columns) : file_(file) {
    const std::string header = npy_header_bytes(npy_dtype<std::int32_t>(), {kRows, columns});
    file_.write(0, header.data(), header.size());
    for (std::size_t r = 0; r < kRows; ++r) {
      end_[r] = static_cast<std::int64_t>(header.size() + 4 * r * at(columns));
      row_[r].reserve(kBlock);
    }
  }
  void add(const std::array<std::int32_t, kRows>& column) {
    for (std::size_t r = 0; r < kRows; ++r) row_[r].push_back(column[r]);
    if (row_[0].size() == kBlock) flush();
  }
  void close() {
    flush();
    file_.close();
  }

 private:
  void flush() {
    for (std::size_t r = 0; r < kRows; ++r) {
      file_.write(end_[r], row_[r].data(), 4 * row_[r].size());
      end_[r] += 4 * std::ssize(row_[r]);
      row_[r].clear();
    }
  }
  PlainFile file_;
  std::array<std::int64_t, kRows> end_;
  std::array<std::vector<std::int32_t>, kRows> row_;
};

/// Writes the array of value(0), value(1), ...
template <class Value>
void write_values(const fs::path& file, const std::vector<std::int64_t>& shape,
                  const Value& value) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  auto out = NpyWriter::create<std::int32_t>(file, shape);
  std::vector<std::int32_t> block;
  for (std::int64_t i = 0; i < count; ++i) {
    block.push_back(value(i));
    if (block.size() < kBlock && i + 1 < count) continue;
    out.append<std::int32_t>(block);
    block.clear();
  }
  out.close();
}

Json checksums_of(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  Json sums = Json::object();
  for (const auto& name : names) sums[name] = file_checksum(folder / name);
  return sums;
}

/// The rows of a part: replicas are in no split, so that no vertex is trained on twice.
VertexRows rows_of_part(const VertexRows& whole, const NeighbourhoodFinder& part) {
  VertexRows rows = rows_of(whole, part.vertices());
  if (!rows.split) return rows;
  rows.split = [read = rows.split, owned = part.owned()](std::span<const Vertex> some, Split* out) {
    read(some, out);
    for (std::size_t i = 0; i < some.size(); ++i)
      if (some[i] >= owned) out[i] = Split::none;
  };
  return rows;
}

}  // namespace

PartSummary PartWriter::write(int part, const fs::path& folder, const std::string& name,
                              bool generated) {
  vertices_.find(part);
  const auto held = std::ssize(vertices_.vertices());
  const std::int64_t edges = write_edges(folder);
  if (graph_.typed()) write_relations(folder);
  write_places(folder);
  const Json feature_storage = write_vertex_rows(rows_of_part(rows_, vertices_), folder);
  Json meta{{"schema_version", kPartVersion},
            {"name", name},
            {"num_nodes", held},
            {"num_edges", edges},
            {"owned_nodes", vertices_.owned()},
            {"directed", !graph_.symmetric()},
            {"symmetric", graph_.symmetric()},
            {"num_features", rows_.features ? rows_.features->width() : 0},
            {"num_classes", rows_.labels ? rows_.classes : 0},
            {"multilabel", rows_.multilabel},
            {"feature_storage", feature_storage},
            {"has_labels", rows_.labels != nullptr},
            {"has_split", rows_.split != nullptr}};
  if (generated) meta["generated"] = true;
  meta["checksums"] = checksums_of(folder);
  const std::string text = meta.dump(1) + "\n";
  write_file(folder / "meta.json", text);
  return {vertices_.owned(), held - vertices_.owned(), training_vertices(), checksum(text)};
}

std::int64_t PartWriter::training_vertices() const {
  if (!rows_.split) return 0;
  const std::span<const Vertex> own(vertices_.vertices().data(), at(vertices_.owned()));
  std::vector<Split> split(std::min(kBlock, own.size()));
  std::int64_t count = 0;
  for (std::size_t first = 0; first < own.size(); first += kBlock) {
    const auto some = own.subspan(first, std::min(kBlock, own.size() - first));
    rows_.split(some, split.data());
    count += std::count(split.begin(), split.begin() + std::ssize(some), Split::train);
  }
  return count;
}

std::int64_t PartWriter::write_edges(const fs::path& folder) {
  std::int64_t count = 0;
  vertices_.for_each_edge([&](Vertex, Vertex) { ++count; });
  ColumnWriter<2> out(folder / "edges.npy", count);
  vertices_.for_each_edge([&](Vertex source, Vertex destination) {
    out.add({source, destination});
  });
  out.close();
  return count;
}

/// An edge comes once for each relation that has it.
void PartWriter::write_relations(const fs::path& folder) {
  std::int64_t count = 0;
  vertices_.for_each_typed_edge([&](std::int32_t, Vertex, Vertex) { ++count; });
  ColumnWriter<3> out(folder / "relations.npy", count);
  vertices_.for_each_typed_edge([&](std::int32_t relation, Vertex source, Vertex destination) {
    out.add({relation, source, destination});
  });
  out.close();
}

void PartWriter::write_places(const fs::path& folder) const {
  const auto& vertices = vertices_.vertices();
  const std::int64_t owned = vertices_.owned(), held = std::ssize(vertices);
  const std::int64_t replicas = held - owned;
  write_values(folder / "vertices.npy", {held}, [&](std::int64_t i) { return vertices[at(i)]; });
  write_values(folder / "degrees.npy", {held},
               [&](std::int64_t i) { return graph_.in_degree(vertices[at(i)]); });
  write_values(folder / "replicas.npy", {3, replicas}, [&](std::int64_t i) {
    const std::int64_t local = owned + i % replicas;
    const Vertex v = vertices[at(local)];
    if (i < replicas) return order_.owner(v);
    return i < 2 * replicas ? order_.row(v) : std::int32_t{vertices_.distance(local)};
  });
}

}  // namespace orrery
