// Parts that are trained alone: their vertices with the neighbourhoods they hold, from any origin.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/model/adjacency.hpp"
#include "core/partition/neighbourhood.hpp"
#include "core/partition/partition.hpp"
#include "core/partition/parts/partitioned_dataset.hpp"
#include "core/strategy/config/strategy_config.hpp"
#include "core/strategy/structure/vertex_data.hpp"

namespace orrery {

/// The structure of one part, in local numbers: own vertices first, then replicas by distance.
///
/// Placement the own vertices of one part; replicas are own vertices of other parts
struct Subgraph {
  std::shared_ptr<const std::vector<Vertex>> vertices;  ///< global number of each vertex
  std::vector<std::int64_t> within;  ///< vertices at distance <= d, from d = 0 on
  SparseMatrix a;                    ///< A of all of these vertices
  VertexData data;

  /// The vertices at a distance of at most d.
  std::int64_t at_distance(int d) const;
};

/// The part that holds these vertices of a graph in memory. Its matrix is normalised by the row
/// lengths of the whole A (`lengths`, by global number) or, if there are none, by its own.
std::shared_ptr<const Subgraph> make_subgraph(std::shared_ptr<const Dataset> data,
                                              const ModelConfig& model, Neighbourhood held,
                                              std::span<const std::int64_t> lengths);

/// All calls may come from several threads at once.
class Subgraphs {
 public:
  virtual ~Subgraphs() = default;
  virtual int parts() const = 0;
  /// Training vertices among the own vertices of a part.
  virtual std::int64_t training_vertices(int part) const = 0;
  /// A part; a part with a number past the last is empty.
  virtual std::shared_ptr<const Subgraph> part(int number) const = 0;
  /// The whole graph as one part.
  virtual std::shared_ptr<const Subgraph> whole() const = 0;
};

/// From a graph in memory: each part is made on first request, and kept. Reads from the strategy
/// what its parts hold: hops, cross_edges (drawn by `seed`), degrees.
///
/// Requires  the fragments of the partition, if they are asked for
std::shared_ptr<const Subgraphs> subgraphs_in_memory(std::shared_ptr<const Dataset> data,
                                                     const ModelConfig& model, Partition partition,
                                                     const StrategyConfig& strategy,
                                                     std::uint64_t seed);

/// From a folder of parts; each part is read on first request.
///
/// Errors    ConfigError if the strategy asks for other hops or cross edges than the parts have,
///           or for the whole graph · DataError of the folder
std::shared_ptr<const Subgraphs> subgraphs_in_folder(
    std::shared_ptr<const PartitionedDataset> folder, const ModelConfig& model,
    const StrategyConfig& strategy);

}  // namespace orrery
