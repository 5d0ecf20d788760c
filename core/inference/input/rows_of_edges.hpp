// Rows of a graph from edges in no order.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "core/graph/csr.hpp"
#include "core/graph/edge_list.hpp"
#include "core/inference/input/dealt_edges.hpp"

namespace orrery {

/// use(source, destination) for all edges that belong to the graph: no self-loops; `mirrored`: the
/// reverses as well.
template <class Use>
void each_edge(std::span<const Edge> edges, bool mirrored, const Use& use) {
  for (const Edge& e : edges) {
    if (e.source == e.destination) continue;
    use(e.source, e.destination);
    if (mirrored) use(e.destination, e.source);
  }
}

/// Edges that come in pieces, until their rows are wanted.
///
/// Each edge is dealt once to a block of rows that fits into a core's cache. There it is sorted digit
/// by digit, so an edge goes through main memory three times at most. Pieces and blocks are divided
/// among the threads of the caller's pool; the rows depend neither on these nor on the pieces.
class RowsOfEdges {
 public:
  /// Shapes    the rows: [rows, columns]
  RowsOfEdges(std::int64_t rows, std::int64_t columns);
  ~RowsOfEdges();
  RowsOfEdges(const RowsOfEdges&) = delete;
  RowsOfEdges& operator=(const RowsOfEdges&) = delete;

  /// Adds pairs.
  ///
  /// Shapes    pairs [edges, 2]: row, column
  /// Requires  0 <= row < rows, 0 <= column < columns
  void add(std::span<const Vertex> pairs);
  /// Adds edges to the rows of their destinations, but for self-loops; `mirrored`: their reverses as
  /// well.
  void add(std::span<const Edge> edges, bool mirrored);

  /// The rows of all edges: columns ascending, each once. Afterwards there are no edges here.
  ///
  /// Cost      of all together: 12 bytes for each edge, 4 more if most are in one block, and at most
  ///           8 MiB for each thread
  Csr take();
  /// What the edges take now, and the most that they and the rows took together.
  std::int64_t bytes() const;
  std::int64_t peak_bytes() const { return peak_bytes_; }

 private:
  class Sorter;
  template <class Deal>
  void deal(std::int64_t count, const Deal& deal_range);
  std::int64_t first_row(std::int64_t block) const { return block << shift_; }
  void hold(std::int64_t more);

  std::int64_t rows_, columns_, blocks_ = 0;
  int shift_ = 0;  ///< a block has 2^shift rows
  int column_bits_ = 0;
  std::mutex mutex_;
  std::vector<std::unique_ptr<DealtEdges>> dealt_;  ///< one for each thread that dealt
  std::vector<DealtEdges*> idle_;
  std::int64_t peak_bytes_ = 0;
};

}  // namespace orrery
