// A strategy's answers: placement, products across ranks, steps, synchronisation. Nothing else in
// the project asks these questions.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/graph/dataset.hpp"
#include "core/model/adjacency.hpp"
#include "core/model/config.hpp"
#include "core/model/products.hpp"
#include "core/partition/partition.hpp"
#include "core/strategy/config.hpp"
#include "core/strategy/part_source.hpp"
#include "core/strategy/schedule.hpp"

namespace orrery {

/// Everything an experiment fixes before the first operation: structure and settings, the same on
/// all ranks.
struct Problem {
  std::shared_ptr<const Dataset> data;        ///< in memory as a whole, or
  std::shared_ptr<const PartsFolder> stored;  ///< in parts, which `partition` counts only, or
  std::optional<GraphStatistics> statistics;  ///< not at all; `partition` counts equal blocks of a
                                              ///< random permutation
  ModelConfig model;
  TrainConfig train;
  StrategyConfig strategy;
  Partition partition;  ///< as many parts as parts_for(strategy, ranks)

  DataFacts facts() const {
    if (statistics) return facts_of(*statistics);
    return stored ? stored->facts() : facts_of(*data);
  }
  int ranks() const { return ranks_for(strategy, partition.parts); }
};

/// Where the problem's strategies get the structure of parts from.
std::shared_ptr<const PartSource> part_source(const Problem& problem);

/// One rank of a strategy, on one structure. The default answers are those of whole-graph training.
class Strategy : public Products {
 public:
  /// Where the features, labels and split of the level-0 rows lie.
  virtual PartData data() const = 0;
  /// Placement: the global vertex of each level-0 row. The rows of the last level are this rank's
  /// own vertices.
  virtual IndexList vertices() const = 0;
  /// Placement: ranks, this one among them, whose own vertices are those of the whole graph, each
  /// once; sums over vertices are sums over this group. Default: all ranks.
  virtual Group covering_group() const { return world_group(rt_.size()); }
  /// Whole rows of an activation, where this rank holds some of its columns; else x itself. The
  /// result is this rank's to overwrite, until the next call.
  virtual Tensor whole_rows(const Tensor& x, std::int64_t width);
  /// Synchronise: gradients ← sum over the ranks that hold a share of them; the compute lane has it
  /// when it goes on. Default: one all-reduce over the covering group.
  virtual void synchronise(const Tensor& gradients);
  /// The lane of the sums that end an epoch: one on which nothing is under way then.
  virtual Lane metrics_lane() const { return Lane::comm; }
  /// A forward pass begins: of a step of the epoch (Stage::forward), or of its evaluation, which is
  /// exact. What the structure itself draws or keeps from epoch to epoch changes here.
  virtual void begin(Stage /*stage*/, int /*epoch*/) {}

 protected:
  using Products::Products;
};

/// What servers compute beside their own vertices, summed over servers, layers and the steps of an
/// epoch.
struct Redundancy {
  std::int64_t vertices_owned = 0, vertices_computed = 0;  ///< rows of all levels but the input
  std::int64_t edges_owned = 0, edges_computed = 0;        ///< entries of A that are multiplied
  std::int64_t rows_preloaded = 0;  ///< of the input, of other servers' vertices

  /// Computed per owned one.
  double of_vertices() const {
    return static_cast<double>(vertices_computed) / static_cast<double>(vertices_owned);
  }
  double of_edges() const {
    return static_cast<double>(edges_computed) / static_cast<double>(edges_owned);
  }
};

/// The structure that a strategy needs, shared by the ranks of a process; that of one rank is made
/// when the rank asks for it.
class StrategyPlan {
 public:
  virtual ~StrategyPlan() = default;
  /// The steps of a rank. Default, those of whole-graph training: one a epoch, on structure 0.
  virtual Schedule schedule(int /*rank*/) const { return {}; }
  /// A structure of this rank's schedule, on the device. `draw`: the epoch, of those that are drawn
  /// anew in every epoch. The plan must outlive it.
  virtual std::unique_ptr<Strategy> instantiate(Runtime& rt, int structure = 0,
                                                int draw = 0) const = 0;

  /// Nothing where ranks compute what they own and no more.
  virtual std::optional<Redundancy> redundancy() const { return std::nullopt; }

  /// The lowest rank that does what `rank` does: the same operations on the same sizes, in the same
  /// order and waiting for the same, with the same memory. They differ in their number, in which
  /// stage of a product is their own (there the rows are at hand instead of in a buffer, and what
  /// was there before is added), and in their groups. Default: `rank` itself.
  virtual int representative(int rank) const { return rank; }
  /// The group that `rank` means where its representative's program says `group`.
  virtual Group own_group(const Group& group, int /*rank*/) const { return group; }
};

/// Errors    ConfigError (settings the strategy cannot honour) · NeedsStructure (statistics where
/// the strategy needs the graph)
std::unique_ptr<StrategyPlan> plan_strategy(const Problem& problem);

// One per strategy, in the file of that name.
std::unique_ptr<StrategyPlan> plan_full_graph(const Problem& problem);
std::unique_ptr<StrategyPlan> plan_spmm_1d(const Problem& problem);
std::unique_ptr<StrategyPlan> plan_spmm_15d(const Problem& problem);
std::unique_ptr<StrategyPlan> plan_spmm_2d(const Problem& problem);
std::unique_ptr<StrategyPlan> plan_model_averaging(const Problem& problem);
std::unique_ptr<StrategyPlan> plan_shared_preloading(const Problem& problem);

}  // namespace orrery
