#include "core/graph/read/load.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <new>
#include <optional>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/graph/files/meta_file.hpp"
#include "core/graph/files/meta_keys.hpp"
#include "core/graph/generate/generate.hpp"
#include "core/graph/read/choices.hpp"
#include "core/graph/read/lookup.hpp"
#include "core/graph/read/readers.hpp"
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

/// The format of a folder, orrery or ogb, if it may be any or the asked one.
std::string format_of(const fs::path& folder, const std::string& format) {
  if (format == "orrery" || format == "ogb") return format;
  if (format != "auto")
    throw DataError(folder.string(), "",
                    fmt::format("expected a file (format {}), found a folder", format));
  if (fs::exists(folder / "meta.json") || fs::exists(folder / "edges.npy")) return "orrery";
  if (has_ogb_edges(folder) || has_ogb_types(folder)) return "ogb";
  if (is_large_typed_ogb(folder))
    throw DataError(folder.string(), "",
                    "holds processed/ and meta.pt of a large set of OGB: orrery dataset convert "
                    "makes a folder that can be read");
  throw DataError(folder.string(), "",
                  "expected meta.json and edges.npy (format orrery) or edge.csv[.gz] (format ogb), "
                  "found neither");
}

Dataset read_folder(const fs::path& folder, const std::string& format,
                    const std::string& missing_features) {
  const bool ogb = format_of(folder, format) == "ogb";
  if (!ogb) {
    Dataset dataset = read_orrery(folder, missing_features);
    for (std::string& note : notes_on_unknown_keys(MetaFile(folder)))
      dataset.notes.push_back(std::move(note));
    return dataset;
  }
  if (has_ogb_types(folder)) return read_typed_ogb(folder, missing_features);
  if (!missing_features.empty()) refuse_missing_features(folder.string());
  return read_ogb(folder);
}

/// Throws for a file of another program, known by its ending or its first bytes, and says what makes a
/// data set of it.
void require_text(const TextFile& file) {
  constexpr std::string_view kConvert = "orrery dataset convert makes a folder of it";
  constexpr std::string_view kWithOthers =
      "save it with the others by numpy.savez(\"set.npz\", edge_index=..., x=..., y=...), for "
      "orrery dataset convert";
  constexpr std::string_view kFromPython =
      "in Python, orrery.from_pyg(data, folder), from_dgl or from_networkx write a data set of a "
      "graph, and numpy.savez(\"set.npz\", edge_index=..., x=..., y=...) arrays for orrery dataset "
      "convert";
  struct Kind {
    std::vector<std::string_view> endings;
    std::string_view start, name, remedy;
  };
  const Kind kinds[] = {{{".npz"}, "", "arrays of NumPy", kConvert},
                        {{".parquet"}, "PAR1", "a table of Parquet", kConvert},
                        {{".npy"}, "\x93NUMPY", "an array of NumPy", kWithOthers},
                        {{".pt", ".pth"}, "", "a file as torch.save writes", kFromPython},
                        {{".zip"}, "PK\x03\x04", "a zip archive", "unpack it first"},
                        {{".pkl", ".pickle"}, "\x80", "a pickle of Python", kFromPython},
                        {{".h5", ".hdf5"}, "\x89HDF", "HDF5", kFromPython}};
  const std::string ending = fs::path(file.path()).extension().string();
  for (const auto& [endings, start, name, remedy] : kinds)
    if (std::ranges::find(endings, ending) != endings.end() ||
        (!start.empty() && file.text().starts_with(start)))
      throw DataError(file.path(), "",
                      fmt::format("expected a text of edges, found {}: {}", name, remedy));
}

Dataset read_file(const fs::path& path, const std::string& format,
                  const std::string& missing_features, VertexNames* names) {
  if (format == "orrery" || format == "ogb")
    throw DataError(path.string(), "",
                    fmt::format("expected a folder (format {}), found a file", format));
  if (!missing_features.empty()) refuse_missing_features(path.string());
  const TextFile file(path);
  require_text(file);
  const bool is_mtx =
      format == "mtx" || (format == "auto" && file.text().starts_with(kMatrixMarket));
  return is_mtx ? read_mtx(file) : read_snap(file, names);
}

/// "com-dblp.ungraph.txt.gz" -> "com-dblp.ungraph"
std::string name_of(fs::path path) {
  if (!path.has_filename()) path = path.parent_path();
  if (fs::is_directory(path)) return path.filename().string();
  if (path.extension() == ".gz") path = path.stem();
  return path.stem().string();
}

/// Throws for options that would mix vertices of different types.
void require_types_stay(const Dataset& dataset, const DatasetOptions& options) {
  if (dataset.typed && options.reorder != "none")
    throw ConfigError("dataset.reorder",
                      fmt::format("'{}' has vertex types, each with consecutive numbers: set it to "
                                  "none",
                                  dataset.name));
}
/// An edge without its reverse, if a folder says that its graph is not directed.
std::optional<Edge> contradiction(const Dataset& dataset, const fs::path& folder) {
  if (dataset.symmetric || !fs::exists(folder / "meta.json")) return std::nullopt;
  if (MetaFile(folder).get("directed", true)) return std::nullopt;
  const Csr& graph = *dataset.graph;
  for (Vertex v = 0; v < graph.rows; ++v)
    for (const Vertex u : graph.row(v))
      if (!std::ranges::binary_search(graph.row(u), v)) return Edge{u, v};
  return std::nullopt;
}

/// The fault of meta.json's key "directed".
std::string words_of(Edge edge) {
  return fmt::format("is false, but edge {} -> {} has no reverse", edge.source, edge.destination);
}

void magnify(Dataset& dataset, std::int64_t times) {
  dataset.magnify = times;
  dataset.notes.push_back(
      fmt::format("magnified: every count is {} times that of the {} vertices and {} edges on "
                  "disk",
                  times, dataset.vertices(), dataset.edges()));
}

/// Whether a vertex has a label; with several labels each vertex has some.
IsLabelled labelled(const Dataset& dataset) {
  return [&labels = dataset.labels](std::int64_t v) {
    return labels.multilabel || labels.values[at(v)] >= 0;
  };
}

}  // namespace

bool is_large_typed_ogb(const fs::path& folder) {
  return fs::exists(folder / "meta.pt") && fs::is_directory(folder / "processed");
}

Dataset read_dataset(const std::string& path, const std::string& format,
                     const std::string& missing_features, VertexNames* names) {
  constexpr std::string_view kFormats[] = {"auto", "orrery", "ogb", "snap", "mtx"};
  if (std::ranges::find(kFormats, format) == std::end(kFormats))
    throw ConfigError("dataset.format",
                      fmt::format("expected auto, orrery, ogb, snap or mtx, found '{}'", format));
  if (!missing_features.empty() && missing_features != "mean" && missing_features != "zero")
    throw ConfigError("dataset.missing_features",
                      fmt::format("expected mean or zero, found '{}'", missing_features));
  const fs::path found = locate_dataset(path);
  Dataset dataset;
  try {
    dataset = fs::is_directory(found) ? read_folder(found, format, missing_features)
                                      : read_file(found, format, missing_features, names);
  } catch (const std::bad_alloc&) {
    throw DataError(found.string(), "",
                    "expected a data set that fits into memory, found one that needs more than "
                    "the system gives");
  }
  if (dataset.name.empty()) dataset.name = one_line(name_of(found));
  dataset.symmetric = is_symmetric(*dataset.graph);
  if (names != nullptr && fs::is_directory(found))
    *names = read_vertex_names(found, dataset.vertices());
  if (const auto edge = contradiction(dataset, found))
    dataset.notes.push_back("graph: \"directed\" of meta.json " + words_of(*edge));
  return dataset;
}

void refuse_as_directed(const fs::path& folder, Edge edge) {
  MetaFile(folder).fail("directed", words_of(edge) +
                                        "; set dataset.symmetric to true, which adds the reverse "
                                        "of every edge, or \"directed\" to true");
}

void add_reverse_edges(Dataset& dataset) {
  const std::int64_t before = dataset.edges();
  if (dataset.typed) {
    TypedGraph typed = *dataset.typed;
    add_reverse_relations(typed);
    set_typed_graph(dataset, std::move(typed));
  } else {
    dataset.graph = std::make_shared<Csr>(symmetrise(*dataset.graph));
  }
  dataset.symmetric = true;
  dataset.notes.push_back(
      fmt::format("symmetrised: {} directed edges became {}", before, dataset.edges()));
}

Dataset load_dataset(const DatasetOptions& options) {
  Dataset dataset = options.generator.empty()
                        ? read_dataset(options.path, options.format, options.missing_features)
                        : generate(options);
  require_types_stay(dataset, options);
  if (options.symmetric && (!dataset.symmetric || dataset.typed)) add_reverse_edges(dataset);
  if (options.generator.empty()) {
    const fs::path folder = locate_dataset(options.path);
    if (const auto edge = contradiction(dataset, folder)) refuse_as_directed(folder, *edge);
  }
  choose_features(dataset.features, dataset.notes, dataset.vertices(), options);
  if (options.half_features && dataset.features) {
    dataset.features = half_features(dataset.features);
    dataset.notes.emplace_back("features: rounded to 16 bits (features_type)");
  }
  if (dataset.labels.present())
    choose_split(dataset.split, dataset.notes, dataset.vertices(), labelled(dataset), options);
  reorder(dataset, options.reorder);
  if (options.magnify > 1) magnify(dataset, options.magnify);
  return dataset;
}

}  // namespace orrery
