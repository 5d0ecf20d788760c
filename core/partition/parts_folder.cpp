#include "core/partition/parts_folder.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "core/graph/folder_in_progress.hpp"
#include "core/graph/npy.hpp"
#include "core/graph/readers.hpp"
#include "core/graph/write_orrery.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "orrery-parts";

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

fs::path part_folder(const fs::path& folder, int part) {
  return folder / fmt::format("part-{:05}", part);
}

// ---- writing ------------------------------------------------------------------------------------

using Pairs = std::vector<std::pair<Vertex, Vertex>>;

void write_values(const fs::path& file, std::vector<std::int64_t> shape,
                  std::span<const std::int32_t> values) {
  auto out = NpyWriter::create<std::int32_t>(file, std::move(shape));
  out.append(values);
  out.close();
}

void write_pairs(const fs::path& file, const Pairs& pairs) {
  std::vector<std::int32_t> values;
  for (const auto& [first, second] : pairs) values.push_back(first);
  for (const auto& [first, second] : pairs) values.push_back(second);
  write_values(file, {2, static_cast<std::int64_t>(pairs.size())}, values);
}

/// Rows of the features of some vertices, in their order.
class RowsOf final : public Features {
 public:
  RowsOf(std::shared_ptr<const Features> whole, const std::vector<Vertex>& vertices)
      : whole_(std::move(whole)), vertices_(vertices) {}
  std::int64_t rows() const override { return static_cast<std::int64_t>(vertices_.size()); }
  std::int64_t width() const override { return whole_->width(); }
  void read(std::span<const Vertex> rows, std::int64_t col0, std::int64_t cols, float* out,
            std::int64_t ld) const override {
    std::vector<Vertex> global;
    for (const Vertex r : rows) global.push_back(vertices_[at(r)]);
    whole_->read(global, col0, cols, out, ld);
  }
  std::string provenance() const override { return whole_->provenance(); }
  bool made_up() const override { return whole_->made_up(); }

 private:
  std::shared_ptr<const Features> whole_;
  const std::vector<Vertex>& vertices_;
};

class PartsWriter {
 public:
  PartsWriter(const Dataset& data, const Partition& partition)
      : data_(data),
        owner_(partition.owner),
        members_(partition.members()),
        row_(partition.owner.size()),
        out_(data.symmetric ? Csr{} : transpose(*data.graph)) {
    for (const auto& own : members_)
      for (std::size_t i = 0; i < own.size(); ++i) row_[at(own[i])] = static_cast<Vertex>(i);
  }

  void write(int part, const fs::path& folder) const {
    const std::vector<Vertex>& own = members_[at(part)];
    EdgeList inner{static_cast<std::int64_t>(own.size()), {}, {}};
    Pairs in, out;  // (global vertex of another part, own row)
    for (std::size_t i = 0; i < own.size(); ++i) {
      const auto row = static_cast<Vertex>(i);
      for (const Vertex u : data_.graph->row(own[i]))
        if (owner_[at(u)] == part) {
          inner.source.push_back(row_[at(u)]);
          inner.destination.push_back(row);
        } else {
          in.emplace_back(u, row);
        }
      if (data_.symmetric) continue;
      for (const Vertex u : out_.row(own[i]))
        if (owner_[at(u)] != part) out.emplace_back(u, row);
    }
    write_orrery(own_data(part, inner), folder);
    write_values(folder / "vertices.npy", {inner.vertices}, own);
    write_joints(own, in, out, folder);
  }

 private:
  Dataset own_data(int part, const EdgeList& inner) const {
    const std::vector<Vertex>& own = members_[at(part)];
    Dataset d;
    d.name = fmt::format("{} part {} of {}", data_.name, part, members_.size());
    d.graph = std::make_shared<const Csr>(build_csr(inner));
    d.symmetric = data_.symmetric;
    d.generated = data_.generated;
    d.notes = data_.notes;
    if (data_.features) d.features = std::make_shared<const RowsOf>(data_.features, own);
    d.labels = {data_.labels.classes, data_.labels.multilabel, {}};
    const std::int64_t columns = data_.labels.columns();
    for (const Vertex v : own) {
      if (data_.labels.present()) {
        const auto first = data_.labels.values.begin() + v * columns;
        d.labels.values.insert(d.labels.values.end(), first, first + columns);
      }
      if (!data_.split.empty()) d.split.push_back(data_.split[at(v)]);
    }
    return d;
  }

  /// Halo vertices by (owner, row there), and the edges to and from them.
  void write_joints(const std::vector<Vertex>& own, Pairs& in, Pairs& out,
                    const fs::path& folder) const {
    std::vector<Vertex> halo;
    for (const Pairs* pairs : {&in, &out})
      for (const auto& [u, row] : *pairs) halo.push_back(u);
    const auto before = [&](Vertex a, Vertex b) {
      return std::pair{owner_[at(a)], a} < std::pair{owner_[at(b)], b};
    };
    std::sort(halo.begin(), halo.end(), before);
    halo.erase(std::unique(halo.begin(), halo.end()), halo.end());
    const auto index_of = [&](Vertex u) {
      return static_cast<Vertex>(std::lower_bound(halo.begin(), halo.end(), u, before) -
                                 halo.begin());
    };
    for (auto& [u, row] : in) u = index_of(u);
    for (auto& edge : out) edge = {edge.second, index_of(edge.first)};
    std::vector<std::int32_t> places, degrees;
    for (const Vertex u : halo) places.push_back(owner_[at(u)]);
    for (const Vertex u : halo) places.push_back(row_[at(u)]);
    for (const Vertex v : own) degrees.push_back(degree(v));
    for (const Vertex u : halo) degrees.push_back(degree(u));
    const auto h = static_cast<std::int64_t>(halo.size());
    write_values(folder / "halo.npy", {2, h}, places);
    write_values(folder / "degrees.npy", {static_cast<std::int64_t>(own.size()) + h}, degrees);
    write_pairs(folder / "cross_in.npy", in);
    if (!data_.symmetric) write_pairs(folder / "cross_out.npy", out);
  }

  std::int32_t degree(Vertex v) const {
    const auto row = data_.graph->row(v);
    const bool loop = std::binary_search(row.begin(), row.end(), v);
    return static_cast<std::int32_t>(row.size()) - (loop ? 1 : 0);
  }

  const Dataset& data_;
  const std::vector<std::int32_t>& owner_;
  std::vector<std::vector<Vertex>> members_;
  std::vector<Vertex> row_;  ///< of each vertex at its owner
  Csr out_;                  ///< row v: out-neighbours of v, where they are not the in-neighbours
};

// ---- reading ------------------------------------------------------------------------------------

/// An array of pairs [2, m] whose rows are below the limits.
Pairs read_pairs(const fs::path& file, std::int64_t first_limit, std::int64_t second_limit) {
  const NpyArray array(file);
  const auto values = array.values<std::int32_t>({2, -1});
  const std::size_t half = values.size() / 2;
  Pairs pairs;
  pairs.reserve(half);
  for (std::size_t i = 0; i < half; ++i) {
    const Vertex a = values[i], b = values[half + i];
    if (a < 0 || a >= first_limit || b < 0 || b >= second_limit)
      throw DataError(array.path(), fmt::format("column {}", i),
                      fmt::format("expected numbers below {} and {}, found {} and {}", first_limit,
                                  second_limit, a, b));
    pairs.emplace_back(a, b);
  }
  return pairs;
}

/// [own, halo] from (own row, halo index) pairs.
Csr cross_pattern(Pairs pairs, std::int64_t own, std::int64_t halo) {
  std::sort(pairs.begin(), pairs.end());
  Csr a;
  a.rows = own;
  a.cols = halo;
  a.offsets.assign(at(own) + 1, 0);
  for (const auto& [row, column] : pairs) {
    ++a.offsets[at(row) + 1];
    a.columns.push_back(column);
  }
  for (std::size_t r = 0; r < at(own); ++r) a.offsets[r + 1] += a.offsets[r];
  return a;
}

void swap_ends(Pairs& pairs) {
  for (auto& [a, b] : pairs) std::swap(a, b);
}

/// Only parts are replaced by parts.
void require_replaceable(const fs::path& folder, bool force) {
  if (!fs::exists(folder) || (fs::is_directory(folder) && fs::is_empty(folder))) return;
  if (!force)
    throw DataError(folder.string(), "", "is there already; --force replaces a folder of parts");
  try {
    const PartsFolder is_one(folder);
  } catch (const DataError&) {
    throw DataError(folder.string(), "", "is no folder of parts, so it is not replaced");
  }
}

}  // namespace

DataFacts facts_of(const Dataset& data) {
  DataFacts facts;
  facts.name = data.name;
  facts.vertices = data.vertices();
  facts.edges = data.edges();
  facts.symmetric = data.symmetric;
  facts.generated = data.generated;
  if (data.features) {
    facts.features = data.features->width();
    facts.features_provenance = data.features->provenance();
  }
  facts.classes = data.labels.present() ? data.labels.classes : 0;
  facts.multilabel = data.labels.multilabel;
  facts.training_vertices = std::count(data.split.begin(), data.split.end(), Split::train);
  facts.notes = data.notes;
  return facts;
}

DataFacts facts_of(const GraphStatistics& graph) {
  DataFacts facts;
  facts.name = graph.name;
  facts.vertices = graph.vertices;
  facts.edges = graph.edges;
  facts.symmetric = graph.symmetric;
  facts.features = graph.features;
  facts.features_provenance = "unknown";
  facts.classes = graph.classes;
  facts.multilabel = graph.multilabel;
  facts.training_vertices = graph.training_vertices;
  facts.notes = {"known by its statistics alone"};
  return facts;
}

void write_parts(const Dataset& data, const Partition& partition, const std::string& method,
                 const fs::path& folder, bool force) {
  require_replaceable(folder, force);
  FolderInProgress progress(folder, force);
  const PartsWriter writer(data, partition);
  const DataFacts f = facts_of(data);
  Json sizes = Json::array();
  for (const auto& own : partition.members()) sizes.push_back(own.size());
  for (int part = 0; part < partition.parts; ++part)
    writer.write(part, part_folder(progress.path(), part));
  const Json meta{{"format", kFormat},
                  {"name", f.name},
                  {"method", method},
                  {"parts", partition.parts},
                  {"sizes", sizes},
                  {"num_nodes", f.vertices},
                  {"num_edges", f.edges},
                  {"symmetric", f.symmetric},
                  {"generated", f.generated},
                  {"num_features", f.features},
                  {"features", f.features_provenance},
                  {"num_classes", f.classes},
                  {"multilabel", f.multilabel},
                  {"training_vertices", f.training_vertices},
                  {"notes", f.notes}};
  std::ofstream out(progress.path() / "meta.json");
  out << meta.dump(1) << "\n";
  out.close();
  if (!out) throw DataError((folder / "meta.json").string(), "", "cannot be written");
  progress.commit();
}

PartsFolder::PartsFolder(fs::path folder) : folder_(std::move(folder)) {
  const std::string file = (folder_ / "meta.json").string();
  const MappedFile mapped(file);
  const Json meta = Json::parse(mapped.bytes(), nullptr, false);
  if (meta.is_discarded() || !meta.is_object() || meta.value("format", "") != kFormat)
    throw DataError(file, "",
                    "expected the meta.json of a folder of parts (orrery partition writes one)");
  try {
    method_ = meta.at("method");
    sizes_ = meta.at("sizes").get<std::vector<std::int64_t>>();
    facts_ = {meta.at("name"),       meta.at("num_nodes"),
              meta.at("num_edges"),  meta.at("symmetric"),
              meta.at("generated"),  meta.at("num_features"),
              meta.at("features"),   meta.at("num_classes"),
              meta.at("multilabel"), meta.at("training_vertices"),
              meta.at("notes")};
  } catch (const Json::exception& error) {
    throw DataError(file, "", fmt::format("is incomplete: {}", error.what()));
  }
}

StoredPart PartsFolder::read(int part) const {
  const fs::path folder = part_folder(folder_, part);
  const std::int64_t n = sizes_[at(part)];
  auto own = std::make_shared<Dataset>(read_orrery(folder));
  own->symmetric = facts_.symmetric;
  own->labels.classes = facts_.classes;  // also where the part is empty
  own->labels.multilabel = facts_.multilabel;
  if (own->vertices() != n)
    throw DataError(folder.string(), "",
                    fmt::format("expected {} vertices, found {}", n, own->vertices()));
  StoredPart result;
  const NpyArray vertices(folder / "vertices.npy");
  const auto numbers = vertices.values<std::int32_t>({n});
  result.vertices = std::make_shared<const std::vector<Vertex>>(numbers.begin(), numbers.end());
  for (const auto& [owner, row] :
       read_pairs(folder / "halo.npy", static_cast<std::int64_t>(sizes_.size()), facts_.vertices)) {
    if (row >= sizes_[at(owner)])
      throw DataError((folder / "halo.npy").string(), "", "names a row that its owner has not");
    result.halo_owner.push_back(owner);
    result.halo_row.push_back(row);
  }
  const auto halo = static_cast<std::int64_t>(result.halo_row.size());
  const NpyArray degrees(folder / "degrees.npy");
  const auto d = degrees.values<std::int32_t>({n + halo});
  result.degrees.assign(d.begin(), d.end());
  Pairs in = read_pairs(folder / "cross_in.npy", halo, n);
  swap_ends(in);
  result.cross_in = cross_pattern(std::move(in), n, halo);
  result.cross_out = facts_.symmetric
                         ? result.cross_in
                         : cross_pattern(read_pairs(folder / "cross_out.npy", n, halo), n, halo);
  result.own = std::move(own);
  return result;
}

}  // namespace orrery
