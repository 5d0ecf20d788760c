// Readers of graphs, data sets and what belongs to them.
#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/graph/edges/edge_features.hpp"
#include "core/graph/edges/edge_weights.hpp"
#include "core/graph/files/npy.hpp"
#include "core/graph/files/npy_window.hpp"
#include "core/graph/files/vertex_names.hpp"
#include "core/graph/generate/generate.hpp"
#include "core/graph/read/load.hpp"
#include "core/graph/read/streamed_dataset.hpp"
#include "core/graph/read/write_orrery.hpp"
#include "core/inference/held_rows.hpp"
#include "core/partition/edges/edge_file.hpp"
#include "core/partition/methods/cut.hpp"
#include "core/partition/parts/typed_edges.hpp"
#include "tests/fuzz/disagree.hpp"
#include "tests/fuzz/folder_input.hpp"
#include "tests/fuzz/small_set.hpp"
#include "tests/fuzz/target.hpp"

namespace orrery::fuzz {
namespace {

template <class T>
void read_elements(const std::string& path, const NpyArray& array) {
  if (array.dtype() != npy_dtype<T>()) return;
  std::int64_t elements = 1;
  for (const std::int64_t extent : array.shape()) elements *= extent;
  const std::span<const T> mapped = array.shape().size() == 1   ? array.values<T>({-1})
                                    : array.shape().size() == 2 ? array.values<T>({-1, -1})
                                                                : std::span<const T>();
  if (mapped.empty()) return;
  NpyWindow window(path);
  const auto read = window.elements<T>(0, elements);
  if (elements != std::ssize(mapped) ||
      std::memcmp(read.data(), mapped.data(), mapped.size_bytes()) != 0)
    disagree("the elements of an array");
}

void read_npy(std::string_view input) {
  const std::string path = scratch().fill("a.npy", input);
  const NpyArray array(path);
  read_elements<float>(path, array);
  read_elements<std::int32_t>(path, array);
  read_elements<std::int64_t>(path, array);
  read_elements<std::uint8_t>(path, array);
}

/// Edges of three vertices, read in two ranges.
void read_edge_ranges(std::string_view input) {
  NpyEdges edges(scratch().fill("edges.npy", input), 3);
  std::vector<Edge> piece;
  const std::int64_t half = edges.size() / 2;
  edges.read(0, half, piece);
  edges.read(half, edges.size() - half, piece);
}

template <class T>
std::string npy(std::vector<std::int64_t> shape, const std::vector<T>& values) {
  return npy_header_bytes(npy_dtype<T>(), shape) +
         std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

std::vector<std::string> npy_seeds() {
  std::string second = npy<float>({2, 2}, {1, 2, 3, 4});
  second[6] = 2;  // version 2: two bytes more of length
  second.insert(10, 2, '\0');
  second[8] = static_cast<char>(second[8] - 2);  // and two blanks less
  second.erase(second.find("  "), 2);
  return {npy<float>({3, 2}, {0, 1, 2, 3, 4, 5}),
          npy<std::int32_t>({2, 3}, {0, 1, 2, 1, 2, 0}),
          npy<std::int64_t>({4}, {0, 1, 1, 3}),
          npy<std::uint8_t>({5}, {0, 1, 2, 255, 0}),
          npy<float>({0, 4}, {}),
          second};
}

const std::vector<std::string> kNpyWords{"'<f4'",     "'<i4'",
                                         "'<i8'",     "'|u1'",
                                         "'>f4'",     "'|O'",
                                         "(2, 3)",    "(-1,)",
                                         "()",        "(9223372036854775807, 2)",
                                         "True",      "'shape': ",
                                         "'descr': ", "'fortran_order': "};

/// All that a data set holds, with every row of its features.
void read_rows(const Features* features) {
  if (features == nullptr || features->width() == 0) return;
  if (features->width() > 1000) return;
  std::vector<float> row(at(features->width()));
  for (std::int64_t v = 0; v < std::min<std::int64_t>(features->rows(), 100); ++v) {
    const auto vertex = static_cast<Vertex>(v);
    features->read({&vertex, 1}, 0, features->width(), row.data(), features->width());
  }
}

bool has(std::string_view options, std::string_view word) {
  return options.find(word) != std::string_view::npos;
}

DatasetOptions options_of(const Files& files) {
  const std::string_view words = find(files, "options");
  DatasetOptions options;
  options.path = scratch().path().string();
  options.format = "orrery";
  options.symmetric = has(words, "symmetric");
  options.random_split = has(words, "random_split");
  options.train_on_rest = has(words, "train_on_rest");
  if (has(words, "normalised")) options.row_normalise = true;
  if (has(words, "as-they-are")) options.row_normalise = false;
  if (has(words, "random_features")) options.random_features = 3;
  for (const char* rule : {"mean", "zero"})
    if (has(words, rule)) options.missing_features = rule;
  for (const char* order : {"degree", "bfs", "communities"})
    if (has(words, order)) options.reorder = order;
  return options;
}

/// The relations of streamed edges are those of the set that was read whole.
void read_relations(EdgeStream& edges, const StreamedDataset& streamed, const TypedGraph& whole) {
  TypedEdges typed(edges, streamed);
  if (typed.typed().texts() != whole.texts()) disagree("the relations");
  typed.rewind();
  for (auto block = typed.next(); !block.empty(); block = typed.next())
    for (const auto& [source, destination, relation] : block)
      if (!std::ranges::binary_search(whole.relations[at(relation)].graph->row(destination),
                                      source))
        disagree("the relation of an edge");
}

void read_folder(std::string_view input) {
  const Files files = unpack(input);
  scratch().fill(files);
  DatasetOptions options = options_of(files);
  if (has(find(files, "options"), "stream")) {
    options.reorder = "none";
    const StreamedDataset streamed = open_streamed_dataset(options);
    read_rows(streamed.rows.features.get());
    const std::int64_t count = std::min<std::int64_t>(streamed.vertices, 100);
    std::vector<Vertex> all(at(count));
    for (std::int64_t v = 0; v < count; ++v) all[at(v)] = static_cast<Vertex>(v);
    std::vector<std::int32_t> labels(streamed.rows.labels && streamed.rows.columns() < 1000
                                         ? at(count * streamed.rows.columns())
                                         : 0);
    if (!labels.empty()) streamed.rows.labels(all, labels.data());
    // A set that is read whole must say the same.
    const Dataset whole = load_dataset(options);
    if (whole.vertices() != streamed.vertices) disagree("the number of vertices");
    if (!labels.empty() && !std::equal(labels.begin(), labels.end(), whole.labels.values.begin()))
      disagree("labels");
    if (*streamed.split != whole.split) disagree("the split");
    const auto edges = open_edge_file(streamed.edges);
    count_edges(*edges);
    if (streamed.typed) read_relations(*edges, streamed, *whole.typed);
    return;
  }
  const Dataset data = load_dataset(options);
  read_rows(data.features.get());
  if (options.reorder != "none") return;  // values of edges go by the numbers of the file
  const std::filesystem::path& folder = scratch().path();
  if (has_edge_weights(folder)) read_edge_weights(folder, data);
  read_vertex_names(folder, data.vertices());
  if (has_edge_features(folder)) read_rows(read_edge_features(folder, data)->rows.get());
}

/// A folder in which the last type alone has features.
std::string features_by_type(const std::string& words) {
  const Scratch folder;
  Dataset data = small_typed_set();
  data.features = nullptr;
  write_orrery(data, folder.path() / "set", true);
  Files files = files_of(folder.path() / "set");
  const VertexType& type = data.typed->types.back();
  for (auto& [name, content] : files) {
    if (name != "meta.json") continue;
    auto meta = nlohmann::json::parse(content);
    meta["feature_storage"] = {{"kind", "by_type"}, {"types", {type.name}}};
    meta.erase("num_features");
    content = meta.dump();
  }
  files.emplace_back(fmt::format("features_{}.npy", type.name),
                     npy<float>({type.count, 1}, std::vector<float>(at(type.count), 0.5F)));
  files.emplace_back("options", words);
  return pack(files);
}

/// Small generated sets as folders: dense and sparse features, one and several labels, none, types, values
/// of edges.
std::vector<std::string> folder_seeds() {
  const Scratch folder;
  std::vector<std::string> seeds;
  const auto keep = [&](const Dataset& data, const std::string& words) {
    write_orrery(data, folder.path() / "set", true);
    Files files = files_of(folder.path() / "set");
    files.emplace_back("options", words);
    seeds.push_back(pack(files));
  };
  Dataset data = small_set();
  keep(data, "symmetric normalised");
  keep(data, "stream");
  std::vector<float> sparse(12 * 8, 0.0F);
  for (std::size_t i = 0; i < sparse.size(); i += 9) sparse[i] = i % 2 == 0 ? 1.0F : 2.5F;
  data.features = dense_features(12, 8, sparse, "seed", false);
  data.labels = {3, true, std::vector<std::int32_t>(36, 1)};
  keep(data, "bfs random_split");
  keep(data, "stream normalised");
  data.features = nullptr;
  data.labels = {};
  data.split.clear();
  keep(data, "random_features communities");
  keep(small_typed_set(), "symmetric");
  keep(small_typed_set(), "stream");
  keep(small_typed_set(), "stream symmetric");
  for (const auto& [edges, words] :
       {std::pair{small_set(), "symmetric"}, std::pair{small_typed_set(), ""}}) {
    EdgeValues<float> weights{{edges.graph, std::vector<float>(at(edges.edges()), 0.5F)}, {}};
    EdgeFeatures features{nullptr, {{edges.graph, std::vector<Vertex>(at(edges.edges()), 0)}, {}}};
    if (edges.typed)
      for (const Relation& relation : edges.typed->relations) {
        const std::size_t entries = relation.graph->columns.size();
        weights.of_relations.push_back({relation.graph, std::vector<float>(entries, 2)});
        features.row_of_entry.of_relations.push_back(
            {relation.graph, std::vector<Vertex>(entries, 0)});
      }
    features.rows = dense_features(1, 2, {1.5F, -1}, "seed", false);
    write_orrery(edges, folder.path() / "set", true, &weights, &features);
    Files files = files_of(folder.path() / "set");
    files.emplace_back("options", words);
    std::string names;
    for (std::int64_t v = 0; v < edges.vertices(); ++v) names += fmt::format("v{}\n", v);
    files.emplace_back("names.txt", names);
    seeds.push_back(pack(files));
  }
  for (const char* words : {"zero", "mean"}) seeds.push_back(features_by_type(words));
  return seeds;
}

void read_ogb(std::string_view input) {
  const Files files = unpack(input);
  scratch().fill(files);
  const std::string zero = has(find(files, "options"), "zero") ? "zero" : "";
  const Dataset data = read_dataset(scratch().path().string(), "ogb", zero);
  read_rows(data.features.get());
  if (data.typed && union_of(*data.typed) != *data.graph) disagree("the edges of the relations");
}

std::vector<std::string> ogb_seeds() {
  return {pack({{"raw/edge.csv", "0,1\n1,2\n2,0\n"},
                {"raw/num-node-list.csv", "3\n"},
                {"raw/num-edge-list.csv", "3\n"},
                {"raw/node-feat.csv", "0.5,-1\n1e-3,2\n3,4\n"},
                {"raw/node-label.csv", "0\n1\nnan\n"},
                {"split/train.csv", "0\n"},
                {"split/valid.csv", "1\n"},
                {"split/test.csv", "2\n"}}),
          pack({{"edge.csv", "0,1\n1,0\n"}, {"node-label.csv", "0,1\n1,1\n"}}),
          pack({{"raw/num-node-dict.csv", "author,institution,paper\n2,2,3\n"},
                {"raw/triplet-type-list.csv",
                 "author,affiliated_with,institution\nauthor,writes,paper\npaper,cites,paper\n"},
                {"raw/relations/author___affiliated_with___institution/edge.csv", "0,0\n1,1\n"},
                {"raw/relations/author___writes___paper/edge.csv", "0,0\n1,1\n1,2\n"},
                {"raw/relations/author___writes___paper/num-edge-list.csv", "3\n"},
                {"raw/relations/paper___cites___paper/edge.csv", "1,0\n2,1\n"},
                {"raw/node-feat/paper/node-feat.csv", "0.5,-1\n1e-3,2\n3,4\n"},
                {"raw/nodetype-has-label.csv", "author,institution,paper\nFalse,False,True\n"},
                {"raw/node-label/paper/node-label.csv", "0\n1\nnan\n"},
                {"split/time/nodetype-has-split.csv", "author,paper\nFalse,True\n"},
                {"split/time/paper/train.csv", "0\n"},
                {"split/time/paper/valid.csv", "1\n"},
                {"split/time/paper/test.csv", "2\n"}}),
          pack({{"num-node-dict.csv", "a,b\n2,1\n"},
                {"triplet-type-list.csv", "a,to,b\n"},
                {"relations/a___to___b/edge.csv", "0,0\n"},
                {"node-feat/b/node-feat.csv", "1\n"},
                {"options", "zero"}})};
}

/// One file in a format.
void read_text(std::string_view input, const std::string& format) {
  const Dataset data = read_dataset(scratch().fill("g.txt", input), format);
  if (data.graph->offsets.back() != data.edges()) disagree("the number of edges");
}

std::string gzipped(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(text.size() + 200, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

const std::string kSnap = "# Nodes: 5 Edges: 4\n0 1\n1\t2\r\n2,3 0.5\n% c\n3 0\n";

/// A stream and a second pass over it hold the same edges.
void read_edges(std::string_view input) {
  const Files files = unpack(input);
  scratch().fill(files);
  if (files.empty()) return;
  const auto stream = open_edge_file(scratch().path() / files.front().first);
  const StreamCounts first = count_edges(*stream), second = count_edges(*stream);
  if (first.edges != second.edges || first.degree != second.degree) disagree("a second pass");
}

std::string pairs(const std::vector<std::int32_t>& ends) {
  return {reinterpret_cast<const char*>(ends.data()), ends.size() * sizeof(std::int32_t)};
}

void read_owners(std::string_view input) {
  static const Csr graph = build_csr({4, {0, 1, 2}, {1, 2, 3}});
  PartitionOptions options;
  options.method = "file";
  options.file = scratch().fill("owners", input);
  partition_graph(graph, 3, options);
}

void read_degrees(std::string_view input) {
  DatasetOptions options;
  options.generator = "bter";
  options.degree_file = scratch().fill("degrees", input);
  degree_classes(options);
}

}  // namespace

std::vector<Target> graph_targets() {
  const std::vector<std::string> meta_words{"\"num_nodes\": ",
                                            "\"num_edges\": ",
                                            "\"num_classes\": ",
                                            "\"num_features\": ",
                                            "\"feature_storage\": {\"kind\": \"csr\"}",
                                            "\"dense\"",
                                            "\"csr\"",
                                            "\"absent\"",
                                            "\"by_type\"",
                                            "\"types\": [\"",
                                            "zero",
                                            "\"has_labels\": true",
                                            "\"has_split\": true",
                                            "\"binary\": true",
                                            "stream",
                                            "symmetric",
                                            "normalised",
                                            "as-they-are",
                                            "train_on_rest",
                                            "degree",
                                            "random_features"};
  return {
      {"npy", read_npy, npy_seeds, kNpyWords},
      {"edge_ranges", read_edge_ranges,
       [] {
         return std::vector<std::string>{npy<std::int32_t>({2, 3}, {0, 1, 2, 1, 2, 0}),
                                         npy<std::int32_t>({2, 0}, {})};
       },
       kNpyWords},
      {"dataset", read_folder, folder_seeds, meta_words},
      {"ogb",
       read_ogb,
       ogb_seeds,
       {"nan", "-1", "@@@@ raw/edge.csv.gz\n", "@@@@ raw/", "\x1f\x8b\x08", "True", "False",
        "author", "institution", "paper", "___", "@@@@ raw/relations/", "1000000", "zero"}},
      {"snap",
       [](std::string_view in) { read_text(in, "snap"); },
       [] {
         return std::vector<std::string>{kSnap, "10 20\n20 30\n", "18446744073709551615 0\n"};
       },
       {"# Nodes: ", "Edges: ", "\n", "\r\n", "#", "%"}},
      {"gz",
       [](std::string_view in) { read_text(in, "auto"); },
       [] {
         return std::vector<std::string>{gzipped(kSnap), gzipped("1 2\n") + gzipped("2 3\n"),
                                         gzipped(std::string(5000, '\n') + "1 2\n")};
       },
       {"\x1f\x8b\x08"}},
      {"mtx",
       [](std::string_view in) { read_text(in, "mtx"); },
       [] {
         return std::vector<std::string>{
             "%%MatrixMarket matrix coordinate pattern symmetric\n% c\n3 3 2\n2 1\n3 1\n",
             "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 0.5\n"};
       },
       {"%%MatrixMarket", "matrix", "coordinate", "pattern", "real", "integer", "general",
        "symmetric", "array", "complex"}},
      {"edges",
       read_edges,
       [] {
         return std::vector<std::string>{
             pack({{"e.txt", "0 1\n1 2\n# c\n2 0 7\n"}}),
             pack({{"e.txt.gz", gzipped("0 1\n1 2\n")}}), pack({{"e.bin", pairs({0, 1, 1, 2})}}),
             pack({{"e.npy", npy<std::int32_t>({2, 2}, {0, 1, 1, 2})}})};
       },
       {"@@@@ e.bin\n", "@@@@ e.npy\n", "@@@@ e.txt\n"}},
      {"owners", read_owners,
       [] {
         return std::vector<std::string>{"0\n1\n2\n1\n", "0\r\n0 \n1\n1\n"};
       }},
      {"degrees", read_degrees,
       [] {
         return std::vector<std::string>{"1 4\n2 3\n3 2 0.5\n", "# c\n0 2\n1 2 1\n"};
       }},
  };
}

}  // namespace orrery::fuzz
