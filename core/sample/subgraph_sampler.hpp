// Batches that are induced subgraphs: their vertices, and the weights that make them right in the
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

/// Clusters drawn together: every part of a partition is in one batch of an epoch. A batch has
/// `together` parts (the last one may have fewer), drawn anew in each epoch; edges between them are
/// kept.
///
/// Source    Chiang et al. 2019, Cluster-GCN, Algorithm 1 (stochastic multiple partitions)
class ClusterBatches {
 public:
  /// Errors    ConfigError: `together` is not in [1, parts]
  ClusterBatches(const Partition& partition, int together, std::uint64_t seed);
  int batches() const;
  /// In ascending order; each vertex of the graph is in one batch of an epoch.
  std::vector<Vertex> vertices(int epoch, int batch) const;

 private:
  std::vector<std::vector<Vertex>> members_;
  int together_;
  std::uint64_t seed_;
};

/// How a subgraph's vertices are drawn.
enum class SaintRule : std::uint8_t {
  node,  ///< vertices, each by its given likelihood
  edge,  ///< edges, by 1/d(u) + 1/d(v), with both ends
  walk   ///< roots with equal probability, and all that walks along in-edges visit from there
};

struct SaintSampling {
  SaintRule rule = SaintRule::walk;
  std::int64_t draws = 1;  ///< vertices, edges or roots of a subgraph; one may come again
  int steps = 2;           ///< edges of a walk
  /// The intended size of a subgraph; it is smaller if draws coincide.
  ///
  /// Source    the authors' code: a walk counts as its steps
  std::int64_t budget() const { return draws * of_a_draw(); }
  /// The draws of a subgraph that should have all vertices of a graph; at least 1.
  std::int64_t most_draws(std::int64_t vertices) const {
    return std::max<std::int64_t>(1, vertices / of_a_draw());
  }
  /// Bounds for any subgraph.
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
  /// `likelihood` [|V|]: for the rule `node`, in proportion; GraphSAINT's are the sums of the
  /// squares of the columns of A.
  ///
  /// Requires  a graph that stays in place
  /// Errors    ConfigError: draws or steps below 1 · Error: another number of likelihoods
  SaintSampler(const Csr& graph, SaintSampling sampling, std::span<const double> likelihood);
  /// Distinct, ascending; a function only of the key.
  std::vector<Vertex> vertices(const DrawKey& key) const;
  /// Whether a subgraph may have each vertex of the graph. A walk may begin anywhere. Rule `edge`
  /// never has a vertex without edges, and likelihoods may be zero.
  std::vector<bool> drawable() const;
  const Csr& graph() const { return graph_; }
  const SaintSampling& sampling() const { return sampling_; }

 private:
  const Csr& graph_;
  SaintSampling sampling_;
  std::vector<double> sums_;  ///< running sums of the weights of vertices, or edges
};

/// Divisors of the entries and losses of a subgraph that make their means those of the whole graph.
///
/// Shapes    entries [nnz of the graph]: α, how often the entry is there when its row's vertex is ·
///           vertices [|V|]: λ, how often the vertex is there. An entry or a vertex that no sample
///           had counts as if it had come once
/// Source    GraphSAINT 3.2: α(u,v) = C(u,v)/C(v), λ(v) = C(v)/N
struct SaintNormalisation {
  std::vector<float> entries, vertices;
};

/// Counts in subgraphs that together have `coverage` times the graph's vertices.
///
/// Cost      the edges of the subgraphs; 8 bytes per entry of the graph
SaintNormalisation normalisation_of(const SaintSampler& sampler, int coverage, std::uint64_t seed);

}  // namespace orrery
