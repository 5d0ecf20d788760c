// A strategy: what each rank works on, step by step, and the products that it computes there.
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

class LearnedRows;
class LinkBatches;

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

/// What the batches of sampled training hold: of some that were drawn, and at most.
struct BatchSizes {
  struct Size {
    double mean = 0;
    std::int64_t most = 0;   ///< of those that were drawn
    std::int64_t bound = 0;  ///< that no batch exceeds
  };
  std::int64_t batches = 0;    ///< that were drawn
  std::vector<Size> vertices;  ///< of each level; 0: whose features are pulled, last: the seeds
  std::vector<Size> edges;     ///< of each layer, from the first
  /// Of a batch in host memory, without the rows of its features; not counted where a rank also holds
  /// what others draw.
  std::optional<Size> host_bytes;
  double foreign = 0;  ///< mean rows of features of other ranks, of which
  double kept = 0;     ///< these are in the cache; which is empty at first where it changes
};

/// A strategy at work on one rank: what stays there for the whole run, beside the structures that
/// come and go.
class RankSession {
 public:
  virtual ~RankSession() = default;
  /// Starts to bring what a structure needs of other ranks into this one's host memory, on the store
  /// lane. load() of the same structure follows, in the order of these calls; at most StagesAhead::fetch
  /// of them are open. Not called where that is 0. Default: nothing.
  virtual void fetch(const std::shared_ptr<const Structure>& /*structure*/) {}
  /// Puts a structure that the strategy prepared for this rank on the device, on the copy lane. The
  /// host waits for nothing; the compute lane may be told to wait for the copies, so work that they
  /// are to run beside is submitted before. Several may be there at once. The session must outlive
  /// the products.
  virtual std::unique_ptr<RankProducts> load(std::shared_ptr<const Structure> structure) = 0;
  /// The rows of features of other ranks that structures needed so far; none where a structure has
  /// its own features.
  virtual RowUse row_use() const { return {}; }
  /// The features, where they are learned as the weights are; else null.
  virtual LearnedRows* learned_rows() { return nullptr; }
  /// No load() follows: ends what ranks have opened to each other. A collective where there is such.
  virtual void close() {}
};

/// What its ranks work on and how they multiply, shared by the ranks of a process. A structure comes
/// in two calls: it is prepared on the host, by any thread, and loaded by the rank's own, while its
/// device may be busy with another one.
class Strategy {
 public:
  virtual ~Strategy() = default;
  /// The steps of a rank. Default, those of whole-graph training.
  virtual Schedule schedule(int /*rank*/) const { return {}; }
  /// A structure of a rank's schedule, in host memory: no more than host work, which it reports.
  /// What is the same in all steps may be made once and kept. All calls may come from several
  /// threads at once.
  virtual std::shared_ptr<const Structure> prepare(int rank, StructureId which = {}) const = 0;
  /// Begins a run on this rank; the strategy must outlive the session. Default: one that keeps
  /// nothing but the structures, which load() below puts on the device.
  virtual std::unique_ptr<RankSession> open(Runtime& rt) const;
  /// RankSession::load() of the default session.
  ///
  /// Requires  a strategy that does not answer open() itself
  virtual std::unique_ptr<RankProducts> load(Runtime& rt,
                                             std::shared_ptr<const Structure> structure) const;

  /// Nothing where ranks compute what they own and no more.
  virtual std::optional<Redundancy> redundancy() const { return std::nullopt; }

  /// Of batches of all ranks in the first epoch; nothing where there are none.
  virtual std::optional<BatchSizes> batch_sizes() const { return std::nullopt; }

  /// The links of its steps, where it trains on links; else null.
  virtual const LinkBatches* links() const { return nullptr; }

  /// What a reader of its losses and accuracies has to know of these data, a line each.
  virtual std::vector<std::string> notes() const { return {}; }

  /// The same strategy with batches all of which have the sizes that none exceeds, counted only: to
  /// be recorded, for the memory that a run takes at most. Null where sizes are what they are, or no
  /// bound is known.
  virtual std::unique_ptr<Strategy> with_largest_batches() const { return nullptr; }

  /// The lowest rank that does what `rank` does: the same operations on the same sizes, in the same
  /// order and waiting for the same, with the same memory. They differ in their number, in which
  /// stage of a product is their own (there the rows are at hand instead of in a buffer, and what
  /// was there before is added), and in their groups. Default: `rank` itself.
  virtual int representative(int rank) const { return rank; }
  /// The group that `rank` means where its representative's program says `group`.
  virtual Group own_group(const Group& group, int /*rank*/) const { return group; }
};

}  // namespace orrery
