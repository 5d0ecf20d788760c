// What an inference reads: edges and features in files of other programs, and layers that it kept.
#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/graph/files/npy.hpp"
#include "core/inference/input/edge_list_files.hpp"
#include "core/inference/input/feature_files.hpp"
#include "core/sample/sample_check.hpp"
#include "experiments/advise/search_space.hpp"
#include "experiments/infer/kept/layer_files.hpp"
#include "tests/fuzz/disagree.hpp"
#include "tests/fuzz/folder_input.hpp"
#include "tests/fuzz/target.hpp"

namespace orrery::fuzz {
namespace {

/// The number after a word of the options; nothing where it is not there.
std::optional<std::int64_t> number_after(std::string_view words, std::string_view word) {
  const std::size_t found = words.find(word);
  std::int64_t number = 0;
  if (found == std::string_view::npos ||
      std::from_chars(words.data() + found + word.size(), words.data() + words.size(), number).ec !=
          std::errc())
    return std::nullopt;
  return number;
}

/// Edges in any order: their number, and a sum that tells sets of edges apart.
struct Seen {
  std::int64_t edges = 0, largest = -1;
  std::uint64_t sum = 0;
  bool operator==(const Seen&) const = default;
};

/// The edges that this many ranks read together.
Seen read_by(const EdgeListFiles& files, int ranks) {
  Seen seen;
  std::vector<std::int64_t> by_file(files.files().size());
  for (int rank = 0; rank < ranks; ++rank) {
    const auto share = files.share(rank, ranks);
    std::vector<Edge> piece;
    for (share->next(5, piece); !piece.empty(); share->next(1000, piece))
      for (const auto& [source, destination] : piece) {
        const auto both =
            static_cast<std::uint64_t>(source) << 32U | static_cast<std::uint32_t>(destination);
        seen.sum += (both ^ both >> 29U) * 0xbf58476d1ce4e5b9U;
        ++seen.edges;
      }
    seen.largest = std::max(seen.largest, share->largest());
    for (std::size_t i = 0; i < by_file.size(); ++i) by_file[i] += share->edges_by_file()[i];
  }
  files.require_edges(by_file);
  return seen;
}

/// Whatever the number of ranks, they read the same edges, or one of them finds fault with them.
void read_edge_list(std::string_view input) {
  const Files files = unpack(input);
  scratch().fill(files);
  const std::string_view words = find(files, "options");
  EdgeListOptions options;
  for (const auto& [name, bytes] : files)
    if (name != "options") options.files.push_back((scratch().path() / name).string());
  for (const char* format : {"uint32", "uint64", "npy", "text"})
    if (words.find(format) != std::string_view::npos) options.format = format;
  options.vertices = number_after(words, "vertices ");
  const EdgeListFiles list(options);
  const Seen alone = read_by(list, 1);
  std::optional<Seen> together;
  try {
    together = read_by(list, 3);
  } catch (const Error&) {
  }
  if (together != alone) disagree("the edges of three ranks");
}

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

template <class T>
std::string npy(const std::string& type, std::vector<std::int64_t> shape,
                const std::vector<T>& values) {
  return npy_header_bytes(type, shape) + bytes_of(values);
}

std::string packed(const std::string& text) {
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

std::vector<std::string> edge_lists() {
  const std::string text = "0 1\n# c\n1,2 0.5\r\n% d\n2\t0 7\n3 1";
  return {
      pack({{"a", bytes_of<std::uint32_t>({0, 1, 1, 2, 2, 0, 3, 1})}, {"options", "uint32"}}),
      pack({{"a", bytes_of<std::uint64_t>({0, 1, 1, 2, 2, 0})}, {"options", "uint64 vertices 9"}}),
      pack({{"a", npy<std::uint32_t>("<u4", {3, 2}, {0, 1, 1, 2, 2, 0})}, {"options", "npy"}}),
      pack({{"a", npy<std::int64_t>("<i8", {2, 3}, {0, 1, 2, 1, 2, 0})}}),
      pack({{"a", text}, {"b", "4 5\n"}, {"options", "vertices 6"}}),
      pack({{"a.gz", packed(text)}, {"b", text}})};
}

/// Every row by its location, and by going through all.
void read_feature_files(std::string_view input) {
  const Files files = unpack(input);
  scratch().fill(files);
  const std::int64_t vertices = std::clamp<std::int64_t>(
      number_after(find(files, "options"), "vertices ").value_or(4), 1, 1000);
  const auto held = std::make_shared<const FeatureFiles>(scratch().path(), vertices);
  if (held->width() > 1000) return;
  std::vector<Vertex> all(at(vertices));
  for (std::int64_t v = 0; v < vertices; ++v) all[at(v)] = static_cast<Vertex>(v);
  std::vector<float> located(at(vertices * held->width())), scanned(located.size());
  located_features(held)->read(all, 0, held->width(), located.data(), held->width());
  scanned_features(held)->read(all, 0, held->width(), scanned.data(), held->width());
  if (std::memcmp(located.data(), scanned.data(), located.size() * sizeof(float)) != 0)
    disagree("rows of features");
}

std::vector<std::string> feature_files() {
  const std::vector<float> rows{0, 1, 2, 3, 4, 5};
  return {pack({{"ids-a.npy", npy<std::int32_t>("<i4", {3}, {3, 0, 1})},
                {"rows-a.npy", npy<float>("<f4", {3, 2}, rows)},
                {"ids-b.npy", npy<std::uint64_t>("<u8", {1}, {2})},
                {"rows-b.npy", npy<float>("<f4", {1, 2}, {7, 8})}}),
          pack({{"ids-a.npy", npy<std::uint32_t>("<u4", {3}, {2, 1, 0})},
                {"rows-a.npy", npy<float>("<f4", {3, 2}, rows)},
                {"options", "vertices 3"}}),
          pack({{"ids-a.npy", npy<std::int64_t>("<i8", {2}, {1, 0})},
                {"rows-a.npy", npy<float>("<f4", {2, 3}, rows)},
                {"options", "vertices 2"}})};
}

/// Samples of other programs, held against a graph of five vertices.
void read_samples(std::string_view input) {
  static const Csr graph = build_csr({5, {0, 1, 2, 3, 4, 2}, {1, 2, 3, 4, 1, 1}});
  const NpyArray file(scratch().fill("samples.npy", input));
  const auto values = file.values<std::int64_t>({-1, 3});
  std::vector<std::int64_t> columns[3];
  for (std::size_t i = 0; i < values.size(); ++i) columns[i % 3].push_back(values[i]);
  for (const int fanout : {-1, 2})
    for (const bool replacement : {false, true})
      check_samples(graph, {columns[0], columns[1], columns[2]}, {fanout, replacement});
}

std::vector<std::string> samples() {
  std::vector<std::int64_t> rows;
  for (std::int64_t draw = 0; draw < 40; ++draw)
    for (const std::int64_t from : {0, draw % 2 == 0 ? 4 : 2}) {
      rows.push_back(draw);
      rows.push_back(1);
      rows.push_back(from);
    }
  return {npy<std::int64_t>("<i8", {80, 3}, rows), npy<std::int64_t>("<i8", {1, 3}, {0, 2, 1})};
}

constexpr TileLayout kTiles{4, 2, 1};
const std::vector<std::int64_t> kWidths{2, 3, 1};

nlohmann::ordered_json identity() {
  return {{"seed", 1}, {"model", {{"type", "gcn"}, {"layers", 2}}}, {"weights", "00000000"}};
}

/// A folder of layers that a killed inference left: what is whole in it is taken.
void read_kept_layers(std::string_view input) {
  scratch().fill(unpack(input));
  const int done = open_layer_files(scratch().path(), identity(), kTiles, kWidths, true);
  const LayerFiles layers(scratch().path(), done);
  for (int rank = 0; done > 0 && rank < kTiles.ranks(); ++rank)
    layers.take(rank, done, kTiles.rows(rank).count * kWidths[at(done)]);
}

std::vector<std::string> kept_layers() {
  const Scratch folder;
  open_layer_files(folder.path(), identity(), kTiles, kWidths, false);
  LayerFiles layers(folder.path(), 0);
  for (int rank = 0; rank < kTiles.ranks(); ++rank)
    layers.put(rank, 1, std::vector<float>(at(kTiles.rows(rank).count * kWidths[1]), 0.5F));
  return {pack(files_of(folder.path()))};
}

}  // namespace

std::vector<Target> inference_targets() {
  const std::vector<std::string> npy_words{"'<f4'",
                                           "'<i4'",
                                           "'<u4'",
                                           "'<i8'",
                                           "'<u8'",
                                           "'|O'",
                                           "(2, 3)",
                                           "(-1,)",
                                           "()",
                                           "(9223372036854775807, 2)",
                                           "(1000000000000, 0)",
                                           "True",
                                           "'shape': "};
  std::vector<std::string> edge_words = npy_words, row_words = npy_words;
  for (const char* word :
       {"uint32", "uint64", "npy", "text", "vertices 2", "vertices 9999999999", "@@@@ b\n",
        "\x1f\x8b\x08", "\x93NUMPY", "18446744073709551615", "\r\n", "#"})
    edge_words.emplace_back(word);
  for (const char* word : {"@@@@ rows-c.npy\n", "@@@@ ids-c.npy\n", "vertices 1"})
    row_words.emplace_back(word);
  return {{"edge_list", read_edge_list, edge_lists, edge_words},
          {"feature_files", read_feature_files, feature_files, row_words},
          {"kept_layers",
           read_kept_layers,
           kept_layers,
           {"@@@@ inference.json\n", "@@@@ layer-1-rank-0.bin\n", "null", "[]", "\"seed\": "}},
          {"samples", read_samples, samples, npy_words},
          {"search",
           [](std::string_view in) { parse_axis(std::string(in)); },
           [] {
             return std::vector<std::string>{"strategy.depth=1,2,fit", "cluster.ranks=2,4"};
           },
           {"partition.method=", "strategy.", "[[[[", "{\"", "1e999", ",,", "\x80"}}};
}

}  // namespace orrery::fuzz
