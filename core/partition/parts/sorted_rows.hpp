// Rows of a graph that are sorted on disk, because they need not fit into memory.
#pragma once

#include <atomic>
#include <filesystem>
#include <span>
#include <type_traits>
#include <vector>

#include "core/base/index.hpp"
#include "core/graph/files/plain_file.hpp"
#include "core/partition/edges/edge_stream.hpp"
#include "core/partition/parts/graph_rows.hpp"
#include "core/partition/parts/owner_order.hpp"
#include "core/partition/parts/typed_edges.hpp"

namespace orrery {

/// What an edge does to rows.
enum class RowSide : std::uint8_t {
  in,    ///< it makes its source a neighbour of its destination
  out,   ///< and the other way round
  both,  ///< both
};

/// The neighbours of every vertex, distinct and ascending, in one file in the order of the parts,
/// so that those of a part are adjacent. An entry is a neighbour (Vertex), or a neighbour by one
/// relation (TypedNeighbour): then a neighbour by two relations has two entries.
///
/// Two passes over the edges: the first counts, the second puts every edge into a bucket on disk,
/// which holds the edges of a run of rows. Then each bucket is read, sorted, and appended.
///
/// Cost      two passes; 8 bytes on disk per edge while it sorts and 4 bytes for good, with
///           relations 12 and 8; in memory 4 1/4 bytes per vertex and some 100 MB, for any number
///           of edges
template <class Entry>
class RowsSortedOnDisk {
 public:
  using Side = RowSide;
  static constexpr bool kTyped = std::is_same_v<Entry, TypedNeighbour>;
  using Stream = std::conditional_t<kTyped, TypedEdges, EdgeStream>;

  /// Sorts the edges of a stream in files that begin with `scratch`.
  ///
  /// Errors    DataError: an edge names a vertex that `order` does not have; a file cannot be
  ///           written
  RowsSortedOnDisk(Stream& edges, Side side, const OwnerOrder& order,
                   const std::filesystem::path& scratch);

  std::int64_t entries() const { return entries_; }
  /// Entries before duplicates were merged.
  std::int64_t added() const { return added_; }
  /// Whether u is a neighbour of v whenever v is one of u (except for one case in 2^64).
  ///
  /// Requires  neighbours without relations
  bool symmetric() const { return forward_ == backward_; }
  bool has_loop(Vertex v) const { return (length_[place(v)] & kLoop) != 0; }
  std::int64_t length(Vertex v) const { return length_[place(v)] & ~kLoop; }
  /// The neighbours of v, valid until the next call. Fast for vertices in the order of the parts.
  std::span<const Entry> row(Vertex v);

 private:
  std::size_t place(Vertex v) const { return static_cast<std::size_t>(order_.position[at(v)]); }
  void count(Stream& edges, Side side);
  void cut_buckets();
  void route(Stream& edges, Side side, PlainFile& raw) const;
  void sort(const PlainFile& raw);
  void sort_bucket(const PlainFile& raw, std::size_t bucket, std::vector<Entry>& entries);
  void merge_long_row(const PlainFile& raw, std::size_t bucket, std::vector<Entry>& entries);
  void note_row(std::size_t position, std::span<const Entry> row);
  void index_rows();
  std::int64_t start_of(std::size_t position) const;

  static constexpr std::uint32_t kLoop = 1U << 31;  ///< in length_: the vertex is its neighbour
  const OwnerOrder& order_;
  std::int64_t entries_ = 0, added_ = 0;
  bool compared_ = false;  ///< whether the sums below are needed
  /// sums of hashes of (v, u), and of (u, v)
  std::atomic<std::uint64_t> forward_{0}, backward_{0};
  std::vector<std::uint32_t> length_;       ///< length of the row at each position
  std::vector<std::int64_t> start_;         ///< entries before every 64th row
  std::vector<std::size_t> bucket_;         ///< first position of each; then the total
  std::vector<std::int64_t> bucket_start_;  ///< entries before each, including duplicates
  PlainFile file_;
  std::vector<Entry> window_;  ///< entries of the file, from window_start_ on
  std::int64_t window_start_ = 0;
  std::size_t next_position_ = 0;  ///< after the last requested row, and where it starts
  std::int64_t next_start_ = 0;
};

using SortedRows = RowsSortedOnDisk<Vertex>;
using SortedTypedRows = RowsSortedOnDisk<TypedNeighbour>;

}  // namespace orrery
