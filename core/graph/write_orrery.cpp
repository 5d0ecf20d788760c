#include "core/graph/write_orrery.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "core/base/error.hpp"
#include "core/graph/folder_in_progress.hpp"
#include "core/graph/npy.hpp"
#include "core/graph/statistics.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::int64_t kBlockBytes = 1 << 22;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

template <class T>
void write_array(const fs::path& path, std::vector<std::int64_t> shape, std::span<const T> values) {
  auto file = NpyWriter::create<T>(path, std::move(shape));
  file.append(values);
  file.close();
}

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

/// Calls f(first_row, rows, values) for blocks of full rows.
template <class F>
void for_feature_blocks(const Features& features, const F& f) {
  const std::int64_t width = features.width();
  const std::int64_t step =
      std::max<std::int64_t>(1, kBlockBytes / 4 / std::max<std::int64_t>(1, width));
  std::vector<Vertex> rows;
  std::vector<float> values;
  for (std::int64_t begin = 0; begin < features.rows(); begin += step) {
    rows.resize(at(std::min(step, features.rows() - begin)));
    std::iota(rows.begin(), rows.end(), static_cast<Vertex>(begin));
    values.resize(rows.size() * at(width));
    features.read(rows, 0, width, values.data(), width);
    f(begin, std::ssize(rows), values);
  }
}

struct FeatureCounts {
  std::int64_t nonzeros = 0;
  bool all_ones = true;  ///< the non-zeros, so that every value is 0 or 1
};

FeatureCounts count_features(const Features& features) {
  FeatureCounts counts;
  for_feature_blocks(features, [&](std::int64_t, std::int64_t, const std::vector<float>& values) {
    const auto ones = std::ranges::count(values, 1.0F);
    const auto nonzeros = std::ssize(values) - std::ranges::count(values, 0.0F);
    counts.nonzeros += nonzeros;
    counts.all_ones &= ones == nonzeros;
  });
  return counts;
}

Json write_dense(const Features& features, const FeatureCounts& counts, const fs::path& folder) {
  auto file =
      NpyWriter::create<float>(folder / "features.npy", {features.rows(), features.width()});
  for_feature_blocks(features, [&](std::int64_t, std::int64_t, const std::vector<float>& values) {
    file.append<float>(values);
  });
  file.close();
  return {{"kind", "dense"},        {"file", "features.npy"},
          {"dtype", "float32"},     {"shape", {features.rows(), features.width()}},
          {"nnz", counts.nonzeros}, {"binary", counts.all_ones}};
}

Json write_sparse(const Features& features, const FeatureCounts& counts, const fs::path& folder) {
  auto indptr =
      NpyWriter::create<std::int64_t>(folder / "features_indptr.npy", {features.rows() + 1});
  auto indices =
      NpyWriter::create<std::int32_t>(folder / "features_indices.npy", {counts.nonzeros});
  std::optional<NpyWriter> data;
  if (!counts.all_ones)
    data = NpyWriter::create<float>(folder / "features_data.npy", {counts.nonzeros});
  std::int64_t written = 0;
  indptr.append<std::int64_t>({&written, 1});
  for_feature_blocks(features,
                     [&](std::int64_t, std::int64_t rows, const std::vector<float>& values) {
                       std::vector<std::int64_t> ends;
                       std::vector<std::int32_t> columns;
                       std::vector<float> kept;
                       for (std::int64_t i = 0; i < rows; ++i) {
                         for (std::int64_t c = 0; c < features.width(); ++c) {
                           const float x = values[at(i * features.width() + c)];
                           if (x == 0) continue;
                           columns.push_back(static_cast<std::int32_t>(c));
                           kept.push_back(x);
                         }
                         ends.push_back(written + std::ssize(columns));
                       }
                       written += std::ssize(columns);
                       indptr.append<std::int64_t>(ends);
                       indices.append<std::int32_t>(columns);
                       if (data) data->append<float>(kept);
                     });
  indptr.close();
  indices.close();
  if (data) data->close();
  return {{"kind", "csr"},
          {"shape", {features.rows(), features.width()}},
          {"nnz", counts.nonzeros},
          {"data_all_ones", counts.all_ones}};
}

Json write_features(const Dataset& dataset, const fs::path& folder) {
  if (!dataset.features) return {{"kind", "absent"}};
  const Features& features = *dataset.features;
  const FeatureCounts counts = count_features(features);
  const std::int64_t dense_bytes = 4 * features.rows() * features.width();
  const std::int64_t sparse_bytes =
      8 * (features.rows() + 1) + (counts.all_ones ? 4 : 8) * counts.nonzeros;
  Json storage = sparse_bytes < dense_bytes ? write_sparse(features, counts, folder)
                                            : write_dense(features, counts, folder);
  if (features.made_up()) storage["made_up"] = true;
  return storage;
}

void write_labels(const Dataset& dataset, const fs::path& folder) {
  const Labels& labels = dataset.labels;
  if (!labels.present()) return;
  if (!labels.multilabel)
    return write_array<std::int32_t>(folder / "labels.npy", {dataset.vertices()}, labels.values);
  const std::vector<std::uint8_t> bits(labels.values.begin(), labels.values.end());
  write_array<std::uint8_t>(folder / "labels.npy", {dataset.vertices(), labels.classes}, bits);
}

void write_split(const Dataset& dataset, const fs::path& folder) {
  if (dataset.split.empty()) return;
  std::vector<std::uint8_t> parts(dataset.split.size());
  std::ranges::transform(dataset.split, parts.begin(),
                         [](Split part) { return static_cast<std::uint8_t>(part); });
  write_array<std::uint8_t>(folder / "split.npy", {dataset.vertices()}, parts);
}

Json meta_data(const Dataset& dataset, const Json& feature_storage) {
  const DatasetStatistics s = dataset_statistics(dataset);
  Json meta = {{"name", dataset.name},
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

void write_text(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file)
    throw DataError(path.string(), "",
                    fmt::format("expected to write this file, found: {}", std::strerror(errno)));
}

}  // namespace

void write_orrery(const Dataset& dataset, const fs::path& folder, bool force) {
  FolderInProgress progress(folder, force);
  write_edges(dataset, progress.path());
  const Json feature_storage = write_features(dataset, progress.path());
  write_labels(dataset, progress.path());
  write_split(dataset, progress.path());
  write_text(progress.path() / "meta.json", meta_data(dataset, feature_storage).dump(1) + "\n");
  progress.commit();
}

}  // namespace orrery
