// Edges for strategies in which blocks of rows pass by: a rank has all edges of its rows, but only
// one block of source rows at a time.
#pragma once

#include <array>
#include <vector>

#include "core/model/products.hpp"
#include "core/runtime/buffer.hpp"
#include "core/strategy/edges/edge_structure.hpp"

namespace orrery {

/// The edges of a rank, prepared on the host. Sources are the rows of all blocks, one block after
/// the other. If the graph is only counted, all of this is counts.
///
/// Placement the edges into rows of one rank, in host memory
struct StagedEdgeStructure {
  /// The edges from one block. Entries keep their numbers in the whole pattern.
  struct Stage {
    Pattern pattern;          ///< [rows, rows of the block]
    Pattern transposed;       ///< [rows of the block, rows]
    IndexList entries;        ///< by entry of `pattern`
    IndexList by_transposed;  ///< by entry of `transposed`
  };
  Pattern pattern;    ///< [rows, sources]
  Pattern by_source;  ///< [sources, entries]
  IndexList numbers;  ///< by entry of `pattern`; empty if no edges are dropped
  std::vector<Stage> stages;

  std::int64_t entries() const;
  std::int64_t bytes() const;  ///< bytes in host memory
};

/// Shapes    blocks: the rank's rows of A, by block of columns; those that it multiplies, [first,
///           last), become stages
/// Errors    as make_edge_structure()
StagedEdgeStructure make_staged_edges(const std::vector<SparseMatrix>& blocks, int first, int last,
                                      const std::optional<EndVertices>& ends);

/// Which ranks multiply which blocks.
struct StagedLayout {
  Group blocks;         ///< the holders of all blocks, in order; this rank is one of them
  Group copies;         ///< all holders of this rank's block
  int first_stage = 0;  ///< the block of the first stage
  std::vector<std::int64_t> rows;  ///< of all blocks
  bool overlap = true;             ///< whether blocks travel while products run
};

/// Products with weights of edges, in stages. The holder of each block broadcasts it. Ranks with
/// copies of a block share its stages and add up.
///
/// Placement own, x, y: the rows of a block, on each of its holders; all: on every rank; weights:
///           on the rank that has the edges' stage
/// Received  of width f, by P holders of n rows: forward as the product with a matrix; its adjoint
///           takes the rows once more, and their gradients to their holders
class StagedEdges {
 public:
  /// Loads them on the copy lane; the compute lane waits for it. most_heads: the largest number of
  /// any layer.
  StagedEdges(Runtime& rt, const StagedEdgeStructure& structure, StagedLayout layout,
              std::int64_t most_heads);

  /// Makes room for products of rows up to this width.
  void prepare(std::int64_t widest);
  /// Without `transposed` and `order`, which are for sources that are all local.
  const Edges& edges() const { return edges_; }
  std::int64_t sources() const;

  /// all ← own of every holder, and the adjoint: own ← Σ over holders of this rank's rows of all.
  ///
  /// Shapes    own [rows of this rank's block, h] · all [sources, h], contiguous
  void gather(const Tensor& own, const Tensor& all) const;
  void sum_up(const Tensor& all, const Tensor& own) const;

  /// Like Products::weigh_sources() and its adjoint.
  void multiply(const Tensor& weights, const Tensor& x, const Tensor& y);
  void multiply_adjoint(const Tensor& weights, const Tensor& x, const Tensor& dy,
                        const Tensor& dweights, const Tensor& dx);

 private:
  struct Stage {
    SparseBuffer pattern, transposed;
    Buffer entries, by_transposed;
  };
  std::int64_t rows_of(std::size_t stage) const;
  bool own(std::size_t stage) const;
  bool has_own_stage() const;
  /// Where the rows of a stage's block are after they have arrived.
  Tensor rows_in(std::size_t stage, const Tensor& x) const;
  /// Sends the block of a stage, once `free` has happened.
  Event bring(std::size_t stage, const Tensor& x, const Event& free);
  void sum_copies(const Tensor& x);
  Tensor values(std::size_t stage, std::int64_t heads) const;

  Runtime& rt_;
  StagedLayout layout_;
  SparseBuffer pattern_, by_source_;
  Buffer numbers_, values_;
  Edges edges_;
  std::vector<Stage> stages_;
  std::array<Buffer, 2> received_, partial_;
  std::shared_ptr<const std::vector<std::int64_t>> rows_;  ///< of all blocks
};

}  // namespace orrery
