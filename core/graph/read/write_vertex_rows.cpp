#include "core/graph/read/write_vertex_rows.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <numeric>
#include <optional>
#include <type_traits>

#include "core/base/index.hpp"
#include "core/graph/files/npy.hpp"
#include "core/graph/files/npy_half.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::int64_t kBlockBytes = 1 << 22;

/// Calls f(rows) for runs of rows 0, 1, ..., each of some megabytes.
template <class F>
void for_blocks(std::int64_t rows, std::int64_t bytes_per_row, const F& f) {
  const std::int64_t step =
      std::max<std::int64_t>(1, kBlockBytes / std::max<std::int64_t>(1, bytes_per_row));
  std::vector<Vertex> block;
  for (std::int64_t begin = 0; begin < rows; begin += step) {
    block.resize(at(std::min(step, rows - begin)));
    std::iota(block.begin(), block.end(), static_cast<Vertex>(begin));
    f(std::span<const Vertex>(block));
  }
}

/// Calls f(rows, values) for blocks of full rows, of float or of Half.
template <class Value = float, class F>
void for_feature_blocks(const Features& features, const F& f) {
  const std::int64_t width = features.width();
  std::vector<Value> values;
  for_blocks(features.rows(), 4 * width, [&](std::span<const Vertex> rows) {
    values.resize(rows.size() * at(width));
    if constexpr (std::is_same_v<Value, Half>)
      features.read_half(rows, 0, width, values.data(), width);
    else
      features.read(rows, 0, width, values.data(), width);
    f(std::ssize(rows), values);
  });
}

struct FeatureCounts {
  std::int64_t nonzeros = 0;
  bool all_ones = true;  ///< the non-zeros, so that every value is 0 or 1
};

FeatureCounts count_features(const Features& features) {
  FeatureCounts counts;
  for_feature_blocks(features, [&](std::int64_t, const std::vector<float>& values) {
    const auto ones = std::ranges::count(values, 1.0F);
    const auto nonzeros = std::ssize(values) - std::ranges::count(values, 0.0F);
    counts.nonzeros += nonzeros;
    counts.all_ones &= ones == nonzeros;
  });
  return counts;
}

template <class Value>
void write_rows(const Features& features, const fs::path& path) {
  auto file = NpyWriter::create<Value>(path, {features.rows(), features.width()});
  for_feature_blocks<Value>(features, [&](std::int64_t, const std::vector<Value>& values) {
    file.template append<Value>(values);
  });
  file.close();
}

Json write_dense(const Features& features, const FeatureCounts& counts, const fs::path& folder) {
  const fs::path path = folder / "features.npy";
  features.half() ? write_rows<Half>(features, path) : write_rows<float>(features, path);
  return {{"kind", "dense"},
          {"file", "features.npy"},
          {"dtype", features.half() ? "float16" : "float32"},
          {"shape", {features.rows(), features.width()}},
          {"nnz", counts.nonzeros},
          {"binary", counts.all_ones}};
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
  for_feature_blocks(features, [&](std::int64_t rows, const std::vector<float>& values) {
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

Json write_features(const VertexRows& vertices, const fs::path& folder) {
  if (!vertices.features) return {{"kind", "absent"}};
  const Features& features = *vertices.features;
  const FeatureCounts counts = count_features(features);
  const std::int64_t dense_bytes = (features.half() ? 2 : 4) * features.rows() * features.width();
  const std::int64_t sparse_bytes =
      8 * (features.rows() + 1) + (counts.all_ones ? 4 : 8) * counts.nonzeros;
  Json storage = sparse_bytes < dense_bytes ? write_sparse(features, counts, folder)
                                            : write_dense(features, counts, folder);
  if (features.made_up()) storage["made_up"] = true;
  return storage;
}

/// One array of a few columns per vertex, stored as T.
template <class T, class Value>
void write_columns(const fs::path& file, const std::vector<std::int64_t>& shape,
                   const std::function<void(std::span<const Vertex>, Value*)>& read) {
  const std::int64_t columns = shape.size() > 1 ? shape[1] : 1;
  auto out = NpyWriter::create<T>(file, shape);
  std::vector<Value> values;
  std::vector<T> stored;
  for_blocks(shape[0], columns * std::int64_t{sizeof(Value)}, [&](std::span<const Vertex> rows) {
    values.resize(rows.size() * at(columns));
    read(rows, values.data());
    stored.resize(values.size());
    std::ranges::transform(values, stored.begin(), [](Value x) { return static_cast<T>(x); });
    out.template append<T>(stored);
  });
  out.close();
}

}  // namespace

Json write_vertex_rows(const VertexRows& rows, const fs::path& folder) {
  const Json feature_storage = write_features(rows, folder);
  if (rows.labels && rows.multilabel)
    write_columns<std::uint8_t>(folder / "labels.npy", {rows.count, rows.classes}, rows.labels);
  else if (rows.labels)
    write_columns<std::int32_t>(folder / "labels.npy", {rows.count}, rows.labels);
  if (rows.split) write_columns<std::uint8_t>(folder / "split.npy", {rows.count}, rows.split);
  return feature_storage;
}

}  // namespace orrery
