// Layer-wise neighbour sampling: the message-flow graph of a batch of seeds.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/graph/csr.hpp"
#include "core/sample/csr_view.hpp"
#include "core/sample/draw_key.hpp"
#include "core/sample/excluded_entries.hpp"

namespace orrery {

class AliasRows;
struct StackedRelations;

/// Which in-neighbours a vertex aggregates in a batch.
enum class NeighbourRule : std::uint8_t {
  uniform,      ///< `fanout` of them, all sets with equal probability
  replacement,  ///< `fanout` draws, each among all of them: a neighbour may come several times
  weighted,     ///< `fanout` of them, drawn one after the other by weight among the remaining ones
  labor,        ///< the `fanout` with the lowest variates, which all rows of a layer share
};

/// All in-neighbours, of any number.
constexpr int kAllNeighbours = -1;

struct NeighbourSampling {
  std::vector<int> fanouts;  ///< for each layer, the first at the seeds; kAllNeighbours or >= 1
  NeighbourRule rule = NeighbourRule::uniform;
  /// Number of copies of the graph, without edges between them: vertex v of copy c is v · copies +
  /// c. The variates of `labor` are those of v in all of them.
  int copies = 1;
  /// Of a graph with relations: the fanouts of each, instead of `fanouts` for all relations into a
  /// vertex together; 0: none of its edges are taken. Empty: all together.
  std::vector<std::vector<int>> by_relation{};
  /// Columns of blocks stay vertices: whoever needs their numbers finds them in the list.
  bool keeps_vertices = false;
};

/// The vertices and edges with which a batch computes. Level l (0 = the model's input, L = the
/// seeds) has the first rows[l] of the vertices. Vertices are numbered in the order of their first
/// occurrence, so a vertex keeps its row from level to level, and the seeds come first.
///
/// Shapes    vertices [rows[0]] global, distinct · rows [L + 1], not ascending · blocks [L], of
///           layer l + 1: [rows[l + 1], rows[l]], entry (i, j) where row i aggregates row j of the
///           level below. Columns of a row are in the order of the draws, and with replacement the
///           same one may come again. With relations a block has a row for each row of the
///           level's vertices in StackedRelations · edges [L][nnz of the block], only where asked for: the
///           position in the graph's columns of each entry
struct MessageFlow {
  std::vector<Vertex> vertices;
  std::vector<std::int64_t> rows;
  std::vector<Csr> blocks;
  std::vector<std::vector<EdgeIndex>> edges;
  /// Entries of the graph that were looked at one by one, to find those of among(); 0: edges were drawn.
  std::int64_t scanned = 0;

  int layers() const { return static_cast<int>(blocks.size()); }
  std::int64_t sampled_edges() const;
};

/// Draws the message-flow graphs of batches of one graph, or of copies of it. It is not changed by use: any number of
/// threads may sample at once, each with its own scratch memory.
class NeighbourSampler {
 public:
  /// `weights` [nnz]: weights of the graph's entries, only for the rule `weighted`, finite and >=
  /// 0; an entry of weight 0 is never drawn.
  ///
  /// Requires  a graph that stays in place, with fewer than 2^32 entries in any row and any number in
  ///           all; it and its copies have fewer than 2^31 vertices
  /// Cost      for weights one pass and 8 bytes per entry, else nothing
  /// Errors    ConfigError: a fanout that is neither kAllNeighbours nor >= 1, no fanouts, weights
  ///           without the rule or the rule without weights
  NeighbourSampler(const CsrView& graph, NeighbourSampling sampling,
                   std::span<const float> weights = {});
  /// Draws among edges that know their relations; an edge of two relations is two edges. Columns of a
  /// row are distinct, but not those of a vertex.
  ///
  /// Requires  relations that stay in place, with as many copies as the sampling has; rules other than
  ///           weighted
  /// Errors    ConfigError: fanouts as above
  NeighbourSampler(const StackedRelations& relations, NeighbourSampling sampling);
  ~NeighbourSampler();

  /// Memory for one thread, kept from batch to batch.
  class Scratch {
   public:
    Scratch(Scratch&&) noexcept;
    ~Scratch();

   private:
    friend class NeighbourSampler;
    struct Content;
    explicit Scratch(Content content);
    std::unique_ptr<Content> content_;
  };
  /// For batches of at most this many seeds.
  Scratch scratch(std::int64_t most_seeds) const;

  /// The message-flow graph of the seeds. A row's neighbours depend only on (key, layer, vertex).
  ///
  /// Shapes    seeds: distinct, in the order that rows of the last level get · excluded:
  ///           entries that are not there for this sample. A row draws from the rest as if it were
  ///           all it had; the rule weighted does not allow this
  /// Cost      about two cache lines for each sampled edge; weighted and labor also look at all
  ///           in-neighbours of some or all rows
  /// Source    Hamilton et al., GraphSAGE (2017); Floyd's sampling (Bentley, CACM 1987) for
  ///           uniform draws; Balin and Çatalyürek, LABOR (2023), the form with exactly `fanout`
  ///           neighbours (sequential Poisson sampling)
  MessageFlow sample(std::span<const Vertex> seeds, const DrawKey& key, Scratch& scratch,
                     bool with_edges = false, const ExcludedEntries& excluded = {}) const;
  /// All edges among these vertices, as one block for all layers: every level has them all, in this order.
  ///
  /// Shapes    vertices: distinct; blocks and edges have one entry
  /// Requires  scratch for any number of seeds; copies = 1
  /// Cost      one pass over all in-neighbours of the vertices
  MessageFlow among(std::vector<Vertex> vertices, Scratch& scratch) const;

  const NeighbourSampling& sampling() const { return sampling_; }
  /// The most edges that a vertex takes; `hop`: 0 at the seeds.
  std::int64_t most_edges(std::size_t hop) const;
  /// Largest number of vertices of a batch with this many seeds.
  std::int64_t most_vertices(std::int64_t seeds) const;
  /// Bytes of the scratch memory of one thread.
  std::int64_t scratch_bytes(std::int64_t most_seeds) const;

 private:
  std::int64_t vertices() const { return graph_.cols * sampling_.copies; }

  CsrView graph_;
  const StackedRelations* relations_ = nullptr;  ///< of which graph_ has the rows
  NeighbourSampling sampling_;
  std::unique_ptr<const AliasRows> alias_;  ///< for weighted rows
};

}  // namespace orrery
