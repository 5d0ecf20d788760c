// Mini-batches: the seeds of every step on every rank, the neighbours that are drawn for them, and
// whose features these need.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core/model/adjacency.hpp"
#include "core/sample/neighbour_sampler.hpp"
#include "core/sample/seeds.hpp"
#include "core/sample/subgraph_sampler.hpp"
#include "core/strategy/structure/once_per_rank.hpp"
#include "core/strategy/structure/problem.hpp"

namespace orrery {

/// Which neighbours the vertices of a batch aggregate. Of `cluster` a batch is not made of seeds and
/// what they draw, but of a few parts of the graph with all edges among their vertices.
enum class BatchSampler : std::uint8_t { neighbour, labor, all, cluster };

/// Which rows of other ranks a rank keeps for the whole run.
///   degree      of the vertices of most neighbours
///   presampled  those that were needed most often in an epoch that is drawn beforehand
///   vip         those that are most likely to be in a batch (inclusion_chances)
enum class CachePolicy : std::uint8_t { degree, presampled, vip };
struct CacheSettings {
  CachePolicy policy = CachePolicy::degree;
  std::int64_t bytes = 0;  ///< of rows on each rank; 0: none are kept
};

/// Settings of mini_batch (StrategyConfig::own).
struct MiniBatchSettings {
  std::int64_t batch = 1000;  ///< seeds of a step: on each rank, or of all together (SeedsFrom)
  SeedsFrom seeds = SeedsFrom::own;
  BatchSampler sampler = BatchSampler::neighbour;
  /// Of each layer, the first at the seeds; kAllNeighbours or >= 1. None for BatchSampler::all.
  std::vector<int> fanouts{};
  bool replace = false;        ///< neighbour: a neighbour may be drawn several times
  bool resample_steps = true;  ///< every step draws anew; else all steps of an epoch draw alike
  int clusters = 1;            ///< cluster: parts that METIS cuts the graph into,
  int together = 1;            ///< and how many of them are a batch
  CacheSettings cache{};
};

/// The settings of a strategy, which are the defaults where it has none of its own.
MiniBatchSettings mini_batch_of(const StrategyConfig& config);

/// Rows of a table whose rows lie with the ranks that own them.
struct OwnedRows {
  std::shared_ptr<const std::vector<Vertex>> numbers;  ///< at its owner of each row, by owner
  std::shared_ptr<const std::vector<std::int64_t>> rows_per_owner;
  std::int64_t count() const { return static_cast<std::int64_t>(numbers->size()); }
};

/// The rows of a batch: some are kept, the others have to be pulled.
struct WantedRows {
  OwnedRows pulled;
  /// Where each row that is wanted stands: among those that are kept, and after them the pulled.
  std::shared_ptr<const std::vector<Vertex>> places;
  std::int64_t foreign = 0, kept = 0;  ///< rows of other ranks, and how many of them are kept
};

/// What a rank works on in a step. Level l (0 = the features, L = the seeds) has the first rows[l]
/// of the vertices.
struct SampledBatch {
  /// Rows of A in which only the drawn neighbours have entries, scaled so that a row's sum is right
  /// in the mean; all of them: the rows of A themselves.
  ///
  /// Shapes    layer l + 1: forward [rows[l + 1], rows[l]]
  struct Layer {
    SparseMatrix forward;
    std::optional<SparseMatrix> adjoint;  ///< the transpose; none where no gradient passes it
  };
  std::shared_ptr<const std::vector<Vertex>> vertices;  ///< global, distinct; the seeds first
  std::vector<std::int64_t> rows;
  std::vector<Layer> layers;  ///< of one pattern in memory where they are the same
  WantedRows features;
  std::int64_t edges = 0;  ///< that were drawn
};

/// The batches of all ranks of a problem: each a function of its rank, epoch and step. Every process
/// has the edges of the whole graph; features lie with the owners of their vertices. All calls may
/// come from several threads at once.
class SampledBatches {
 public:
  /// Errors    ConfigError: fanouts that are none, more clusters together than there are
  explicit SampledBatches(const Problem& problem);

  /// Steps of an epoch, as many on all ranks.
  int steps() const;
  /// The vertices of all ranks together on which a step trains.
  std::int64_t trained_on(int epoch, int step) const;
  SampledBatch batch(int rank, int epoch, int step) const;
  /// The rows of other ranks that a rank keeps.
  OwnedRows kept(int rank) const { return rows_of(kept_of(rank).vertices); }
  /// What no batch exceeds: vertices of each level, entries of each layer's rows.
  struct Bounds {
    std::vector<std::int64_t> vertices, edges;
  };
  Bounds bounds() const;
  /// The vertices whose features a rank holds, ascending.
  std::shared_ptr<const std::vector<Vertex>> owned(int rank) const { return owned_[at(rank)]; }

 private:
  using Scratch = NeighbourSampler::Scratch;
  /// What a rank keeps of others' rows.
  struct Kept {
    std::vector<Vertex> vertices;  ///< by owner
    std::vector<Vertex> place;  ///< of each vertex of the graph among them, else −1; empty: none
  };
  Scratch take_scratch() const;
  MessageFlow draw(int rank, int epoch, int step) const;
  std::vector<Vertex> cluster_batch(int rank, int epoch, int step) const;
  MessageFlow induced(std::vector<Vertex> vertices) const;
  SampledBatch::Layer cut(Csr drawn, int layer, const std::vector<Vertex>& vertices) const;
  OwnedRows rows_of(const std::vector<Vertex>& vertices) const;
  WantedRows wanted(int rank, const std::vector<Vertex>& vertices) const;
  const Kept& kept_of(int rank) const;
  std::vector<double> warmth(int rank) const;

  MiniBatchSettings settings_;
  int ranks_;
  std::int64_t row_bytes_;  ///< of the features of a vertex
  std::uint64_t seed_;
  Weighting weighting_;
  std::vector<std::int64_t> lengths_;  ///< of the rows of A
  std::shared_ptr<const Csr> graph_;   ///< without self-loops
  bool first_adjoint_;                 ///< whether layer 1 passes a gradient through A
  std::vector<std::int32_t> owner_;
  std::vector<Vertex> number_;  ///< of each vertex at its owner
  std::vector<std::shared_ptr<const std::vector<Vertex>>> owned_;
  Seeds seeds_;
  std::int64_t most_seeds_;  ///< of a rank in a step
  NeighbourSampler sampler_;
  mutable std::mutex mutex_;
  mutable std::vector<Scratch> free_;  ///< memory to sample in that no call uses now
  std::shared_ptr<const Dataset> data_;
  Partition clusters_;  ///< of the sampler cluster
  std::optional<ClusterBatches> cluster_batches_;
  OncePerRank<Kept> kept_;
};

}  // namespace orrery
