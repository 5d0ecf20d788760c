// A rank's share of a server's part: the rows of every level, and the exchanges of each layer.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/strategy/structure/halo_structure.hpp"
#include "core/strategy/structure/partitioned_graph.hpp"
#include "core/strategy/structure/server_subgraphs.hpp"

namespace orrery {

/// Input rows of `layer` that no layer of this server has computed: which owners send which of
/// them. All of them stand after the own rows.
struct Spread {
  int layer = 0;                           ///< layer that works on them
  HaloStructure::RowCounts send, receive;  ///< by rank
  IndexList send_rows;                     ///< own row of each sent one, by receiver
  /// received_row: for each row, its place among the incoming ones; row_received: for each
  /// incoming one, its row.
  IndexList received_row, row_received;
};

/// The last `depth` layers are computed within the server: rows shrink from one layer to the next,
/// from all that the own vertices depend on to the own vertices. The layers below have only own
/// vertices, and their halo comes from all ranks.
///
/// Placement the structure of one rank, in host memory
struct PreloadedRank {
  struct Layer {
    HaloStructure part;
    bool within_server = true;  ///< or among all ranks
    bool symmetric = false;     ///< the own block is its own transpose
  };

  IndexList vertices;                         ///< global numbers: own ones first, then by distance
  IndexList computed;                         ///< those of level 0: the first ones
  VertexData data;                            ///< of these
  std::vector<std::int64_t> rows;             ///< rows of levels 0 to L
  std::vector<Layer> products;                ///< one for consecutive layers with equal rows
  std::vector<std::size_t> product_of_layer;  ///< index in products, for layers 1 to L
  std::optional<Spread> spread;               ///< set if there are layers below
};

/// The same for a graph in which every vertex represents `times` vertices.
Spread magnified(const Spread& spread, std::int64_t times);
PreloadedRank magnified(const PreloadedRank& rank, std::int64_t times);

/// For a magnified data set everything is magnified. `below`: by ranks (ServerSubgraphs::ranks()),
/// for the layers below; empty if there are none.
std::shared_ptr<const PreloadedRank> make_preloaded_rank(const ServerSubgraphs& servers, int rank,
                                                         int batch, int draw, int layers,
                                                         const StrategyConfig& config,
                                                         const PartitionedGraph* below);

}  // namespace orrery
