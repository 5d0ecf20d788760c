// Edges on disk, read through a fixed buffer.
//
//   binary (.bin, .edges)  int32 pairs, little-endian: source, destination, source, ...; no header
//   NumPy  (.npy)          int32 [2, E]: the edges.npy of a data set folder
//   text   (others)        two vertex numbers per line, separated by blanks, tabs or commas;
//                          further fields are ignored; lines that start with # or % are comments;
//                          plain or gzip
//
// Vertices keep these numbers, counted from 0: a stream cannot renumber them.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "core/partition/edges/edge_stream.hpp"

namespace orrery {

/// Opens a file of edges by the ending of its name.
///
/// Errors    DataError: cannot be read; cut in the middle of a record; a number that is no vertex
///           (negative, or above 2^31 - 2), with its record or line
std::unique_ptr<EdgeStream> open_edge_file(const std::filesystem::path& file);

/// Whether a file with this name is read as edges only (binary or NumPy).
bool is_edge_file(const std::filesystem::path& file);

/// Writes a binary edge file, one pass over the stream.
///
/// Errors    DataError naming the file and the system's reason (disk full, not writable)
void write_edge_file(EdgeStream& stream, const std::filesystem::path& file);

}  // namespace orrery
