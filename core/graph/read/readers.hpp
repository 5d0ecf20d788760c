// The readers behind load_dataset, one per file format; each returns the data as stored.
#pragma once

#include <filesystem>
#include <string>

#include "core/graph/dataset.hpp"
#include "core/graph/files/text.hpp"
#include "core/graph/files/vertex_names.hpp"

namespace orrery {

/// The number of classes that the largest label may imply if no file states it. A model has an
/// output column per class, so one stray label must not ask for billions of them.
constexpr std::int64_t most_implied_classes(std::int64_t vertices) {
  return vertices > 1000 ? vertices : 1000;
}

/// Folder of NumPy files with meta.json (the format that write_orrery writes). `missing_features` as in
/// read_typed_ogb, for folders whose features are by type.
///
/// Errors    DataError: a file is missing, of the wrong type or shape, or holds a value out of
///           range. ConfigError under "dataset.missing_features": it is given, and no type needs it
Dataset read_orrery(const std::filesystem::path& folder, const std::string& missing_features = "");

/// OGB's raw CSV layout: `raw/` and `split/` inside the folder, or the CSV files directly in it.
/// Files may be gzip. The line "a,b" of edge.csv is the edge a -> b.
///
/// Errors    DataError: a file is missing, a line is malformed, a count disagrees with
///           num-*-list.csv
Dataset read_ogb(const std::filesystem::path& folder);

/// Whether a folder has OGB's raw layout of several types of vertices (num-node-dict.csv,
/// triplet-type-list.csv).
bool has_ogb_types(const std::filesystem::path& folder);

/// OGB's raw CSV layout of several types of vertices and edges: types in the order of
/// num-node-dict.csv, relations in that of triplet-type-list.csv. Labels and splits may be of some
/// types only. Where features are, `missing_features` says what the other types get: "mean" or ""
/// (fill_with_means), or "zero".
///
/// Errors    DataError as read_ogb, and names that are no names, come twice or are unknown (the
///           nearest one is named), numbers beyond the count of their type, vertices or features of
///           which files of this size have not so many. ConfigError under
///           "dataset.missing_features": it is given, and no type needs it
/// Departs   from OGB's reader: several labels per vertex are refused
Dataset read_typed_ogb(const std::filesystem::path& folder, const std::string& missing_features);

/// SNAP edge list: a source and a destination per line, further numbers are ignored (with a note).
/// Vertices may carry any numbers below 2^64; they are renumbered in ascending order of the number
/// unless they are 0..n-1 already (or the header's "Nodes:" covers them). `names`, if given, gets those numbers.
///
/// Errors    DataError: a malformed line, no edge at all, fewer edges than the header's "Edges:"
///           says
Dataset read_snap(const TextFile& file, VertexNames* names = nullptr);

/// Matrix Market coordinate file, square, pattern, real or integer, general or symmetric. The entry
/// (i, j) is the edge i-1 -> j-1; values are ignored (with a note).
///
/// Errors    DataError: a malformed line, an index out of range, another number of entries than
///           announced
Dataset read_mtx(const TextFile& file);

}  // namespace orrery
