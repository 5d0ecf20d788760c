// The rows of a graph that a process has: all of them, or those of one part, which the ranks of an
// inference build together from edges that none of them holds as a whole.
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
  Share rows;                      ///< those that are here
  std::shared_ptr<const Csr> csr;  ///< [rows.count, vertices], without self-loops
  std::vector<Vertex> degrees;     ///< of all vertices; empty where all rows are here
  bool symmetric = false;          ///< the whole graph: every edge is there in both directions

  std::span<const Vertex> row(std::int64_t v) const { return csr->row(v - rows.first); }
  /// In-neighbours of any vertex.
  std::int64_t degree(std::int64_t v) const {
    return degrees.empty() ? csr->degree(v) : degrees[static_cast<std::size_t>(v)];
  }
};

/// All rows of a graph in memory.
HeldRows all_rows(const Csr& graph, bool symmetric);

/// A list of edges that is read in pieces.
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

/// What building rows took on one rank.
struct RowsCost {
  double read_seconds = 0;      ///< in files
  double build_seconds = 0;     ///< sending, sorting and telling
  std::int64_t peak_bytes = 0;  ///< the most that its arrays had at a time
};

/// The rows of this rank's part. All ranks of the layout call it; each reads its share of the edges,
/// sends them to the part of their destination, and sorts what it gets, so that the result does not
/// depend on the number of ranks or on the order of the edges. Duplicates are merged, self-loops
/// dropped; `mirrored`: the reverse of every edge belongs to the graph as well. `communicator`: may be
/// null where there is one rank.
///
/// Cost      at most 24 bytes for each edge of the part (its rows keep 4), about 50 for each of
///           `chunk` edges where they fall evenly on the parts, and 4 for each vertex of the graph;
///           each of the M ranks of a part receives all of its edges
/// Errors    those of `edges`; ProgramError and Aborted of the communicator
HeldRows build_rows(EdgeShare& edges, bool mirrored, const TileLayout& layout, int rank,
                    Communicator* communicator, std::int64_t chunk = 1 << 20,
                    RowsCost* cost = nullptr);
/// The same, where each rank reads an equal range of the edges.
HeldRows build_rows(EdgeSource& edges, bool mirrored, const TileLayout& layout, int rank,
                    Communicator& communicator, std::int64_t chunk = 1 << 20,
                    RowsCost* cost = nullptr);

}  // namespace orrery
