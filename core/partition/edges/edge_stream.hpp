// Edges that come one after another and can be read again, so that readers need not hold them.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/graph/csr.hpp"
#include "core/graph/edge_list.hpp"

namespace orrery {

/// Passes over the edges of a graph in a fixed order. Partitioners treat edges as undirected. A
/// stream may hold every edge once or in both directions, with duplicates and self-loops.
class EdgeStream {
 public:
  virtual ~EdgeStream() = default;
  /// Number of vertices that exist even if no edge names them; 0: only those that edges name.
  virtual std::int64_t known_vertices() const { return 0; }
  /// Starts a pass.
  virtual void rewind() = 0;
  /// The next edges of the pass, valid until the next call; empty at its end.
  ///
  /// Errors    DataError (file, position) if the edges come from a file
  virtual std::span<const Edge> next() = 0;
};

constexpr std::size_t kStreamBlock = 1 << 16;  ///< edges of one block: the fixed buffer

/// The edges of a graph in memory, row by row: the entry (v, u) comes as {v, u}. For a symmetric
/// graph these are both directions of every edge, sorted as in edges.npy.
///
/// Requires  a graph that outlives the stream
class CsrEdges final : public EdgeStream {
 public:
  explicit CsrEdges(const Csr& graph) : graph_(graph) {}
  std::int64_t known_vertices() const override { return graph_.rows; }
  void rewind() override;
  std::span<const Edge> next() override;

 private:
  const Csr& graph_;
  std::int64_t row_ = 0;
  EdgeIndex entry_ = 0;
  std::vector<Edge> block_;
};

/// How many edges ahead memory is prefetched.
constexpr std::size_t kFetchAhead = 12;

/// One pass in the order of the stream: fetch(edge) some edges ahead, then visit(edge). Self-loops
/// are left out, because no partitioner uses them.
template <class Fetch, class Visit>
void for_each_edge(EdgeStream& stream, const Fetch& fetch, const Visit& visit) {
  stream.rewind();
  for (auto block = stream.next(); !block.empty(); block = stream.next())
    for (std::size_t i = 0; i < block.size(); ++i) {
      if (i + kFetchAhead < block.size()) fetch(block[i + kFetchAhead]);
      if (block[i].source != block[i].destination) visit(block[i]);
    }
}

template <class Visit>
void for_each_edge(EdgeStream& stream, const Visit& visit) {
  for_each_edge(
      stream, [](const Edge&) {}, visit);
}

/// The result of a first pass.
struct StreamCounts {
  std::int64_t edges = 0;             ///< without self-loops
  std::vector<std::uint32_t> degree;  ///< ends of such edges at every vertex
  std::int64_t vertices() const { return static_cast<std::int64_t>(degree.size()); }
};

/// Counts vertices, edges and degrees. If a stream holds both directions of an edge, both count.
///
/// Cost      one pass; 4 bytes per vertex, and twice that while the table grows
StreamCounts count_edges(EdgeStream& stream);

}  // namespace orrery
