// Reads the folder format: NumPy files and meta.json.
#include <fmt/core.h>

#include <algorithm>
#include <atomic>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/graph/files/meta_file.hpp"
#include "core/graph/files/npy.hpp"
#include "core/graph/read/choices.hpp"
#include "core/graph/read/features_by_type.hpp"
#include "core/graph/read/read_features.hpp"
#include "core/graph/read/readers.hpp"
#include "core/graph/read/typed_files.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;

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
  throw DataError(array.path(), place_of(array.shape(), first.load()),
                  fmt::format("expected {}, found {}", expected, +values[at(first.load())]));
}

void read_graph(Dataset& dataset, const fs::path& folder, const MetaFile& meta) {
  const std::int64_t vertices = read_vertex_count(folder, meta);
  std::int64_t merged = 0;
  if (auto typed = read_typed_graph(folder, meta, vertices, merged)) {
    set_typed_graph(dataset, std::move(*typed));
    return note_duplicates(dataset, merged);
  }
  const std::int64_t edges = meta.count("num_edges", -1);
  const NpyArray array(folder / "edges.npy");
  const auto ends = array.values<std::int32_t>({2, edges});
  expect_all(array, ends, fmt::format("a vertex from 0 to {}", vertices - 1),
             [&](std::int32_t v) { return v >= 0 && v < vertices; });
  const std::size_t half = ends.size() / 2;
  dataset.graph = std::make_shared<Csr>(build_csr(vertices, ends.first(half), ends.last(half)));
  note_duplicates(dataset, static_cast<std::int64_t>(half) - dataset.graph->nnz());
}

void read_features(Dataset& dataset, const fs::path& folder, const MetaFile& meta,
                   const std::string& missing_features) {
  if (has_features_by_type(meta)) {
    if (!dataset.typed)
      meta.fail("feature_storage/kind", "is 'by_type', which needs \"vertex_types\"");
    dataset.features = read_features_by_type(folder, meta, *dataset.typed, *dataset.graph,
                                             missing_features, dataset.notes);
    return;
  }
  if (!missing_features.empty()) refuse_missing_features(folder.string());
  dataset.features = read_features(folder, meta, dataset.vertices(), Mapping::whole, dataset.notes);
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

void read_labels(Dataset& dataset, const fs::path& folder, const MetaFile& meta) {
  if (!has_labels(folder, meta, dataset.notes)) return;
  const NpyArray array(folder / "labels.npy");
  const auto classes = read_class_count(meta, dataset.vertices());
  if (array.shape().size() == 2)
    read_multilabels(dataset, array, classes);
  else
    read_class_labels(dataset, array, classes);
}

void read_split(Dataset& dataset, const fs::path& folder, const MetaFile& meta) {
  if (!has_split(folder, meta, dataset.notes)) return;
  const NpyArray array(folder / "split.npy");
  const auto values = array.values<std::uint8_t>({dataset.vertices()});
  expect_all(array, values, "0 (train), 1 (validation), 2 (test) or 255 (none)",
             [](std::uint8_t part) { return part <= 2 || part == 255; });
  dataset.split.resize(values.size());
  std::ranges::transform(values, dataset.split.begin(),
                         [](std::uint8_t part) { return Split{part}; });
}

}  // namespace

Dataset read_orrery(const fs::path& folder, const std::string& missing_features) {
  const MetaFile meta(folder);
  Dataset dataset;
  dataset.name = meta.words("name", "");
  dataset.generated = meta.get("generated", false);
  dataset.notes = notes_on_origin(meta);
  read_graph(dataset, folder, meta);
  read_features(dataset, folder, meta, missing_features);
  read_labels(dataset, folder, meta);
  read_split(dataset, folder, meta);
  return dataset;
}

}  // namespace orrery
