// Which training vertices each step of an epoch begins with, on each rank.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/graph/csr.hpp"

namespace orrery {

/// Where a rank's seeds come from.
enum class SeedsFrom : std::uint8_t {
  all,     ///< a step has the same seeds, over all ranks, on any number of ranks
  own,     ///< each rank draws those of its own part
  server,  ///< the ranks of a server draw from all their parts together, and share the seeds
};

/// The training vertices of each rank, made equal in number (± 1). Surplus goes to ranks of the
/// same server first, and as little as possible moves. Which ones move is drawn.
///
/// Shapes    training [ranks], ascending each; ranks_per_server divides their number · the result
///           likewise
std::vector<std::vector<Vertex>> share_equally(std::vector<std::vector<Vertex>> training,
                                               int ranks_per_server, std::uint64_t seed);

/// The seeds of every step. Each epoch has every training vertex once, in its own order. All ranks
/// have the same number of steps: a rank with fewer seeds ends with empty steps.
class Seeds {
 public:
  /// From all: steps of `batch` seeds in total, of which each rank has an equal share (± 1).
  static Seeds from_all(std::vector<Vertex> training, int ranks, std::int64_t batch,
                        std::uint64_t seed);
  /// From their own: steps of `batch` seeds on each rank.
  ///
  /// Shapes    training [ranks]
  static Seeds from_own(std::vector<std::vector<Vertex>> training, std::int64_t batch,
                        std::uint64_t seed);
  /// From those of their server: steps of `batch` seeds on each rank (± 1 at the end).
  ///
  /// Shapes    training [servers], of `ranks_per_server` consecutive ranks each
  static Seeds from_servers(std::vector<std::vector<Vertex>> training, int ranks_per_server,
                            std::int64_t batch, std::uint64_t seed);

  /// Steps of an epoch; the same in all epochs.
  int steps() const { return steps_; }
  /// Seeds of a rank in a step; may be empty. Several threads may call it at once.
  std::vector<Vertex> of(int rank, int epoch, int step) const;
  /// The vertices from which ranks take their seeds. A step has a random set of those of a list.
  const std::vector<std::vector<Vertex>>& lists() const { return lists_; }
  /// Seeds in the longest of the lists from which ranks take theirs: a step has no more of a list.
  std::int64_t longest_list() const;
  /// Seeds of all ranks together in a step.
  std::int64_t total(int step) const;

 private:
  Seeds(std::vector<std::vector<Vertex>> lists, int ranks_per_list, std::int64_t batch,
        std::uint64_t seed);
  /// Place of a rank's seeds of a step in the order of its list.
  struct Slice {
    std::size_t list;
    std::int64_t begin, end;
  };
  Slice slice(int rank, int step) const;
  std::shared_ptr<const std::vector<Vertex>> order(std::size_t list, int epoch) const;

  struct Kept;
  std::vector<std::vector<Vertex>> lists_;  ///< shared by this many consecutive ranks:
  int ranks_per_list_ = 1, steps_ = 0;
  std::int64_t batch_ = 1;  ///< seeds of a list in a step
  std::uint64_t seed_ = 0;
  std::shared_ptr<Kept> kept_;  ///< the orders that were requested last
};

}  // namespace orrery
