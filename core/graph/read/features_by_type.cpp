#include "core/graph/read/features_by_type.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "core/base/index.hpp"
#include "core/graph/files/npy.hpp"
#include "core/graph/generate/mean_features.hpp"
#include "core/graph/plausible.hpp"
#include "core/graph/read/choices.hpp"
#include "core/graph/read/features_mapped.hpp"
#include "core/graph/read/read_features.hpp"
#include "core/terminal/words.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTypes = "feature_storage/types";

/// The features of consecutive types. What a type does not have is 0.
class ByType final : public Features {
 public:
  struct Part {
    Vertex first;
    std::shared_ptr<const Features> features;  ///< null: none
  };

  ByType(std::vector<Part> parts, std::int64_t rows, std::int64_t width, std::string provenance)
      : parts_(std::move(parts)),
        rows_(rows),
        width_(width),
        provenance_(std::move(provenance)),
        binary_(all([](const Features& part) { return part.binary(); })),
        half_(all([](const Features& part) { return part.half(); })) {}
  std::int64_t rows() const override { return rows_; }
  std::int64_t width() const override { return width_; }
  std::string provenance() const override { return provenance_; }
  bool binary() const override { return binary_; }
  bool half() const override { return half_; }

  void read(std::span<const Vertex> vertices, std::int64_t col0, std::int64_t cols, float* out,
            std::int64_t ld) const override {
    read_as(vertices, col0, cols, out, ld,
            [](const Features& part, auto... where) { part.read(where...); });
  }
  void read_half(std::span<const Vertex> vertices, std::int64_t col0, std::int64_t cols, Half* out,
                 std::int64_t ld) const override {
    read_as(vertices, col0, cols, out, ld,
            [](const Features& part, auto... where) { part.read_half(where...); });
  }

 private:
  template <class Is>
  bool all(const Is& is) const {
    return std::ranges::all_of(parts_,
                               [&](const Part& p) { return !p.features || is(*p.features); });
  }

  const Part& part_of(Vertex v) const {
    return *(std::ranges::upper_bound(parts_, v, {}, &Part::first) - 1);
  }

  /// Run after run of vertices of one type.
  template <class Value, class Read>
  void read_as(std::span<const Vertex> vertices, std::int64_t col0, std::int64_t cols, Value* out,
               std::int64_t ld, const Read& read) const {
    std::vector<Vertex> own;  // of a run, numbered in the type
    for (std::size_t i = 0; i < vertices.size(); i += own.size(), own.clear()) {
      const Part& part = part_of(vertices[i]);
      for (std::size_t k = i; k < vertices.size() && &part_of(vertices[k]) == &part; ++k)
        own.push_back(vertices[k] - part.first);
      Value* const rows = out + static_cast<std::int64_t>(i) * ld;
      const std::int64_t width = part.features ? part.features->width() : 0;
      const std::int64_t there = std::clamp<std::int64_t>(width - col0, 0, cols);
      if (there > 0) read(*part.features, std::span<const Vertex>(own), col0, there, rows, ld);
      for (std::int64_t r = 0; r < std::ssize(own); ++r)
        std::fill_n(rows + r * ld + there, cols - there, Value{});
    }
  }

  std::vector<Part> parts_;  // of types that have vertices
  std::int64_t rows_, width_;
  std::string provenance_;
  bool binary_, half_;
};

/// All rows in memory; those of types without features are means.
std::vector<float> with_means(const Features& features, const std::vector<bool>& has,
                              const TypedGraph& typed, const Csr& graph, std::int64_t& without) {
  std::vector<Vertex> all(at(features.rows()));
  std::iota(all.begin(), all.end(), 0);
  std::vector<float> values(all.size() * at(features.width()));
  features.read(all, 0, features.width(), values.data(), features.width());
  without = fill_with_means(values, features.width(), has, typed, graph);
  return values;
}

std::int64_t widest(const std::vector<std::shared_ptr<const Features>>& of_types) {
  std::int64_t width = 0;
  for (const auto& features : of_types)
    if (features) width = std::max(width, features->width());
  return width;
}

}  // namespace

std::shared_ptr<const Features> join_features(
    const std::vector<std::shared_ptr<const Features>>& of_types, const TypedGraph& typed,
    const Csr& graph, const std::string& missing_features, const std::string& name,
    const std::string& origin, std::vector<std::string>& notes) {
  std::vector<bool> has;
  std::vector<std::string> with, without, narrower;
  std::vector<ByType::Part> parts;
  const std::int64_t width = widest(of_types);
  for (std::size_t t = 0; t < of_types.size(); ++t) {
    const VertexType& type = typed.types[t];
    has.push_back(of_types[t] != nullptr);
    if (type.count == 0) continue;
    (has.back() ? with : without).push_back(type.name);
    if (has.back() && of_types[t]->width() < width)
      narrower.push_back(fmt::format("{} ({})", type.name, of_types[t]->width()));
    parts.push_back({static_cast<Vertex>(type.first), of_types[t]});
  }
  if (!missing_features.empty() && without.empty()) refuse_missing_features(name);
  if (!narrower.empty())
    notes.push_back(fmt::format("features: {} columns; those of {} end in zeros", width,
                                fmt::join(narrower, ", ")));
  std::string provenance = fmt::format("{} ({})", origin, fmt::join(with, ", "));
  const std::string those = fmt::format("{}", fmt::join(without, ", "));
  const bool zero = missing_features == "zero";
  if (!without.empty())
    provenance += fmt::format("; {} for {}", zero ? "zeros" : "means of neighbours", those);
  auto joined = std::make_shared<ByType>(std::move(parts), graph.rows, width, provenance);
  if (without.empty()) return joined;
  if (zero) {
    notes.push_back(
        fmt::format("features: {} have none, so theirs are 0 (missing_features)", those));
    return joined;
  }
  std::int64_t none = 0;
  std::vector<float> values = with_means(*joined, has, typed, graph, none);
  notes.push_back(fmt::format(
      "features: {} have none, so each vertex has the mean of its neighbours' (missing_features){}",
      those, none == 0 ? "" : fmt::format("; {} without such neighbours have 0", none)));
  return dense_features(graph.rows, width, std::move(values), std::move(provenance), false);
}

bool has_features_by_type(const MetaFile& meta) {
  return meta.get<std::string>("feature_storage/kind", "absent") == "by_type";
}

std::shared_ptr<const Features> read_features_by_type(const fs::path& folder, const MetaFile& meta,
                                                      const TypedGraph& typed, const Csr& graph,
                                                      const std::string& missing_features,
                                                      std::vector<std::string>& notes) {
  std::vector<std::string> known;
  for (const VertexType& type : typed.types) known.push_back(type.name);
  std::vector<std::shared_ptr<const Features>> of_types(known.size());
  std::vector<bool> named(known.size());
  auto bytes = static_cast<std::int64_t>(fs::file_size(folder / "edges.npy"));
  for (const auto& name : meta.get<std::vector<std::string>>(kTypes)) {
    const auto place = std::ranges::find(known, name) - known.begin();
    if (at(place) == known.size()) meta.fail(kTypes, "has " + unknown("vertex type", name, known));
    if (named[at(place)]) meta.fail(kTypes, fmt::format("has \"{}\" twice", name));
    named[at(place)] = true;
    if (typed.types[at(place)].count == 0)
      continue;  // no bytes would justify the width of its rows
    fs::path file = folder / fmt::format("features_{}.npy", name);
    if (fs::is_symlink(file)) file = fs::canonical(file);  // errors name the file that holds them
    of_types[at(place)] =
        mapped_features(NpyArray(file), typed.types[at(place)].count, -1, std::nullopt, false);
    bytes += static_cast<std::int64_t>(fs::file_size(file));
  }
  const std::int64_t width = widest(of_types);
  if (width == 0) meta.fail(kTypes, "expected a type with features, found none");
  if (meta.has("num_features"))
    require_stated_shape(meta, graph.rows, meta.count("num_features"),
                         "num_nodes and num_features say");
  require_stated_shape(meta, graph.rows, width, "all files features_TYPE.npy together have");
  const bool means = missing_features != "zero" && std::ranges::count(of_types, nullptr) > 0;
  if (means && width > most_plausible(bytes) / std::max<std::int64_t>(1, graph.rows))
    meta.fail(
        kTypes,
        fmt::format("means of {} columns for {} vertices are more than {} bytes of files make "
                    "plausible; with dataset.missing_features zero they take none",
                    width, graph.rows, bytes));
  return join_features(of_types, typed, graph, missing_features,
                       meta.words("name", folder.string()), "mapped files features_TYPE.npy",
                       notes);
}

}  // namespace orrery
