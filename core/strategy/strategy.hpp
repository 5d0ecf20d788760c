// A strategy: what each rank works on, step by step, and the products that it computes there.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/strategy/product/rank_products.hpp"
#include "core/strategy/schedule.hpp"
#include "core/strategy/structure/problem.hpp"

namespace orrery {

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
class Strategy {
 public:
  virtual ~Strategy() = default;
  /// The steps of a rank. Default, those of whole-graph training: one a epoch, on structure 0.
  virtual Schedule schedule(int /*rank*/) const { return {}; }
  /// A structure of this rank's schedule, on the device. `draw`: the epoch, of those that are drawn
  /// anew in every epoch. The plan must outlive it.
  virtual std::unique_ptr<RankProducts> instantiate(Runtime& rt, int structure = 0,
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

}  // namespace orrery
