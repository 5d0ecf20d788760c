#include "core/graph/dataset.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/rng.hpp"
#include "core/graph/generate.hpp"
#include "core/graph/lookup.hpp"
#include "core/graph/readers.hpp"
#include "core/graph/reorder.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMatrixMarket = "%%MatrixMarket";

bool has_ogb_edges(const fs::path& folder) {
  return std::ranges::any_of(
      std::initializer_list{"raw/edge.csv", "raw/edge.csv.gz", "edge.csv", "edge.csv.gz"},
      [&](const char* name) { return fs::exists(folder / name); });
}

Dataset read_folder(const fs::path& folder, const std::string& format) {
  if (format == "orrery") return read_orrery(folder);
  if (format == "ogb") return read_ogb(folder);
  if (format != "auto")
    throw DataError(folder.string(), "",
                    fmt::format("expected a file (format {}), found a folder", format));
  if (fs::exists(folder / "meta.json") || fs::exists(folder / "edges.npy"))
    return read_orrery(folder);
  if (has_ogb_edges(folder)) return read_ogb(folder);
  throw DataError(folder.string(), "",
                  "expected meta.json and edges.npy (format orrery) or edge.csv[.gz] (format ogb), "
                  "found neither");
}

Dataset read_file(const fs::path& path, const std::string& format) {
  if (format == "orrery" || format == "ogb")
    throw DataError(path.string(), "",
                    fmt::format("expected a folder (format {}), found a file", format));
  const TextFile file(path);
  const bool is_mtx =
      format == "mtx" || (format == "auto" && file.text().starts_with(kMatrixMarket));
  return is_mtx ? read_mtx(file) : read_snap(file);
}

/// "com-dblp.ungraph.txt.gz" -> "com-dblp.ungraph"
std::string name_of(fs::path path) {
  if (!path.has_filename()) path = path.parent_path();
  if (fs::is_directory(path)) return path.filename().string();
  if (path.extension() == ".gz") path = path.stem();
  return path.stem().string();
}

void add_reverse_edges(Dataset& dataset) {
  const std::int64_t before = dataset.edges();
  dataset.graph = std::make_shared<Csr>(symmetrise(*dataset.graph));
  dataset.symmetric = true;
  dataset.notes.push_back(
      fmt::format("symmetrised: {} directed edges became {}", before, dataset.edges()));
}

void choose_features(Dataset& dataset, const DatasetOptions& options) {
  if (options.random_features) {
    const std::int64_t width = *options.random_features;
    if (width < 1 || width > 1 << 24)
      throw ConfigError("dataset.features.random",
                        fmt::format("expected 1 to {} columns, found {}", 1 << 24, width));
    dataset.features = random_features(dataset.vertices(), width, options.seed);
    dataset.notes.push_back("features: " + dataset.features->provenance());
  }
  if (!dataset.features) {
    if (options.row_normalise.value_or(false))
      throw ConfigError("dataset.row_normalise", "the data set has no features to normalise");
    return;
  }
  if (!options.row_normalise.value_or(dataset.features->binary())) return;
  dataset.features = row_normalised(dataset.features);
  dataset.notes.push_back("features: every row divided by its sum (row_normalise)");
}

bool labelled(const Dataset& dataset, std::size_t v) {
  return dataset.labels.multilabel || dataset.labels.values[v] >= 0;
}

/// Train, validation and test in the shares 70, 15 and 15 % of the labelled vertices.
void draw_split(Dataset& dataset, std::uint64_t seed) {
  std::vector<std::pair<std::uint64_t, std::size_t>> order;
  for (std::size_t v = 0; v < static_cast<std::size_t>(dataset.vertices()); ++v) {
    if (!labelled(dataset, v)) continue;
    const auto bits = random_bits(seed, Purpose::split, static_cast<std::uint32_t>(v));
    order.emplace_back(std::uint64_t{bits[0]} << 32U | bits[1], v);
  }
  std::ranges::sort(order);
  dataset.split.assign(static_cast<std::size_t>(dataset.vertices()), Split::none);
  for (std::size_t i = 0; i < order.size(); ++i)
    dataset.split[order[i].second] = i * 100 < order.size() * 70   ? Split::train
                                     : i * 100 < order.size() * 85 ? Split::validation
                                                                   : Split::test;
  dataset.notes.push_back(fmt::format(
      "split: 70/15/15 % of the {} labelled vertices, drawn with seed {}", order.size(), seed));
}

void choose_split(Dataset& dataset, const DatasetOptions& options) {
  if (!dataset.labels.present()) return;
  if (options.random_split || dataset.split.empty()) return draw_split(dataset, options.seed);
  std::int64_t dropped = 0, added = 0;
  for (std::size_t v = 0; v < dataset.split.size(); ++v) {
    if (options.train_on_rest && dataset.split[v] == Split::none && labelled(dataset, v)) {
      dataset.split[v] = Split::train;
      ++added;
    }
    if (dataset.split[v] == Split::none || labelled(dataset, v)) continue;
    dataset.split[v] = Split::none;
    ++dropped;
  }
  if (added > 0)
    dataset.notes.push_back(
        fmt::format("split: {} labelled vertices outside the published one train as well", added));
  if (dropped > 0)
    dataset.notes.push_back(fmt::format("split: {} unlabelled vertices left out", dropped));
}

}  // namespace

Dataset read_dataset(const std::string& path, const std::string& format) {
  constexpr std::string_view kFormats[] = {"auto", "orrery", "ogb", "snap", "mtx"};
  if (std::ranges::find(kFormats, format) == std::end(kFormats))
    throw ConfigError("dataset.format",
                      fmt::format("expected auto, orrery, ogb, snap or mtx, found '{}'", format));
  const fs::path found = locate_dataset(path);
  Dataset dataset = fs::is_directory(found) ? read_folder(found, format) : read_file(found, format);
  if (dataset.name.empty()) dataset.name = name_of(found);
  dataset.symmetric = is_symmetric(*dataset.graph);
  return dataset;
}

Dataset load_dataset(const DatasetOptions& options) {
  Dataset dataset =
      options.generator.empty() ? read_dataset(options.path, options.format) : generate(options);
  if (options.symmetric && !dataset.symmetric) add_reverse_edges(dataset);
  choose_features(dataset, options);
  choose_split(dataset, options);
  reorder(dataset, options.reorder);
  return dataset;
}

}  // namespace orrery
