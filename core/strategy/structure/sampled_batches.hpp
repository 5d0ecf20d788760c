// Mini-batches: the seeds of every step on every rank, the neighbours that are drawn for them, and
// the owners of the features.
#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/cache_line.hpp"
#include "core/graph/edges/later_numbers.hpp"
#include "core/model/adjacency.hpp"
#include "core/sample/cache/row_cache.hpp"
#include "core/sample/links/link_batches.hpp"
#include "core/sample/neighbour_sampler.hpp"
#include "core/sample/seeds.hpp"
#include "core/sample/stacked_relations.hpp"
#include "core/sample/subgraph_sampler.hpp"
#include "core/strategy/config/stages_ahead.hpp"
#include "core/strategy/structure/once_per_rank.hpp"
#include "core/strategy/structure/problem.hpp"
#include "core/strategy/structure/recent_draws.hpp"

namespace orrery {

/// Which neighbours the vertices of a batch aggregate; `weighted` draws them by the weights of
/// their edges. Batches of `cluster` and of GraphSAINT are not made of seeds and drawn neighbours.
/// They are vertices with all edges among them: a few parts of the graph, or what a SaintRule draws.
enum class BatchSampler : std::uint8_t {
  neighbour,
  labor,
  weighted,
  all,
  cluster,
  saint_node,
  saint_edge,
  saint_walk
};
constexpr bool is_saint(BatchSampler sampler) { return sampler >= BatchSampler::saint_node; }
constexpr bool draws_seeds(BatchSampler sampler) { return sampler < BatchSampler::cluster; }

/// Which rows of other ranks a rank keeps: some for the whole run,
///   degree      of the vertices of most neighbours
///   presampled  those that were needed most often in an epoch that is drawn beforehand
///   vip         those that are most likely to be in a batch (inclusion_chances)
/// or those that were needed last,
///   lru, clock  see RowCache
enum class CachePolicy : std::uint8_t { degree, presampled, vip, lru, clock };
constexpr bool keeps_recent(CachePolicy policy) { return policy >= CachePolicy::lru; }
inline const std::initializer_list<std::pair<std::string_view, CachePolicy>> kCachePolicies{
    {"degree", CachePolicy::degree},
    {"presampled", CachePolicy::presampled},
    {"vip", CachePolicy::vip},
    {"lru", CachePolicy::lru},
    {"clock", CachePolicy::clock}};
struct CacheSettings {
  CachePolicy policy = CachePolicy::degree;
  std::int64_t bytes = 0;  ///< bytes of rows on each rank; 0: none are kept
};

/// Number of batches that are drawn while a step computes. One would be enough if all took the same
/// time.
constexpr int kBatchesAhead = 2;

/// Where the sizes of batches come from: from drawing them, from bounds that no batch exceeds, or from those
/// that one in a billion exceeds (SampledBatches::likely_bounds()).
enum class BatchSizesFrom : std::uint8_t { draws, bounds, likely };

/// Where the vertices at drawn edges get their numbers in a batch: where it is drawn, or on the device
/// of the rank, which makes the transposed blocks there as well.
enum class RelabelOn : std::uint8_t { host, device };

/// Settings of mini_batch (StrategyConfig::own).
struct MiniBatchSettings {
  /// Seeds of a step: on each rank, or of all together (SeedsFrom); for GraphSAINT the draws of a
  /// subgraph. 0: as many as there are.
  std::int64_t batch = 1000;
  SeedsFrom seeds = SeedsFrom::own;
  BatchSampler sampler = BatchSampler::neighbour;
  /// For each layer, the first at the seeds: kAllNeighbours or >= 1. Empty for BatchSampler::all.
  std::vector<int> fanouts{};
  bool fanouts_by_relation = false;  ///< of a typed graph: a fanout is for each relation,
  std::map<std::string, std::vector<int>> fanouts_of{};  ///< of these relations one of their own
  bool replace = false;  ///< neighbour: a neighbour may be drawn several times
  /// Every step draws other neighbours; else all steps of an epoch draw the same.
  bool resample_steps = true;
  int clusters = 1;     ///< cluster: parts that METIS cuts the graph into,
  int together = 1;     ///< and how many of them form a batch
  int walk_length = 2;  ///< saint_walk: steps from a root
  int coverage = 50;    ///< of normalisation_of()
  CacheSettings cache{};
  StagesAhead ahead{kBatchesAhead};
  /// The ranks of a server draw and compute one batch of all their seeds together.
  bool cooperative = false;
  RelabelOn relabel = RelabelOn::host;
  /// bounds: every batch is counted only (SampledBatches::largest()).
  BatchSizesFrom sizes = BatchSizesFrom::draws;
  int drawn_steps = 0;  ///< of a simulation, see ResampledSteps; 0: all
};

/// Whether the gradient of the first layer's weights needs Aᵀ in blocks. Only our own layers are
/// known not to need it if they aggregate first.
bool first_layer_needs_adjoint(const ModelConfig& model, const DataFacts& facts);

/// The settings of a strategy, or defaults if it has none of its own.
MiniBatchSettings mini_batch_of(const StrategyConfig& config);

/// Rows of a table whose rows lie with the ranks that own them.
///
/// Placement each row on the rank that owns it; the numbers on the rank that requests them
struct OwnedRows {
  std::shared_ptr<const std::vector<Vertex>>
      numbers;  ///< number at its owner of each row, by owner
  std::shared_ptr<const std::vector<std::int64_t>> rows_per_owner;
  std::int64_t count() const { return static_cast<std::int64_t>(numbers->size()); }
};

/// The owner of each vertex's row, and its number there. If a vertex of the data set represents
/// several (dataset.magnify), copy c of v is vertex v · copies + c, and its owner is v's.
struct RowOwners {
  int ranks = 0;
  std::vector<std::int32_t> owner;  ///< [|V|], owner of a vertex of the data set
  std::vector<Vertex> number;       ///< [|V|], row of its first copy
  int copies = 1;
  /// The vertex of the data set.
  std::size_t in_data(Vertex v) const { return at(v / copies); }
  std::int32_t owner_of(Vertex v) const { return owner[in_data(v)]; }
  Vertex number_of(Vertex v) const { return number[in_data(v)] + v % copies; }
  /// Asks for both before they are needed: each is a line that no cache may hold.
  void ask_for(Vertex v) const {
    prefetch(&owner[in_data(v)]);
    prefetch(&number[in_data(v)]);
  }
};

/// Rows in the ascending order of their vertices, with the rank that has the part.
RowOwners row_owners(const Partition& partition, int copies = 1);

/// The rows of a batch: some are kept, the others must be pulled.
///
/// Placement kept and own rows: on this rank; the others: with their owners
struct WantedRows {
  OwnedRows pulled;
  /// The place of each wanted row among `room` rows: kept rows first and then the pulled ones,
  /// unless these have places of their own.
  std::shared_ptr<const std::vector<Vertex>> places;
  std::shared_ptr<const std::vector<Vertex>> pulled_into;  ///< null: one after the other
  std::int64_t room = 0;
  std::int64_t foreign = 0, kept = 0;  ///< rows of other ranks, and the kept ones among them
};

/// A rank's structure in a step. Level l (0 = the features, L = the seeds) has the first rows[l]
/// of the vertices.
///
/// Placement all rows of the batch on one rank
struct SampledBatch {
  /// Rows of A with entries only for drawn neighbours, scaled so that a row's sum is right in the
  /// mean; with weights of edges, so that the drawn edges weigh as much as all. If all neighbours
  /// are drawn: the rows of A themselves. Neighbours that were drawn by weight count alike.
  ///
  /// Shapes    layer l + 1: forward [rows[l + 1], rows[l]]; with the rows of StackedRelations for
  ///           these vertices, and weights of edges or no values, if the model works by relation
  struct Layer {
    SparseMatrix forward;
    std::optional<SparseMatrix> adjoint;  ///< the transpose; empty if no gradient passes through it
  };
  /// Global numbers, distinct; the seeds come first. Null if a batch is only counted.
  std::shared_ptr<const std::vector<Vertex>> vertices;
  /// For each, the vertex of the data set that it represents; null: itself (without
  /// dataset.magnify).
  std::shared_ptr<const std::vector<Vertex>> data_rows;
  std::vector<std::int64_t> rows;
  std::vector<Layer> layers;
  bool alike = false;  ///< all layers have the same matrix
  /// Set if columns of forward blocks are vertices until the device has relabelled them. It makes the
  /// adjoint ones then, which are only counted here.
  std::shared_ptr<const LaterNumbers> later_numbers{};
  bool relabelled_later() const { return later_numbers != nullptr; }
  /// For the training vertices of the last level, in their order; null: all count equally.
  std::shared_ptr<const std::vector<float>> target_weights;
  std::shared_ptr<const PairRows> pairs;  ///< that are scored, where links are learned
  WantedRows features;
  std::int64_t edges = 0;    ///< that were drawn
  std::int64_t scanned = 0;  ///< MessageFlow::scanned
};

/// The batches of all ranks of a problem, each a function of its rank, epoch and step. Every
/// process has the edges of the whole graph; features lie with the owners of their vertices. All
/// calls may come from several threads at once.
class SampledBatches {
 public:
  /// Errors    ConfigError: fanouts that are none, more clusters together than there are, draws of
  ///           GraphSAINT that are more than the graph or that never meet a training vertex,
  ///           dataset.magnify with a cache, without seeds, or of more than 2^31 vertices, draws by
  ///           weights that edges do not have, weights of edges with GraphSAINT, links with
  ///           what goes with vertices alone
  explicit SampledBatches(const Problem& problem);

  /// Draws beforehand what GraphSAINT's batches are normalised by, or else the first batch does. Those that
  /// are only counted need none of it.
  void normalise() const {
    if (saint_) normalisation();
  }

  /// Steps of an epoch, the same on all ranks.
  int steps() const;
  /// What all ranks take in a step, the same in all epochs: so many seeds, links or parts of the graph.
  /// Steps that take as many differ by chance alone. Of GraphSAINT all take alike.
  std::int64_t taken(int step) const;
  /// The seeds of a step (MiniBatchSettings::batch) with which an epoch is one step: more change
  /// nothing. 0 if batches have none (cluster).
  std::int64_t most_batch() const;
  /// Bytes of a row of the features as they are stored and pulled.
  std::int64_t row_bytes() const { return row_bytes_; }
  /// The number of vertices on which a step trains, over all ranks. For GraphSAINT the expected sum
  /// of their weights, so that an epoch has each training vertex once.
  double trained_on(int epoch, int step) const;
  /// The same for one rank.
  SampledBatch batch(int rank, int epoch, int step) const;
  /// The batch of all seeds of a server's ranks. It stores no features, and each layer has an
  /// adjoint. The ranks of a process share it.
  ///
  /// Requires  cooperative()
  std::shared_ptr<const SampledBatch> of_server(int server, int epoch, int step) const;
  bool cooperative() const { return settings_.cooperative; }
  /// The links whose ends are the seeds, with pairs that are no links; null if seeds are training
  /// vertices.
  const LinkBatches* links() const { return links_ ? &*links_ : nullptr; }
  int ranks_per_server() const { return ranks_per_server_; }
  /// Batches of a rank that other ranks of its process may ask for, which are kept: two are drawn
  /// ahead of the present step, and ranks differ by at most one step.
  static constexpr std::size_t kSharedDraws = 4;
  /// Which rank of its server computes a vertex of a cooperative batch: its owner, or the rank with
  /// the same place as an owner on another server.
  int computed_by(Vertex v) const { return owners_.owner[at(v)] % ranks_per_server_; }
  /// Where the feature rows of these vertices come from.
  WantedRows wanted(int rank, const std::vector<Vertex>& vertices) const;
  /// The rows of a rank's batch, or of its share of one, by owner, and the work of drawing it. The
  /// ranks of a process share the last requested ones.
  ///
  /// Requires  no cache
  struct Asked {
    OwnedRows rows;
    std::int64_t edges = 0;
  };
  Asked asked(int rank, int epoch, int step) const;
  /// The same for a given batch.
  void share_asked(int rank, int epoch, int step, const SampledBatch& batch) const;
  const std::optional<LearnedFeatures>& learned_features() const { return learned_features_; }
  /// Whether the features of each own vertex of a rank are learned; null: all are.
  const std::vector<bool>* learned(int rank) const {
    return learned_.empty() ? nullptr : &learned_[at(rank)];
  }
  /// Training vertices that are in no batch: GraphSAINT draws none without edges.
  std::int64_t never_drawn() const { return never_drawn_; }
  /// The rows of other ranks that a rank keeps for the whole run.
  OwnedRows kept(int rank) const { return rows_of(kept_of(rank).vertices); }
  /// An empty cache of recently needed rows of a rank; nothing if it has none. With it, all
  /// features of a batch() must be pulled, except those in the cache.
  std::optional<RowCache> recent(int rank) const;
  /// The vertices of other ranks in a batch, in the order of requests to a cache.
  std::vector<Vertex> foreign(int rank, int epoch, int step) const;
  /// The vertices of other ranks that a policy would keep for the whole run, best first; vertices
  /// without value are left out.
  std::vector<Vertex> ranking(int rank, CachePolicy policy) const;
  /// Whether batches are made of seeds and of neighbours that are equally likely, which
  /// CachePolicy::vip requires.
  bool knows_chances() const {
    return !has_subgraphs() && settings_.sampler != BatchSampler::weighted;
  }
  /// Null if the model does not work by relation.
  const StackedRelations* relations() const { return relations_ ? &*relations_ : nullptr; }
  const RowOwners& owners() const { return owners_; }
  /// Bounds for any batch: vertices of each level, entries of each layer's rows.
  struct Bounds {
    std::vector<std::int64_t> vertices, edges;
  };
  Bounds bounds() const;
  /// Bounds that a batch exceeds with a probability of at most kExceeding. Those of any batch where seeds
  /// and neighbours are not drawn independently of each other: links, relations, LABOR, weights,
  /// replacement, subgraphs, cooperative batches, dataset.magnify.
  ///
  /// Cost      a pass over the edges of the graph for each pair of layers
  Bounds likely_bounds() const;
  static constexpr double kExceeding = 1e-9;
  /// bounds() for the share that a rank has of a batch of its server, by the place of the rank on its
  /// server. Each share is at its bound by itself: all together are more than a batch can have.
  ///
  /// Requires  cooperative()
  /// Cost      a pass over the vertices of the graph
  std::vector<Bounds> share_bounds() const;
  /// A batch of the sizes of bounds(), or of likely_bounds() if the settings say so, counted only; all of its features are pulled, from their owners
  /// in the shares in which these own vertices. Pairs of links are as many as a step may have, and all
  /// ends are the first vertex.
  SampledBatch largest() const;
  /// The features of a batch with so many vertices, counted only: all are pulled, from each owner its
  /// share of all vertices.
  WantedRows counted_rows(std::int64_t vertices) const;
  /// Bounds for a layer of any batch: its rows of each type, and the edges of each relation. Each is at
  /// its bound by itself, so all together are more than a batch can have.
  ///
  /// Requires  relations()
  struct RelationBounds {
    std::vector<std::int64_t> rows, edges;
  };
  RelationBounds relation_bounds(int layer) const;
  /// Bounds of the rows of each type in a level.
  std::vector<std::int64_t> type_bounds(int level) const;
  /// The vertices of the data set whose features a rank holds, in ascending order.
  std::shared_ptr<const std::vector<Vertex>> owned(int rank) const { return owned_[at(rank)]; }

 private:
  /// Entries of all rows if each has at most `fanout` of its own.
  std::int64_t entries_within(int fanout) const;
  using Scratch = NeighbourSampler::Scratch;
  /// The rows of others that a rank keeps.
  struct Kept {
    std::vector<Vertex> vertices;  ///< by owner
    std::vector<Vertex>
        place;  ///< place of each vertex of the graph among them, else −1; empty: none
  };
  void make_saint();
  /// Requires  saint_
  const SaintNormalisation& normalisation() const;
  Scratch take_scratch() const;
  bool has_subgraphs() const { return cluster_batches_ || saint_; }
  /// Whether a drawn edge counts by its weight.
  bool counts_weights() const {
    return !entry_weights_.empty() && settings_.sampler != BatchSampler::weighted;
  }
  /// The entries of the graph that a batch of links must not take, ascending.
  ExcludedEntries excluded(int rank, int epoch, int step) const;
  MessageFlow draw(int rank, int epoch, int step) const;
  /// `excluded`: entries of the graph that are not there for this batch.
  MessageFlow draw_for(std::span<const Vertex> seeds, int epoch, int step,
                       const ExcludedEntries& excluded = {}) const;
  SampledBatch made_of(MessageFlow flow, const ExcludedEntries& excluded = {}) const;
  std::vector<Vertex> subgraph(int rank, int epoch, int step) const;
  MessageFlow induced(std::vector<Vertex> vertices) const;
  /// The lengths of the rows of A of these vertices, as if the excluded entries were not in the graph.
  std::vector<double> lengths_without(std::span<const Vertex> vertices,
                                      const ExcludedEntries& excluded) const;
  double length_without(Vertex v, const ExcludedEntries& excluded,
                        std::vector<EdgeIndex>& gone) const;
  bool has_adjoint(int layer) const {
    return needs_adjoints_ && (layer > 1 || has_subgraphs() || first_adjoint_);
  }
  bool relabels_later() const { return settings_.relabel == RelabelOn::device; }
  SampledBatch::Layer cut(MessageFlow& flow, int layer, const ExcludedEntries& excluded) const;
  std::shared_ptr<const std::vector<float>> target_weights(
      const std::vector<Vertex>& vertices) const;
  OwnedRows rows_of(const std::vector<Vertex>& vertices) const;
  const Kept& kept_of(int rank) const;
  int number_of(int epoch, int step) const { return epoch * steps() + step; }
  std::vector<double> warmth(int rank, CachePolicy policy) const;

  MiniBatchSettings settings_;
  std::optional<LearnedFeatures> learned_features_;
  int ranks_, ranks_per_server_;
  std::int64_t row_bytes_;  ///< of the features of a vertex
  std::uint64_t seed_;
  Weighting weighting_;
  std::vector<float> loop_weights_;   ///< of self-loops in A; empty: each weighs 1
  std::vector<double> lengths_;       ///< of the rows of A; with weights of edges the sums of these
  std::shared_ptr<const Csr> graph_;  ///< without self-loops
  std::optional<StackedRelations> relations_;  ///< if the model works by relation
  /// Of the entries of graph_, or of the relations' rows; empty: edges have none.
  std::vector<float> entry_weights_;
  bool needs_adjoints_;  ///< edges that are weighed have their own (EdgeStructure)
  bool first_adjoint_;   ///< whether a gradient passes through A in layer 1
  RowOwners owners_;
  std::vector<std::shared_ptr<const std::vector<Vertex>>> owned_;
  std::vector<std::vector<bool>> learned_;  ///< of each rank's own vertices; empty: all
  std::optional<LinkBatches> links_;
  Seeds seeds_;            ///< none of links
  std::int64_t training_;  ///< vertices of the graph, of which
  std::int64_t never_drawn_ = 0;
  std::int64_t most_seeds_;  ///< seeds of a rank in a step
  NeighbourSampler sampler_;
  mutable std::mutex mutex_;
  mutable std::vector<Scratch> free_;  ///< memory for sampling that no call uses now
  std::shared_ptr<const Dataset> data_;
  Partition clusters_;  ///< of the sampler cluster
  std::optional<ClusterBatches> cluster_batches_;
  std::optional<SaintSampler> saint_;
  OncePerRank<SaintNormalisation> normalisation_{1};  ///< of saint_
  int ranks_per_list_;  ///< number of ranks that take their seeds from one list
  OncePerRank<Kept> kept_;
  RecentDraws<Asked> asked_;
  RecentDraws<std::shared_ptr<const SampledBatch>> of_servers_;
};

}  // namespace orrery
