#include "core/graph/read/read_features.hpp"

#include <fmt/core.h>

#include <optional>
#include <utility>

#include "core/graph/plausible.hpp"
#include "core/graph/read/features_mapped.hpp"
#include "core/graph/read/features_windowed.hpp"
#include "core/terminal/words.hpp"

namespace orrery {

namespace fs = std::filesystem;

namespace {

constexpr const char* kKind = "feature_storage/kind";
constexpr const char* kKinds = "'dense', 'csr', 'by_type' or 'absent'";
constexpr const char* kShape = "feature_storage/shape";

/// Before the array is compared with a width that may be what is wrong.
void require_stated_width(const MetaFile& meta, std::int64_t vertices, std::int64_t stated,
                          const fs::path& file) {
  if (stated < 0 || !fs::exists(file)) return;
  const std::vector<std::int64_t> shape = read_npy_header(file).shape;
  if (shape.size() != 2 || shape[0] != vertices || shape[1] == stated) return;
  meta.fail("num_features", fmt::format("is {}, but features.npy has {} columns: set it to {}, or "
                                        "leave it out",
                                        stated, shape[1], shape[1]));
}

std::shared_ptr<const Features> map_dense(const fs::path& folder, const MetaFile& meta,
                                          std::int64_t vertices, Mapping mapping, bool made_up) {
  const fs::path file = folder / "features.npy";
  const std::int64_t width = meta.count("num_features", -1);
  require_stated_width(meta, vertices, width, file);
  std::optional<bool> binary;
  if (meta.has("feature_storage/binary")) binary = meta.get("feature_storage/binary", false);
  if (mapping == Mapping::window) return windowed_features(file, vertices, width, binary, made_up);
  return mapped_features(NpyArray(file), vertices, width, binary, made_up);
}

std::shared_ptr<const Features> read_dense(const fs::path& folder, const MetaFile& meta,
                                           std::int64_t vertices, Mapping mapping, bool made_up) {
  auto features = map_dense(folder, meta, vertices, mapping, made_up);
  require_stated_shape(meta, features->rows(), features->width(), "features.npy has");
  return features;
}

std::shared_ptr<const Features> read_sparse(const fs::path& folder, const MetaFile& meta,
                                            std::int64_t vertices, Mapping mapping, bool made_up) {
  const fs::path indptr = folder / "features_indptr.npy", indices = folder / "features_indices.npy";
  std::optional<fs::path> values;
  if (!meta.get("feature_storage/data_all_ones", false)) values = folder / "features_data.npy";
  const std::int64_t width = meta.count("num_features");
  // Before the files, whose columns are compared with num_features.
  require_stated_shape(meta, vertices, width, "num_nodes and num_features say");
  if (mapping == Mapping::window)
    return windowed_sparse_features(indptr, indices, values, vertices, width, made_up);
  std::optional<NpyArray> mapped;
  if (values) mapped.emplace(*values);
  return mapped_sparse_features(NpyArray(indptr), NpyArray(indices), mapped, vertices, width,
                                made_up);
}

[[noreturn]] void refuse_kind(const MetaFile& meta, const std::string& kind) {
  if (kind == "by_type")
    meta.fail(
        kKind,
        "is 'by_type', which is read whole alone: orrery dataset convert writes features that "
        "are read piece by piece");
  const std::string close = nearest(kind, {"dense", "csr", "by_type", "absent"});
  meta.fail(kKind, fmt::format("expected {}, found '{}'{}", kKinds, kind,
                               close.empty() ? "" : fmt::format("; did you mean '{}'?", close)));
}

/// What is said of a file that meta.json does not tell of, so that it is not read.
std::string unused_file(const char* file, const std::string& keys) {
  return fmt::format("; {} is there and not used: set {} in meta.json, or remove the file", file,
                     keys);
}

/// Features whose key is misspelt are not absent.
void require_no_slip(const MetaFile& meta) {
  if (meta.has(kKind)) return;
  if (const std::string slip = meta.misspelt(kKind); !slip.empty())
    meta.fail(kKind, fmt::format("expected {}, found none{}", kKinds, slip));
}

}  // namespace

std::int64_t read_vertex_count(const fs::path& folder, const MetaFile& meta) {
  const std::int64_t vertices = meta.count("num_nodes");
  if (vertices > kMaxVertices)
    meta.fail("num_nodes", fmt::format("expected at most {}, found {}", kMaxVertices, vertices));
  std::error_code absent;
  std::int64_t bytes = 0;
  for (const char* name : {"edges.npy", "features.npy", "features_indptr.npy", "labels.npy",
                           "split.npy", "vertices.npy"})
    if (const auto size = fs::file_size(folder / name, absent); !absent)
      bytes += static_cast<std::int64_t>(size);
  if (vertices > most_plausible(bytes))
    meta.fail("num_nodes", fmt::format("expected at most {} with {} bytes of arrays, found {}",
                                       most_plausible(bytes), bytes, vertices));
  return vertices;
}

std::int64_t read_class_count(const MetaFile& meta, std::int64_t vertices) {
  const std::int64_t classes = meta.count("num_classes", 0);
  if (classes > most_plausible(vertices))
    meta.fail("num_classes", fmt::format("expected at most {} for {} vertices, found {}",
                                         most_plausible(vertices), vertices, classes));
  return classes;
}

void require_stated_shape(const MetaFile& meta, std::int64_t rows, std::int64_t columns,
                          const std::string& source) {
  if (!meta.has(kShape)) return;
  const std::vector<std::int64_t> stated = meta.counts(kShape), found{rows, columns};
  if (stated != found)
    meta.fail(kShape, fmt::format("is {}, but {} {}", MetaFile::shown(stated), source,
                                  MetaFile::shown(found)));
}

std::shared_ptr<const Features> read_features(const fs::path& folder, const MetaFile& meta,
                                              std::int64_t vertices, Mapping mapping,
                                              std::vector<std::string>& notes) {
  require_no_slip(meta);
  const std::string kind = meta.words(kKind, "absent");
  const bool made_up = meta.get("feature_storage/made_up", false);
  std::shared_ptr<const Features> features;
  if (kind == "dense") {
    features = read_dense(folder, meta, vertices, mapping, made_up);
  } else if (kind == "csr") {
    features = read_sparse(folder, meta, vertices, mapping, made_up);
  } else if (kind == "absent") {
    const std::int64_t published = meta.count("published_num_features", 0);
    notes.push_back(
        published > 0 ? fmt::format("features absent (the published set has {} columns)", published)
                      : "features absent");
    for (const auto& [file, stored] :
         {std::pair{"features.npy", "dense"}, std::pair{"features_indptr.npy", "csr"}})
      if (fs::exists(folder / file))
        notes.back() +=
            unused_file(file, fmt::format("\"feature_storage\": {{\"kind\": \"{}\"}} and "
                                          "\"num_features\" to its columns",
                                          stored));
  } else {
    refuse_kind(meta, kind);
  }
  if (features && made_up) notes.push_back("features: " + features->provenance());
  return features;
}

bool has_labels(const fs::path& folder, const MetaFile& meta, std::vector<std::string>& notes) {
  if (meta.get("has_labels", fs::exists(folder / "labels.npy"))) return true;
  const std::int64_t published = meta.count("published_num_classes", 0);
  if (published > 0)
    notes.push_back(fmt::format("labels absent (the published set has {} classes)", published));
  if (fs::exists(folder / "labels.npy")) {
    if (published <= 0) notes.emplace_back("labels absent");
    notes.back() += unused_file("labels.npy", "\"has_labels\" to true");
  }
  return false;
}

bool has_split(const fs::path& folder, const MetaFile& meta, std::vector<std::string>& notes) {
  const bool there = fs::exists(folder / "split.npy"), stated = meta.get("has_split", there);
  if (there && !stated)
    notes.push_back("split absent" + unused_file("split.npy", "\"has_split\" to true"));
  return stated;
}

std::vector<std::string> notes_on_origin(const MetaFile& meta) {
  if (!meta.get("generated", false)) return {};
  return meta.list_of_words("made_up", {"a generator made the whole data set"});
}

}  // namespace orrery
