// Which training vertices each step of an epoch begins with, on each rank.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/graph/csr.hpp"

namespace orrery {

/// Where a rank's seeds come from.
enum class SeedsFrom : std::uint8_t {
  all,     ///< a step has the same seeds, all ranks' together, on any number of ranks
  own,     ///< each rank draws those of its own part
  server,  ///< the ranks of a server draw together those of their parts, and share them
};

/// The training vertices of each rank, made equally many (± 1): surplus goes to ranks of the same
/// server before it goes to others, and as little as possible moves. Which ones move is drawn.
///
/// Shapes    training [ranks], ascending each; ranks_per_server divides their number · the result
///           likewise
std::vector<std::vector<Vertex>> share_equally(std::vector<std::vector<Vertex>> training,
                                               int ranks_per_server, std::uint64_t seed);

/// The seeds of every step. Each epoch has every training vertex once, in an order of its own; as
/// many steps on all ranks, whatever they own: who has fewer ends with empty steps.
class Seeds {
 public:
  /// From all: steps of `batch` seeds in all, of which each rank has an equal share (± 1).
  static Seeds from_all(std::vector<Vertex> training, int ranks, std::int64_t batch,
                        std::uint64_t seed);
  /// From their own: steps of `batch` seeds on each rank.
  ///
  /// Shapes    training [ranks]
  static Seeds from_own(std::vector<std::vector<Vertex>> training, std::int64_t batch,
                        std::uint64_t seed);
  /// From those of their server: steps of `batch` seeds on each rank (± 1 where they end).
  ///
  /// Shapes    training [servers], of `ranks_per_server` consecutive ranks each
  static Seeds from_servers(std::vector<std::vector<Vertex>> training, int ranks_per_server,
                            std::int64_t batch, std::uint64_t seed);

  /// Steps of an epoch; the same in all.
  int steps() const { return steps_; }
  /// Of a rank in a step; perhaps none. May be called by several threads at once.
  std::vector<Vertex> of(int rank, int epoch, int step) const;
  /// How many all ranks together have in a step.
  std::int64_t total(int step) const;

 private:
  Seeds(std::vector<std::vector<Vertex>> lists, int ranks_per_list, std::int64_t batch,
        std::uint64_t seed);
  /// Where the seeds of a rank in a step stand in the order of its list.
  struct Slice {
    std::size_t list;
    std::int64_t begin, end;
  };
  Slice slice(int rank, int step) const;
  std::shared_ptr<const std::vector<Vertex>> order(std::size_t list, int epoch) const;

  struct Kept;
  std::vector<std::vector<Vertex>> lists_;  ///< each of so many consecutive ranks:
  int ranks_per_list_ = 1, steps_ = 0;
  std::int64_t batch_ = 1;  ///< of a list in a step
  std::uint64_t seed_ = 0;
  std::shared_ptr<Kept> kept_;  ///< the orders that were asked for last
};

}  // namespace orrery
