// A strategy's answers: placement, products across ranks, steps, synchronisation. Nothing else in
// the project asks these questions.
#pragma once

#include <memory>
#include <vector>

#include "core/graph/dataset.hpp"
#include "core/model/adjacency.hpp"
#include "core/model/config.hpp"
#include "core/model/products.hpp"
#include "core/partition/partition.hpp"
#include "core/strategy/config.hpp"

namespace orrery {

/// Everything an experiment fixes before the first operation: structure and settings, the same on
/// all ranks.
struct Problem {
  std::shared_ptr<const Dataset> data;
  ModelConfig model;
  TrainConfig train;
  StrategyConfig strategy;
  Partition partition;  ///< one part per rank

  int ranks() const { return partition.parts; }
};

/// One rank of a strategy. The default answers are those of whole-graph training.
class Strategy : public Products {
 public:
  /// Placement: the global vertex of each level-0 row. The rows of the last level are this rank's
  /// own vertices: every vertex of the graph is in the last level of exactly one rank, so that sums
  /// over ranks count it once.
  virtual std::shared_ptr<const std::vector<Vertex>> vertices() const = 0;
  /// Steps: how many optimiser steps make an epoch.
  virtual int steps_per_epoch() const { return 1; }
  /// Synchronise: gradients ← sum over ranks; the compute lane has it when it goes on. Default: one
  /// all-reduce over all ranks.
  virtual void synchronise(const Tensor& gradients);

 protected:
  using Products::Products;
};

/// The structure that a strategy needs, computed once and shared by the ranks of a process.
class StrategyPlan {
 public:
  virtual ~StrategyPlan() = default;
  /// This rank's part, with its structure on the device. The plan must outlive it.
  virtual std::unique_ptr<Strategy> instantiate(Runtime& rt) const = 0;
};

/// Errors    ConfigError (settings the strategy cannot honour)
std::unique_ptr<StrategyPlan> plan_strategy(const Problem& problem);

// One per strategy, in the file of that name.
std::unique_ptr<StrategyPlan> plan_full_graph(const Problem& problem);
std::unique_ptr<StrategyPlan> plan_spmm_1d(const Problem& problem);

}  // namespace orrery
