// The readers behind load_dataset, one per file format; each returns the data as stored.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/parallel.hpp"
#include "core/graph/dataset.hpp"
#include "core/graph/text.hpp"

namespace orrery {

constexpr std::int64_t kMaxVertices = 2147483647;  ///< vertices are numbered by int32

/// How many classes the largest label may imply where no file states their number; a model has an
/// output column per class, so one stray label must not ask for two thousand million of them.
constexpr std::int64_t most_implied_classes(std::int64_t vertices) {
  return vertices > 1000 ? vertices : 1000;
}

/// Folder of NumPy files with meta.json (the format that write_orrery writes).
///
/// Errors    DataError: a file is missing, of the wrong type or shape, or holds a value out of
/// range
Dataset read_orrery(const std::filesystem::path& folder);

/// OGB's raw CSV layout: `raw/` and `split/` inside the folder, or the CSV files directly in it.
/// Files may be gzip. The line "a,b" of edge.csv is the edge a -> b.
///
/// Errors    DataError: a file is missing, a line is malformed, a count disagrees with
/// num-*-list.csv
Dataset read_ogb(const std::filesystem::path& folder);

/// SNAP edge list: a source and a destination per line, further numbers are ignored (with a note).
/// Vertices may carry any numbers below 2^64; they are renumbered in ascending order of the number
/// unless they are 0..n-1 already (or the header's "Nodes:" covers them).
///
/// Errors    DataError: a malformed line, no edge at all, fewer edges than the header's "Edges:"
/// says
Dataset read_snap(const TextFile& file);

/// Matrix Market coordinate file, square, pattern, real or integer, general or symmetric. The entry
/// (i, j) is the edge i-1 -> j-1; values are ignored (with a note).
///
/// Errors    DataError: a malformed line, an index out of range, another number of entries than
/// announced
Dataset read_mtx(const TextFile& file);

struct Edge {
  Vertex source, destination;
};

/// The edges of all chunks in order, with number(id) as the vertex of each id. Parallel; frees each
/// chunk once it is copied.
template <class E, class Number>
EdgeList join_chunks(std::int64_t vertices, std::vector<std::vector<E>>&& chunks,
                     const Number& number) {
  std::vector<std::size_t> start{0};
  for (const auto& chunk : chunks) start.push_back(start.back() + chunk.size());
  EdgeList edges{vertices, std::vector<Vertex>(start.back()), std::vector<Vertex>(start.back())};
  parallel_for(static_cast<std::int64_t>(chunks.size()), 1, [&](std::int64_t k, std::int64_t) {
    auto& chunk = chunks[static_cast<std::size_t>(k)];
    std::size_t i = start[static_cast<std::size_t>(k)];
    for (const E& edge : chunk) {
      edges.source[i] = number(edge.source);
      edges.destination[i++] = number(edge.destination);
    }
    std::vector<E>().swap(chunk);
  });
  return edges;
}
EdgeList join_chunks(std::int64_t vertices, std::vector<std::vector<Edge>>&& chunks);

/// Makes the edges the graph of the data set; notes how many duplicates were merged.
void set_graph(Dataset& dataset, const EdgeList& edges);

/// Notes that `merged` of the edges read were duplicates, if any were.
void note_duplicates(Dataset& dataset, std::int64_t merged);

}  // namespace orrery
