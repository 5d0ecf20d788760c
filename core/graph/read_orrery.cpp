// Reads the folder format: NumPy files and meta.json.
#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "core/graph/features_mapped.hpp"
#include "core/graph/npy.hpp"
#include "core/graph/readers.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// meta.json with typed look-ups that name the file and the key in errors.
class Meta {
 public:
  explicit Meta(const fs::path& folder) : path_((folder / "meta.json").string()) {
    const MappedFile file(path_);
    try {
      json_ = Json::parse(file.bytes());
    } catch (const Json::parse_error& error) {
      throw DataError(path_, fmt::format("byte {}", error.byte),
                      "expected JSON, found something else or the end of the file");
    }
    if (!json_.is_object()) throw DataError(path_, "byte 0", "expected a JSON object");
  }
  /// The value under a key path like "/feature_storage/kind", or `otherwise` when it is absent.
  template <class T>
  T get(const char* key, T otherwise) const {
    const Json::json_pointer pointer(key);
    if (!json_.contains(pointer) || json_.at(pointer).is_null()) return otherwise;
    try {
      return json_.at(pointer).get<T>();
    } catch (const Json::exception&) {
      fail(key, fmt::format("expected another type, found {}", json_.at(pointer).dump()));
    }
  }
  std::int64_t count(const char* key) const {
    const auto value = get<std::int64_t>(key, -1);
    if (value < 0)
      fail(key, value == -1 ? "expected a count, found none"
                            : "expected a count, found a negative number");
    return value;
  }
  bool has(const char* key) const { return json_.contains(Json::json_pointer(key)); }
  [[noreturn]] void fail(const char* key, const std::string& problem) const {
    throw DataError(path_, fmt::format("key {}", key + 1), problem);
  }

 private:
  std::string path_;
  Json json_;
};

/// Throws for the first element that `good` rejects.
template <class T, class Good>
void expect_all(const NpyArray& array, std::span<const T> values, const std::string& expected,
                const Good& good) {
  std::atomic<std::int64_t> first{std::ssize(values)};
  parallel_for(std::ssize(values), 1 << 18, [&](std::int64_t begin, std::int64_t end) {
    const auto bad = std::find_if_not(values.begin() + begin, values.begin() + end, good);
    std::int64_t known = first.load(), mine = bad - values.begin();
    while (mine < end && mine < known && !first.compare_exchange_weak(known, mine)) {
    }
  });
  if (first == std::ssize(values)) return;
  throw DataError(
      array.path(), fmt::format("element {}", first.load()),
      fmt::format("expected {}, found {}", expected, +values[static_cast<std::size_t>(first)]));
}

void read_graph(Dataset& dataset, const fs::path& folder, const Meta& meta) {
  const std::int64_t vertices = meta.count("/num_nodes");
  if (vertices > kMaxVertices)
    meta.fail("/num_nodes", fmt::format("expected at most {}, found {}", kMaxVertices, vertices));
  const std::int64_t edges = meta.get<std::int64_t>("/num_edges", -1);
  const NpyArray array(folder / "edges.npy");
  const auto ends = array.values<std::int32_t>({2, edges});
  expect_all(array, ends, fmt::format("a vertex from 0 to {}", vertices - 1),
             [&](std::int32_t v) { return v >= 0 && v < vertices; });
  const std::size_t half = ends.size() / 2;
  dataset.graph = std::make_shared<Csr>(build_csr(vertices, ends.first(half), ends.last(half)));
  note_duplicates(dataset, static_cast<std::int64_t>(half) - dataset.graph->nnz());
}

void read_features(Dataset& dataset, const fs::path& folder, const Meta& meta) {
  const auto kind = meta.get<std::string>("/feature_storage/kind", "absent");
  const bool made_up = meta.get("/feature_storage/made_up", false);
  if (kind == "dense") {
    std::optional<bool> binary;
    if (meta.has("/feature_storage/binary")) binary = meta.get("/feature_storage/binary", false);
    dataset.features =
        mapped_features(NpyArray(folder / "features.npy"), dataset.vertices(),
                        meta.get<std::int64_t>("/num_features", -1), binary, made_up);
  } else if (kind == "csr") {
    std::optional<NpyArray> values;
    if (!meta.get("/feature_storage/data_all_ones", false))
      values.emplace(folder / "features_data.npy");
    dataset.features = mapped_sparse_features(
        NpyArray(folder / "features_indptr.npy"), NpyArray(folder / "features_indices.npy"), values,
        dataset.vertices(), meta.count("/num_features"), made_up);
  } else if (kind == "absent") {
    const auto published = meta.get<std::int64_t>("/published_num_features", 0);
    dataset.notes.push_back(
        published > 0 ? fmt::format("features absent (the published set has {} columns)", published)
                      : "features absent");
  } else {
    meta.fail("/feature_storage/kind",
              fmt::format("expected 'dense', 'csr' or 'absent', found '{}'", kind));
  }
  if (dataset.features && made_up)
    dataset.notes.push_back("features: " + dataset.features->provenance());
}

void read_class_labels(Dataset& dataset, const NpyArray& array, std::int64_t classes) {
  const auto values = array.values<std::int32_t>({dataset.vertices()});
  std::string expected = "a class from 0 to {}, or -1 (unlabelled)";
  if (classes <= 0) {
    classes = values.empty() ? 0 : std::int64_t{*std::ranges::max_element(values)} + 1;
    const std::int64_t most = most_implied_classes(dataset.vertices());
    if (classes > most) expected += "; more take \"num_classes\" in meta.json";
    classes = std::min(classes, most);
  }
  expect_all(array, values, fmt::format(fmt::runtime(expected), classes - 1),
             [&](std::int32_t label) { return label >= -1 && label < classes; });
  dataset.labels = {classes, false, {values.begin(), values.end()}};
}

void read_multilabels(Dataset& dataset, const NpyArray& array, std::int64_t classes) {
  const auto take = [&]<class T>(std::span<const T> values) {
    expect_all(array, values, "0 or 1", [](T x) { return x == 0 || x == 1; });
    dataset.labels = {array.shape()[1], true, {values.begin(), values.end()}};
  };
  const std::int64_t columns = classes > 0 ? classes : -1;
  if (array.dtype() == npy_dtype<std::uint8_t>())
    take(array.values<std::uint8_t>({dataset.vertices(), columns}));
  else
    take(array.values<std::int32_t>({dataset.vertices(), columns}));
}

void read_labels(Dataset& dataset, const fs::path& folder, const Meta& meta) {
  const auto published = meta.get<std::int64_t>("/published_num_classes", 0);
  if (!meta.get("/has_labels", fs::exists(folder / "labels.npy"))) {
    if (published > 0)
      dataset.notes.push_back(
          fmt::format("labels absent (the published set has {} classes)", published));
    return;
  }
  const NpyArray array(folder / "labels.npy");
  const auto classes = meta.get<std::int64_t>("/num_classes", 0);
  if (array.shape().size() == 2)
    read_multilabels(dataset, array, classes);
  else
    read_class_labels(dataset, array, classes);
}

void read_split(Dataset& dataset, const fs::path& folder, const Meta& meta) {
  if (!meta.get("/has_split", fs::exists(folder / "split.npy"))) return;
  const NpyArray array(folder / "split.npy");
  const auto values = array.values<std::uint8_t>({dataset.vertices()});
  expect_all(array, values, "0 (train), 1 (validation), 2 (test) or 255 (none)",
             [](std::uint8_t part) { return part <= 2 || part == 255; });
  dataset.split.resize(values.size());
  std::ranges::transform(values, dataset.split.begin(),
                         [](std::uint8_t part) { return Split{part}; });
}

}  // namespace

Dataset read_orrery(const fs::path& folder) {
  const Meta meta(folder);
  Dataset dataset;
  dataset.name = meta.get<std::string>("/name", "");
  dataset.generated = meta.get("/generated", false);
  if (dataset.generated)
    dataset.notes = meta.get<std::vector<std::string>>(
        "/made_up", {"the whole data set is made up by a generator"});
  read_graph(dataset, folder, meta);
  read_features(dataset, folder, meta);
  read_labels(dataset, folder, meta);
  read_split(dataset, folder, meta);
  return dataset;
}

}  // namespace orrery
