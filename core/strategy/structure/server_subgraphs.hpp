// The subgraphs of a cluster's servers if each computes all that its own vertices depend on: their
// vertices, cut into co-batches, with the vertices around them, split over the server's ranks.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/index.hpp"
#include "core/strategy/structure/once_per_rank.hpp"
#include "core/strategy/structure/problem.hpp"
#include "core/strategy/structure/recent_draws.hpp"
#include "core/strategy/structure/subgraphs.hpp"

namespace orrery {

/// One co-batch of one server: fetched as a whole, then split over the ranks.
///
/// Placement the own vertices of one server with those around them; each vertex on one of its ranks
struct ServerSubgraph {
  std::shared_ptr<const Subgraph> part;
  /// Aᵀ of the part; A itself if they are equal.
  std::shared_ptr<const SparseMatrix> adjoint;
  std::vector<std::vector<Vertex>> members;  ///< local numbers of each rank's vertices, ascending
  std::vector<std::int32_t> rank_of;         ///< index in the server of each of its vertices
  std::vector<Vertex> row_at_rank;           ///< and its row there

  /// The vertices of a rank at a distance of at most d; they are its first ones.
  std::int64_t rows(int index, int d) const;
};

/// All calls may come from several threads at once.
class ServerSubgraphs {
 public:
  /// `problem.partition` says which server owns which vertex.
  ///
  /// Errors    NotBuilt (split metis, without libmetis)
  explicit ServerSubgraphs(const Problem& problem);

  const std::shared_ptr<const Dataset>& data() const { return data_; }
  int servers() const { return servers_; }
  int batches() const { return config_.batches; }
  /// Own vertices of all servers that a batch trains on.
  std::int64_t training_vertices(int batch) const;
  /// A server's own vertices of a batch with those around them: all within `depth` hops along
  /// in-edges, or the sampled ones. `draw` is the epoch where samples are drawn anew, else 0.
  /// With held targets all that is held is at distance 0, and so computed on every level.
  std::shared_ptr<const ServerSubgraph> part(int server, int batch, int draw) const;
  /// A server's own vertices of a batch, ascending.
  const std::vector<Vertex>& own(int server, int batch) const {
    return own_[orrery::at(at(server, batch))];
  }
  /// The owner of every vertex: the rank that has it in the split of its batch.
  Partition ranks() const;

 private:
  using Shared = std::shared_ptr<const ServerSubgraph>;

  void cut_batches(const Partition& servers);
  Partition split(const Csr& graph, int parts) const;
  Neighbourhood held(const std::vector<Vertex>& own, int draw) const;
  Shared make(const std::vector<Vertex>& own, int draw) const;
  int at(int server, int batch) const { return server * batches() + batch; }

  std::shared_ptr<const Dataset> data_;
  ModelConfig model_;
  StrategyConfig config_;
  std::uint64_t seed_;
  int servers_;
  std::vector<std::vector<Vertex>> own_;  ///< by server and batch
  std::vector<std::int64_t> lengths_;     ///< row lengths of the whole A; empty: the part's own
  RecentDraws<Shared> parts_;             ///< by server and batch
};

}  // namespace orrery
