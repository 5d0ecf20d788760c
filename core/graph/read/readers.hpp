// The readers behind load_dataset, one per file format; each returns the data as stored.
#pragma once

#include <filesystem>
#include <string>

#include "core/graph/dataset.hpp"
#include "core/graph/files/text.hpp"

namespace orrery {

/// The number of classes that the largest label may imply if no file states it. A model has an
/// output column per class, so one stray label must not ask for billions of them.
constexpr std::int64_t most_implied_classes(std::int64_t vertices) {
  return vertices > 1000 ? vertices : 1000;
}

/// Folder of NumPy files with meta.json (the format that write_orrery writes).
///
/// Errors    DataError: a file is missing, of the wrong type or shape, or holds a value out of
///           range
Dataset read_orrery(const std::filesystem::path& folder);

/// OGB's raw CSV layout: `raw/` and `split/` inside the folder, or the CSV files directly in it.
/// Files may be gzip. The line "a,b" of edge.csv is the edge a -> b.
///
/// Errors    DataError: a file is missing, a line is malformed, a count disagrees with
///           num-*-list.csv
Dataset read_ogb(const std::filesystem::path& folder);

/// SNAP edge list: a source and a destination per line, further numbers are ignored (with a note).
/// Vertices may carry any numbers below 2^64; they are renumbered in ascending order of the number
/// unless they are 0..n-1 already (or the header's "Nodes:" covers them).
///
/// Errors    DataError: a malformed line, no edge at all, fewer edges than the header's "Edges:"
///           says
Dataset read_snap(const TextFile& file);

/// Matrix Market coordinate file, square, pattern, real or integer, general or symmetric. The entry
/// (i, j) is the edge i-1 -> j-1; values are ignored (with a note).
///
/// Errors    DataError: a malformed line, an index out of range, another number of entries than
///           announced
Dataset read_mtx(const TextFile& file);

}  // namespace orrery
