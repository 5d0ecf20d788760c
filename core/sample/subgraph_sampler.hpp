// Batches that are induced subgraphs: which vertices they have, and what makes them right in the
// mean.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/graph/csr.hpp"
#include "core/partition/partition.hpp"
#include "core/sample/draw_key.hpp"

namespace orrery {

/// Clusters drawn together: every part of a partition is in one batch of an epoch, with `together`
/// others that are drawn anew in each epoch, and the edges between them are kept.
///
/// Source    Chiang et al. 2019, Cluster-GCN, Algorithm 1 (stochastic multiple partitions)
class ClusterBatches {
 public:
  /// Errors    ConfigError: `together` is not in [1, parts]
  ClusterBatches(const Partition& partition, int together, std::uint64_t seed);
  int batches() const;
  /// Ascending; each vertex of the graph is in one batch of an epoch.
  std::vector<Vertex> vertices(int epoch, int batch) const;

 private:
  std::vector<std::vector<Vertex>> members_;
  int together_;
  std::uint64_t seed_;
};

/// How a subgraph's vertices are drawn.
enum class SaintRule : std::uint8_t {
  node,  ///< vertices, each by the likelihood that it is given
  edge,  ///< edges, by 1/d(u) + 1/d(v); both their ends
  walk   ///< roots, each alike, and all that walks along in-edges from there visit
};

struct SaintSampling {
  SaintRule rule = SaintRule::walk;
  std::int64_t draws = 1;  ///< vertices, edges or roots of a subgraph; the same may come again
  int steps = 2;           ///< of a walk
  /// The size that a subgraph is meant to have; it has fewer where draws meet.
  ///
  /// Source    the authors' code: a walk counts as its steps
  std::int64_t budget() const { return draws * of_a_draw(); }
  /// The draws of a subgraph that is meant to have all vertices of a graph; no fewer than 1.
  std::int64_t most_draws(std::int64_t vertices) const {
    return std::max<std::int64_t>(1, vertices / of_a_draw());
  }
  /// What no subgraph exceeds.
  std::int64_t most_vertices() const {
    return draws * (of_a_draw() + (rule == SaintRule::walk ? 1 : 0));
  }

 private:
  std::int64_t of_a_draw() const {
    return rule == SaintRule::edge ? 2 : rule == SaintRule::walk ? steps : 1;
  }
};

/// Source    Zeng et al. 2020, GraphSAINT, 3.3
class SaintSampler {
 public:
  /// `likelihood` [|V|]: for the rule `node`, in proportion; GraphSAINT's are the sums of the squares
  /// of the columns of A.
  ///
  /// Requires  the graph stays where it is
  /// Errors    ConfigError: draws or steps below 1 · Error: another number of likelihoods
  SaintSampler(const Csr& graph, SaintSampling sampling, std::span<const double> likelihood);
  /// Distinct, ascending: a function of the key alone.
  std::vector<Vertex> vertices(const DrawKey& key) const;
  /// Whether a subgraph may have each vertex of the graph. A walk may begin anywhere; edges have no
  /// vertex that is the end of none, and likelihoods may be zero.
  std::vector<bool> drawable() const;
  const Csr& graph() const { return graph_; }
  const SaintSampling& sampling() const { return sampling_; }

 private:
  const Csr& graph_;
  SaintSampling sampling_;
  std::vector<double> sums_;  ///< running sums of the weights of vertices, or edges
};

/// What divides the entries and losses of a subgraph, so that their means are those of the whole
/// graph.
///
/// Shapes    entries [nnz of the graph]: α, how often the entry is there when its row's vertex is ·
///           vertices [|V|]: λ, how often the vertex is there. What no sample had counts as if it
///           had come once
/// Source    GraphSAINT 3.2: α(u,v) = C(u,v)/C(v), λ(v) = C(v)/N
struct SaintNormalisation {
  std::vector<float> entries, vertices;
};

/// By counting in as many subgraphs as have `coverage` times the graph's vertices together.
///
/// Cost      the edges of the subgraphs; 8 bytes per entry of the graph
SaintNormalisation normalisation_of(const SaintSampler& sampler, int coverage, std::uint64_t seed);

}  // namespace orrery
