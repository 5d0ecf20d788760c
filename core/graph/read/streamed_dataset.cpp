#include "core/graph/read/streamed_dataset.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/graph/files/meta_keys.hpp"
#include "core/graph/files/npy_window.hpp"
#include "core/graph/read/choices.hpp"
#include "core/graph/read/lookup.hpp"
#include "core/graph/read/read_features.hpp"
#include "core/graph/read/readers.hpp"
#include "core/graph/read/scan.hpp"
#include "core/graph/read/typed_files.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;

/// Labels of either kind, checked when they are read.
class WindowedLabels {
 public:
  WindowedLabels(const fs::path& file, std::int64_t vertices, std::int64_t classes)
      : array_(file), multilabel_(array_.header().shape.size() == 2), classes_(classes) {
    bytes_ = array_.header().dtype == npy_dtype<std::uint8_t>();
    const auto type = multilabel_ && bytes_ ? npy_dtype<std::uint8_t>() : npy_dtype<std::int32_t>();
    if (multilabel_) {
      array_.header().require(type, {vertices, classes > 0 ? classes : -1});
      classes_ = array_.header().shape[1];
      return;
    }
    array_.header().require(type, {vertices});
    if (classes_ <= 0) classes_ = implied_classes(vertices);
  }

  bool multilabel() const { return multilabel_; }
  std::int64_t classes() const { return classes_; }

  void read(std::span<const Vertex> vertices, std::int32_t* out) {
    const std::int64_t columns = multilabel_ ? classes_ : 1;
    for (const Vertex v : vertices) {
      const std::int32_t* end = nullptr;
      if (multilabel_ && bytes_)
        end = std::ranges::copy(array_.elements<std::uint8_t>(v * columns, columns), out).out;
      else
        end = std::ranges::copy(array_.elements<std::int32_t>(v * columns, columns), out).out;
      for (; out != end; ++out)
        if (*out < (multilabel_ ? 0 : -1) || *out >= (multilabel_ ? 2 : classes_))
          throw DataError(array_.header().path,
                          place_of(array_.header().shape, (v + 1) * columns - (end - out)),
                          multilabel_ ? fmt::format("expected 0 or 1, found {}", *out)
                                      : fmt::format("expected a class from 0 to {}, or -1 "
                                                    "(unlabelled), found {}",
                                                    classes_ - 1, *out));
    }
  }

 private:
  std::int64_t implied_classes(std::int64_t vertices) {
    std::int64_t classes = 0;
    for (std::int64_t i = 0; i < vertices; i += kScanBlock)
      for (const auto label : array_.elements<std::int32_t>(i, std::min(kScanBlock, vertices - i)))
        classes = std::max(classes, std::int64_t{label} + 1);
    return std::min(classes, most_implied_classes(vertices));
  }

  NpyWindow array_;
  bool multilabel_, bytes_ = false;
  std::int64_t classes_;
};

std::vector<Split> read_split(const fs::path& file, std::int64_t vertices) {
  NpyWindow array(file);
  array.header().require(npy_dtype<std::uint8_t>(), {vertices});
  std::vector<Split> split;
  split.reserve(static_cast<std::size_t>(vertices));
  for (std::int64_t i = 0; i < vertices; i += kScanBlock)
    for (const auto part : array.elements<std::uint8_t>(i, std::min(kScanBlock, vertices - i))) {
      if (part > 2 && part != 255)
        throw DataError(file.string(), fmt::format("element {}", split.size()),
                        fmt::format("expected 0 (train), 1 (validation), 2 (test) or 255 (none), "
                                    "found {}",
                                    part));
      split.push_back(Split{part});
    }
  return split;
}

/// Labels and split of the vertices, if the folder has them.
void open_targets(StreamedDataset& data, const fs::path& folder, const MetaFile& meta,
                  const DatasetOptions& options) {
  std::vector<Split> split;
  if (has_split(folder, meta, data.notes)) split = read_split(folder / "split.npy", data.vertices);
  if (data.rows.labels) {
    const IsLabelled labelled = [&](std::int64_t v) {
      const auto vertex = static_cast<Vertex>(v);
      std::int32_t label = 0;
      if (!data.rows.multilabel) data.rows.labels({&vertex, 1}, &label);
      return label >= 0;
    };
    choose_split(split, data.notes, data.vertices, labelled, options);
  }
  data.split = std::make_shared<const std::vector<Split>>(std::move(split));
  if (data.split->empty()) return;
  data.rows.split = [split = data.split](std::span<const Vertex> vertices, Split* out) {
    for (const Vertex v : vertices) *out++ = (*split)[at(v)];
  };
}

void open_labels(StreamedDataset& data, const fs::path& folder, const MetaFile& meta) {
  if (!has_labels(folder, meta, data.notes)) return;
  auto labels = std::make_shared<WindowedLabels>(folder / "labels.npy", data.vertices,
                                                 read_class_count(meta, data.vertices));
  data.rows.classes = labels->classes();
  data.rows.multilabel = labels->multilabel();
  if (data.vertices > 0)
    data.rows.labels = [labels](std::span<const Vertex> vertices, std::int32_t* out) {
      labels->read(vertices, out);
    };
}

void require_streamable(const DatasetOptions& options, const fs::path& folder) {
  if (options.reorder != "none")
    throw ConfigError("dataset.reorder", "needs the graph in memory: leave --stream out");
  const bool named = options.format == "auto" || options.format == "orrery";
  if (!named || !fs::is_directory(folder) || !fs::exists(folder / "meta.json") ||
      !fs::exists(folder / "edges.npy"))
    throw ConfigError("--stream",
                      fmt::format("needs a file of edges or a data set folder with meta.json and "
                                  "edges.npy, found {}; orrery dataset convert writes one",
                                  folder.string()));
  if (!options.missing_features.empty()) refuse_missing_features(folder.string());
}

}  // namespace

StreamedDataset open_streamed_dataset(const DatasetOptions& options) {
  if (!options.generator.empty())
    throw ConfigError("dataset.generate",
                      "makes its graph in memory: leave --stream out, or orrery dataset generate "
                      "it first");
  fs::path folder = locate_dataset(options.path);
  require_streamable(options, folder);
  const MetaFile meta(folder);
  StreamedDataset data;
  data.name = meta.words("name", "");
  if (!folder.has_filename()) folder = folder.parent_path();
  if (data.name.empty()) data.name = one_line(folder.filename().string());
  data.edges = folder / "edges.npy";
  data.vertices = read_vertex_count(folder, meta);
  data.mirrored = options.symmetric;
  data.says_undirected = !meta.get("directed", true);
  data.generated = meta.get("generated", false);
  data.notes = notes_on_origin(meta);
  data.typed = read_types_of(folder, meta, data.vertices);
  if (data.typed)  // whoever reads the edges knows better, as set_typed_graph() does
    std::erase_if(data.notes, [](const std::string& note) { return note.starts_with("typed: "); });
  data.notes_on_origin = data.notes.size();
  data.rows.count = data.vertices;
  data.rows.features = read_features(folder, meta, data.vertices, Mapping::window, data.notes);
  open_labels(data, folder, meta);
  for (std::string& note : notes_on_unknown_keys(meta)) data.notes.push_back(std::move(note));
  data.notes_on_reading = data.notes.size();
  choose_features(data.rows.features, data.notes, data.vertices, options);
  open_targets(data, folder, meta, options);
  return data;
}

}  // namespace orrery
