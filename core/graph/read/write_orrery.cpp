#include "core/graph/read/write_orrery.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/whole_file.hpp"
#include "core/graph/edges/edge_features.hpp"
#include "core/graph/edges/edge_weights.hpp"
#include "core/graph/files/folder_in_progress.hpp"
#include "core/graph/files/meta_file.hpp"
#include "core/graph/files/npy.hpp"
#include "core/graph/read/typed_files.hpp"
#include "core/graph/read/write_vertex_rows.hpp"
#include "core/graph/statistics.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// Edges in the order (source, destination), which is row by row of the transpose.
void write_edges(const Dataset& dataset, const fs::path& folder) {
  const Csr by_source = transpose(*dataset.graph);
  auto file = NpyWriter::create<std::int32_t>(folder / "edges.npy", {2, by_source.nnz()});
  std::vector<Vertex> row;
  for (std::int64_t v = 0; v < by_source.rows; ++v) {
    row.assign(at(by_source.degree(v)), static_cast<Vertex>(v));
    file.append<Vertex>(row);
  }
  file.append<Vertex>(by_source.columns);
  file.close();
}

Json meta_data(const Dataset& dataset, const Json& feature_storage) {
  const DatasetStatistics s = dataset_statistics(dataset);
  Json meta = {{"schema_version", 1},
               {"name", dataset.name},
               {"num_nodes", s.vertices},
               {"num_edges", s.edges},
               {"directed", !s.symmetric},
               {"symmetric", s.symmetric},
               {"num_features", dataset.features ? dataset.features->width() : 0},
               {"num_classes", dataset.labels.classes},
               {"multilabel", dataset.labels.multilabel},
               {"self_loops", s.self_loops},
               {"feature_storage", feature_storage},
               {"has_labels", dataset.labels.present()},
               {"has_split", !dataset.split.empty()}};
  if (!dataset.split.empty())
    meta["split_counts"] = {{"train", s.split_counts[0]},
                            {"val", s.split_counts[1]},
                            {"test", s.split_counts[2]},
                            {"none", s.split_counts[3]}};
  if (dataset.labels.present()) {
    meta["label_counts"] = s.label_counts;
    meta["unlabelled_nodes"] = s.unlabelled;
  }
  if (dataset.typed) {
    meta["num_edges"] = dataset.typed->edges();
    add_types(meta, *dataset.typed);
  }
  meta["connected_components"] = s.components;
  meta["largest_component"] = s.largest_component;
  meta["isolated_nodes"] = s.isolated;
  if (dataset.generated) {
    meta["generated"] = true;
    meta["made_up"] = dataset.notes;
  } else {
    meta["notes"] = dataset.notes;
  }
  return meta;
}

/// Why a folder may not be replaced by a data set: it is none, or holds more than a data set.
std::string not_only_a_data_set(const fs::path& folder) {
  if (!fs::exists(folder / "meta.json") || !fs::exists(folder / "edges.npy"))
    return "it is no data set (those have meta.json and edges.npy)";
  try {
    MetaFile(folder).count("num_nodes");
  } catch (const DataError& error) {
    return fmt::format("it is no data set ({})", error.what());
  }
  return more_than(folder, [](const std::string& name) {
    constexpr std::string_view kFiles[] = {
        "meta.json",    "edges.npy",  "edge_weights.npy", "edge_features.npy", "edge_relations.npy",
        "features.npy", "labels.npy", "split.npy",        "ids.npy",           "names.txt"};
    return std::ranges::find(kFiles, name) != std::end(kFiles) ||
           (name.starts_with("features_") && name.ends_with(".npy"));  // of a type
  });
}

}  // namespace

void require_place_for(const fs::path& folder, bool force) {
  const FolderInProgress place(folder, force, not_only_a_data_set);
}

void write_orrery(const Dataset& dataset, const fs::path& folder, bool force,
                  const EdgeValues<float>* edge_weights, const EdgeFeatures* edge_features,
                  const VertexNames& names) {
  FolderInProgress progress(folder, force, not_only_a_data_set);
  if (dataset.typed)
    write_typed_edges(*dataset.typed, progress.path());
  else
    write_edges(dataset, progress.path());
  if (edge_weights != nullptr) write_edge_weights(*edge_weights, progress.path());
  if (edge_features != nullptr) write_edge_features(*edge_features, progress.path());
  write_vertex_names(names, progress.path());
  const Json feature_storage = write_vertex_rows(rows_of(dataset), progress.path());
  write_file(progress.path() / "meta.json", meta_data(dataset, feature_storage).dump(1) + "\n");
  progress.commit();
}

}  // namespace orrery
