// A strategy: what each rank works on, step by step, and its products.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/runtime/body.hpp"
#include "core/strategy/product/rank_products.hpp"
#include "core/strategy/product/structure.hpp"
#include "core/strategy/schedule.hpp"
#include "core/strategy/structure/problem.hpp"

namespace orrery {

class LearnedTable;
class LinkBatches;

/// The work of servers beyond their own vertices, summed over servers, layers and the steps of an
/// epoch.
struct Redundancy {
  std::int64_t vertices_owned = 0, vertices_computed = 0;  ///< rows of all levels except the input
  std::int64_t edges_owned = 0, edges_computed = 0;        ///< multiplied entries of A
  std::int64_t rows_preloaded = 0;  ///< input rows of other servers' vertices

  /// Computed vertices per owned one.
  double of_vertices() const {
    return static_cast<double>(vertices_computed) / static_cast<double>(vertices_owned);
  }
  double of_edges() const {
    return static_cast<double>(edges_computed) / static_cast<double>(edges_owned);
  }
};

/// Sizes of the batches of sampled training: those of some drawn batches, and bounds.
struct BatchSizes {
  struct Size {
    double mean = 0;
    std::int64_t most = 0;   ///< largest of the drawn batches
    std::int64_t bound = 0;  ///< bound for any batch
  };
  std::int64_t batches = 0;  ///< number of drawn batches
  int steps = 0;             ///< batches of each rank in an epoch: every rank has as many
  std::vector<Size>
      vertices;  ///< vertices of each level; 0: whose features are pulled, last: the seeds
  std::vector<Size> edges;  ///< of each layer, from the first
  Size host_bytes;          ///< host memory of a rank's batch, without its feature rows
  /// Host memory of what is drawn for all ranks of a process and kept there: batches of a server, and
  /// which rows other ranks ask for.
  Size shared_host_bytes;
  double foreign = 0;  ///< mean number of feature rows of other ranks;
  double kept = 0;     ///< those in the cache; a cache that changes starts empty
  /// Mean number of rows of features of edges that other ranks have; nothing if edges have none.
  std::optional<double> foreign_edge_rows;
};

/// A strategy at work on one rank: it lives for the whole run, while structures come and go.
class RankSession {
 public:
  virtual ~RankSession() = default;
  /// Begins to bring what a structure needs of other ranks into this rank's host memory, on the
  /// store lane. load() of the same structures follows in the order of these calls; at most
  /// StagesAhead::fetch are open. Not called if that is 0. Default: nothing.
  virtual void fetch(const std::shared_ptr<const Structure>& /*structure*/) {}
  /// Puts a structure that the strategy prepared for this rank on the device, on the copy lane. The
  /// host does not wait. The compute lane may wait for the copies, so submit work that should run
  /// beside them before. Several structures may be loaded at once. The session must outlive the
  /// products.
  virtual std::unique_ptr<RankProducts> load(std::shared_ptr<const Structure> structure) = 0;
  /// The feature rows of other ranks that structures needed so far; none if a structure has its own
  /// features.
  virtual RowUse row_use() const { return {}; }
  /// The features if they are learned like the weights, else null.
  virtual LearnedTable* learned_table() { return nullptr; }
  /// No load() follows: closes the stores that ranks have opened to each other. A collective, if
  /// there is any.
  virtual void close() {}
};

/// The structures and products of its ranks, shared by the ranks of a process. A structure
/// comes in two calls: any thread prepares it on the host, and the rank's own thread loads it,
/// while its device may be busy with another one.
class Strategy {
 public:
  virtual ~Strategy() = default;
  /// The steps of a rank. Default: the steps of whole-graph training.
  virtual Schedule schedule(int /*rank*/) const { return {}; }
  /// A structure of a rank's schedule, in host memory. This is only host work, which it reports.
  /// Parts that are the same in all steps may be made once and kept. All calls may come from
  /// several threads at once.
  virtual std::shared_ptr<const Structure> prepare(int rank, StructureId which = {}) const = 0;
  /// Begins a run on this rank; the strategy must outlive the session. Default: a session that
  /// keeps only the structures; load() below puts them on the device.
  virtual std::unique_ptr<RankSession> open(Runtime& rt) const;
  /// RankSession::load() of the default session.
  ///
  /// Requires  a strategy that does not answer open() itself
  virtual std::unique_ptr<RankProducts> load(Runtime& rt,
                                             std::shared_ptr<const Structure> structure) const;

  /// Nothing if ranks compute only what they own.
  virtual std::optional<Redundancy> redundancy() const { return std::nullopt; }

  /// The batches of all ranks in the first epoch; nothing if there are none.
  virtual std::optional<BatchSizes> batch_sizes() const { return std::nullopt; }

  /// The links of its steps, where it trains on links; else null.
  virtual const LinkBatches* links() const { return nullptr; }

  /// Notes on these data that a reader of losses and accuracies has to know, a line each.
  virtual std::vector<std::string> notes() const { return {}; }

  /// The same strategy, counted only, with batches of the largest possible size. It is recorded to
  /// find the most memory that a run takes. Null if sizes are fixed, or if no bound is known.
  virtual std::unique_ptr<Strategy> with_largest_batches() const { return nullptr; }

  /// The seeds of a step (strategy.batch) with which an epoch is one step: more change nothing. 0 if
  /// steps have no seeds.
  virtual std::int64_t most_seeds() const { return 0; }

  /// with_largest_batches() of the same strategy with so many seeds in a step, at least 1. What does
  /// not depend on their number is shared. Null if steps have none.
  ///
  /// Errors    ConfigError: links have no negatives in batches of so few
  virtual std::unique_ptr<Strategy> with_largest_batches_of(std::int64_t /*seeds*/) const {
    return nullptr;
  }

  /// The lowest rank whose program is identical to that of `rank`: the same operations on the same
  /// sizes, in the same order, with the same waits and the same memory. Exceptions are its number,
  /// its groups, and the stage of a product in which a rank uses its local rows instead of a buffer
  /// (and adds what was there before). Default: `rank` itself.
  virtual int representative(int rank) const { return rank; }
  /// The group of `rank` for which its representative's program says `group`.
  virtual Group own_group(const Group& group, int /*rank*/) const { return group; }
};

}  // namespace orrery
