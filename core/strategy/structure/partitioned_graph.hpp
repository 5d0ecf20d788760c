// The structure of one part of the graph, from any origin. Strategies cut their placements out of
// it, and a rank asks only for the parts it works on.
#pragma once

#include <memory>
#include <vector>

#include "core/graph/dataset.hpp"
#include "core/graph/edges/edge_weights.hpp"
#include "core/graph/graph_statistics.hpp"
#include "core/model/model_config.hpp"
#include "core/model/products.hpp"
#include "core/partition/partition.hpp"
#include "core/partition/parts/partitioned_dataset.hpp"
#include "core/strategy/structure/cut_rows.hpp"
#include "core/strategy/structure/index_list.hpp"
#include "core/strategy/structure/vertex_data.hpp"

namespace orrery {

/// A, with which a model aggregates, or Aᵀ, with which gradients travel back.
enum class Direction : std::uint8_t { forward, adjoint };

/// Parts of the vertices with their rows of A. Local vertex i of a part is its i-th in ascending
/// order of global numbers. For a magnified data set sizes() and rows() are those of the data as
/// loaded; the rest is magnified. All calls may come from several threads at once.
///
/// Placement shared by the ranks of a process; each vertex and its row of A in one part
class PartitionedGraph {
 public:
  virtual ~PartitionedGraph() = default;
  /// Vertices of each part.
  virtual const std::vector<std::int64_t>& sizes() const = 0;
  /// Whether A = Aᵀ, values included.
  virtual bool symmetric() const = 0;
  /// The global vertices of a part.
  virtual IndexList vertices(int part) const = 0;
  /// The part's rows of A (or Aᵀ), cut by the part that owns the columns.
  ///
  /// Shapes    block j [sizes[part], sizes[j]], in local numbers
  virtual std::vector<SparseMatrix> rows(int part, Direction direction) const = 0;

  /// The edges of each relation of a typed graph into a part.
  struct Relations {
    std::vector<Products::Rows> types;  ///< the local rows of each type's vertices
    struct OfRelation {
      int destination = 0;  ///< the type of the rows that it leads to
      /// Means over in-neighbours (mean_adjacency()), cut as rows().
      ///
      /// Shapes    block j [vertices of that type, sizes[j]], in local numbers
      std::vector<SparseMatrix> blocks;
    };
    std::vector<OfRelation> relations;
  };
  /// Requires  a model that works by relation, and a graph that has them
  virtual Relations relations(int part) const;

  virtual VertexData data(int part) const = 0;

  /// Whether parts of equal size have equal rows and data, as far as anything is known about them.
  virtual bool alike() const { return false; }

  int parts() const { return static_cast<int>(sizes().size()); }
};

/// The places of each type's vertices in an ascending list.
std::vector<Products::Rows> rows_of_types(const TypedGraph& typed,
                                          const std::vector<Vertex>& vertices);

/// From a graph in memory, whose edges may have weights.
std::shared_ptr<const PartitionedGraph> partitioned_in_memory(
    std::shared_ptr<const Dataset> data, const ModelConfig& model, const Partition& partition,
    const EdgeValues<float>* edge_weights = nullptr);

/// From a folder of parts: each is read when it is first asked for.
std::shared_ptr<const PartitionedGraph> partitioned_in_folder(
    std::shared_ptr<const PartitionedDataset> folder, const ModelConfig& model);

/// From statistics: equal blocks of a random permutation, each tile with its expected counts.
/// Nothing has the size of the graph. partitioned_by_statistics.cpp says what is expected.
std::shared_ptr<const PartitionedGraph> partitioned_by_statistics(const GraphStatistics& graph,
                                                                  const ModelConfig& model,
                                                                  int parts);

}  // namespace orrery
