// The rows of a graph that a process has: all of them, or those of one part. The ranks of an
// inference build the rows of their parts together from edges that no rank holds as a whole.
//
// Source    Deal section 3.3: each machine has all in-neighbours of a range of vertices
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "core/graph/csr.hpp"
#include "core/graph/edge_list.hpp"
#include "core/graph/files/npy_window.hpp"
#include "core/inference/input/edge_share.hpp"
#include "core/inference/layout/tile_layout.hpp"
#include "core/runtime/execute/communicator.hpp"

namespace orrery {

struct HeldRows {
  std::int64_t vertices = 0;
  Share rows;                      ///< the rows that are here
  std::shared_ptr<const Csr> csr;  ///< [rows.count, vertices], without self-loops
  std::vector<Vertex> degrees;     ///< of all vertices; empty if all rows are here
  bool symmetric = false;          ///< the whole graph: every edge is there in both directions

  std::span<const Vertex> row(std::int64_t v) const { return csr->row(v - rows.first); }
  /// In-neighbours of any vertex.
  std::int64_t degree(std::int64_t v) const {
    return degrees.empty() ? csr->degree(v) : degrees[static_cast<std::size_t>(v)];
  }
};

/// All rows of a graph in memory.
HeldRows all_rows(const Csr& graph, bool symmetric);

/// A list of edges, read in pieces.
class EdgeSource {
 public:
  virtual ~EdgeSource() = default;
  virtual std::int64_t size() const = 0;
  /// into ← edges [first, first + count).
  ///
  /// Errors    DataError: a number that is no vertex, with its place
  virtual void read(std::int64_t first, std::int64_t count, std::vector<Edge>& into) = 0;
};

/// The edges.npy of a data set folder.
///
/// Shapes    int32 [2, E]: sources, then destinations
class NpyEdges final : public EdgeSource {
 public:
  /// Errors    DataError: not such an array
  NpyEdges(const std::filesystem::path& file, std::int64_t vertices);
  std::int64_t size() const override { return size_; }
  void read(std::int64_t first, std::int64_t count, std::vector<Edge>& into) override;

 private:
  NpyWindow sources_, destinations_;
  std::int64_t vertices_, size_ = 0;
};

/// The cost of building rows on one rank.
struct RowsCost {
  double read_seconds = 0;      ///< in files
  double build_seconds = 0;     ///< sending, sorting and exchanging counts
  std::int64_t peak_bytes = 0;  ///< the most that its arrays had at once
};

/// The rows of this rank's part. All ranks of the layout call it. Each reads its share of the
/// edges, sends them to the part of their destination, and sorts what it gets, so the result
/// depends neither on the number of ranks nor on the order of the edges. Duplicates are merged,
/// self-loops dropped; `mirrored`: the reverse of every edge belongs to the graph as well.
/// `communicator`: may be null if there is one rank.
///
/// Cost      12 bytes for each edge of the part (its rows keep 4), at most 16 where a block of rows has
///           most of them, about 50 for each of `chunk` edges where they fall evenly on the parts,
///           8 MiB for each thread, and 4 for each vertex of the graph; each of the M ranks of a part
///           receives all of its edges
/// Errors    those of `edges`; ProgramError and Aborted of the communicator
HeldRows build_rows(EdgeShare& edges, bool mirrored, const TileLayout& layout, int rank,
                    Communicator* communicator, std::int64_t chunk = 1 << 20,
                    RowsCost* cost = nullptr);
/// The same, where each rank reads an equal range of the edges.
HeldRows build_rows(EdgeSource& edges, bool mirrored, const TileLayout& layout, int rank,
                    Communicator& communicator, std::int64_t chunk = 1 << 20,
                    RowsCost* cost = nullptr);

}  // namespace orrery
