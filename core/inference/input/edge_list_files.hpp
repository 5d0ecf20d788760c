// Files of edges that are cut into ranges, so that each rank reads its own.
//
//   uint32, uint64   pairs of such numbers, little-endian: source, destination, source, ...; no header
//   npy              int32, uint32, int64 or uint64 of shape [E, 2] or [2, E]: sources, then destinations
//   text             two vertex numbers per line, separated by blanks, tabs or commas; further fields
//                    are ignored; lines that start with # or % are comments; plain or gzip
//
// Vertices keep the numbers of the file: a vertex without an edge is a vertex all the same.
//
// Source    Deal section 3.2: each machine loads an equal segment of the edge list
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/graph/dataset_options.hpp"
#include "core/inference/input/edge_share.hpp"

namespace orrery {

enum class EdgeFormat : std::uint8_t { uint32, uint64, npy, text, packed_text };

/// The edges that a rank reads from all files.
class EdgeFileShare : public EdgeShare {
 public:
  /// The largest number of a vertex so far; −1: no edge yet.
  virtual std::int64_t largest() const = 0;
  /// Edges so far, by file.
  virtual const std::vector<std::int64_t>& edges_by_file() const = 0;
};

class EdgeListFiles {
 public:
  /// Looks at the beginning of every file.
  ///
  /// Errors    DataError: a file that cannot be read, is empty, cut in the middle of a record, or of
  ///           another format; ConfigError: a format that must be said
  explicit EdgeListFiles(const EdgeListOptions& options);

  /// The share of one of this many ranks: an equal range of the edges of each file (for a text, the
  /// lines that begin in an equal range of its bytes). One rank reads a packed text as a whole, in
  /// turn.
  ///
  /// Errors    of next(), DataError: a number that is no vertex, with its edge or line: negative,
  ///           beyond EdgeListOptions::vertices, or so large that memory for every vertex up to it is
  ///           not believed of a file of that size
  std::unique_ptr<EdgeFileShare> share(int rank, int ranks) const;

  /// The numbers of vertices that are plausible: all below this.
  std::int64_t most_vertices() const { return most_vertices_; }
  /// Requires  the edges of each file, over all ranks
  /// Errors    DataError: a file without any
  void require_edges(const std::vector<std::int64_t>& edges_by_file) const;

  struct File {
    std::filesystem::path path;
    EdgeFormat format = EdgeFormat::text;
    std::int64_t bytes = 0;
    // For a file of records:
    std::int64_t edges = 0;
    std::int64_t data_offset = 0;  ///< bytes before the first one
    int number_bytes = 4;
    bool is_signed = false;
    bool in_rows = true;  ///< source beside destination; otherwise all sources come first
  };
  const std::vector<File>& files() const { return files_; }

 private:
  std::vector<File> files_;
  std::int64_t most_vertices_ = 0;
  bool stated_ = false;  ///< by the options
};

}  // namespace orrery
