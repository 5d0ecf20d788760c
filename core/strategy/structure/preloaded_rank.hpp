// A rank's share of a server's part: the rows of every level, and what is exchanged for each layer.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/strategy/structure/halo_structure.hpp"
#include "core/strategy/structure/partitioned_graph.hpp"
#include "core/strategy/structure/server_subgraphs.hpp"

namespace orrery {

/// How the rows that a layer works on, but no layer of this server has computed, come from their
/// owners. All are after the own rows.
struct Spread {
  int layer = 0;                           ///< that works on them
  HaloStructure::RowCounts send, receive;  ///< by rank
  IndexList send_rows;                     ///< own row of each sent one, by receiver
  IndexList received_row, row_received;  ///< where each row comes in; the row of each that comes in
};

/// The last `depth` layers are computed within the server: rows shrink from one to the next, from
/// all that the own vertices depend on to these. The layers below have own vertices alone, and
/// their halo comes from all ranks.
struct PreloadedRank {
  struct Layer {
    HaloStructure part;
    bool within_server = true;  ///< or among all ranks
    bool symmetric = false;     ///< the own block is its own transpose
  };

  IndexList vertices;                         ///< global, own ones first, then by distance
  IndexList computed;                         ///< those of level 0, the first ones
  VertexData data;                            ///< of these
  std::vector<std::int64_t> rows;             ///< of levels 0 to L
  std::vector<Layer> products;                ///< one for consecutive layers of equal rows
  std::vector<std::size_t> product_of_layer;  ///< of layers 1 to L
  std::optional<Spread> spread;               ///< where there are layers below
};

/// Of a graph in which every vertex stands for `times` ones.
Spread magnified(const Spread& spread, std::int64_t times);
PreloadedRank magnified(const PreloadedRank& rank, std::int64_t times);

/// Of a magnified data set everything is magnified. `below`: by ranks (ServerSubgraphs::ranks()),
/// for the layers below; none where there are none.
std::shared_ptr<const PreloadedRank> make_preloaded_rank(const ServerSubgraphs& servers, int rank,
                                                         int batch, int draw, int layers,
                                                         const StrategyConfig& config,
                                                         const PartitionedGraph* below);

}  // namespace orrery
