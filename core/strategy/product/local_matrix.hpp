// A block of the aggregation matrix on the device.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "core/base/index.hpp"
#include "core/model/products.hpp"
#include "core/runtime/buffer.hpp"
#include "core/strategy/edges/device_edges.hpp"
#include "core/strategy/edges/relation_structure.hpp"
#include "core/strategy/edges/vertex_table.hpp"
#include "core/strategy/structure/cut_rows.hpp"

namespace orrery {

/// The source of a block's values.
Source values_of(const SparseMatrix& block);

/// A block on the device, ready to multiply. It is cut into column tiles of equal width, so that
/// the rows of x that one tile reads stay in cache.
///
/// Placement block, x and y: on this rank; nothing travels
class LocalMatrix {
 public:
  /// Loads the block on the copy lane; the compute lane waits for it.
  LocalMatrix(Runtime& rt, const SparseMatrix& block, int column_tiles, std::string_view name);

  /// Columns that are vertices become numbers, on the copy lane; the compute lane waits.
  ///
  /// Requires  one tile
  void relabel(const VertexTable& table) const;
  /// The transpose, made on the device on the copy lane; the compute lane waits. `counts`: its sizes.
  ///
  /// Requires  one tile
  LocalMatrix transposed(Runtime& rt, const Pattern& counts, std::string_view name) const;

  /// y ← a·x + beta·y on the compute lane.
  ///
  /// Shapes    x [columns, f] · y [rows, f]
  void multiply(Runtime& rt, const Tensor& x, const Tensor& y, float beta) const;

 private:
  LocalMatrix() = default;
  struct Tile {
    SparseBuffer pattern;
    Buffer values;
    std::int64_t first_column = 0;
  };
  std::vector<Tile> tiles_;
};

/// What a rank multiplies with where blocks of other ranks' rows pass by: its tiles of A and of Aᵀ, one
/// for each block.
struct RankTiles {
  std::vector<SparseMatrix> forward, adjoint;  ///< no adjoint where A = Aᵀ
};

/// The edges of each relation on the device, ready to multiply.
///
/// Placement matrices, x and y: on this rank; nothing travels
class LocalRelations {
 public:
  /// `features`: those of the edges if they are on the device already; the next ones are taken.
  /// `table`: for relations that are relabelled here.
  LocalRelations(Runtime& rt, const RelationStructure& structure,
                 FeaturesOfEdges* features = nullptr, const VertexTable* table = nullptr);

  const std::vector<Products::Rows>& rows_of_type(int type) const { return types_[at(type)]; }
  /// Among the rows that a first layer works on.
  const std::vector<Products::Rows>& inputs_of_type(int type) const {
    return input_types_[at(type)];
  }
  const std::vector<Products::Rows>& rows(int relation) const {
    return rows_of_type(of(relation).destination);
  }
  Products::RelationEdges edges(int relation) const {
    const OfRelation& those = of(relation);
    return {those.edges->edges(), those.sources.tensor()};
  }
  /// Products::aggregate_relation() and its adjoint.
  void multiply(Runtime& rt, int relation, const Tensor& x, const Tensor& y, float beta) const {
    of(relation).matrix->multiply(rt, x, y, beta);
  }
  void multiply_adjoint(Runtime& rt, int relation, const Tensor& dy, const Tensor& dx,
                        float beta) const {
    of(relation).transposed->multiply(rt, dy, dx, beta);
  }

 private:
  struct OfRelation {
    int destination;
    std::optional<LocalMatrix> matrix, transposed;  ///< or, if the model weighs edges,
    std::optional<DeviceEdges> edges;
    Buffer sources;
  };
  const OfRelation& of(int relation) const { return relations_[at(relation)]; }
  std::vector<std::vector<Products::Rows>> types_, input_types_;
  std::vector<OfRelation> relations_;
};

/// The pattern of a block, cut into column tiles as a LocalMatrix, for values that are computed:
/// each product gets its own, with one or several heads.
///
/// Placement block, x and y: on this rank; nothing travels
class LocalPattern {
 public:
  /// Loads the block's pattern on the copy lane; the compute lane waits for it. With more than one
  /// tile it also loads which entries each tile has, and makes room for the values of the largest
  /// tile.
  ///
  /// Requires  columns in ascending order in every row, as RowBuilder leaves them
  /// Errors    ConfigError: heads below 1; more than one tile of a block of 2^31 entries or more
  LocalPattern(Runtime& rt, const SparseMatrix& block, int column_tiles, std::int64_t heads,
               std::string_view name);

  /// y ← a·x + beta·y on the compute lane. Entry e of the block, in the order of its csr(), has the
  /// values of row e. With more than one tile these are first gathered into the tile's order.
  ///
  /// Shapes    values [entries of the block, heads] · x [columns, f] · y [rows, f], heads divides f
  void multiply(Runtime& rt, const Tensor& values, const Tensor& x, const Tensor& y,
                float beta) const;

 private:
  struct Tile {
    SparseBuffer pattern;
    /// Entries of the block, [entries of the tile, 1] i32; empty if there is one tile.
    Buffer entries;
    std::int64_t first_column = 0;
  };
  std::vector<Tile> tiles_;
  Buffer values_;  ///< [entries of the largest tile, heads]; empty if there is one tile
};

/// One matrix per block.
std::vector<LocalMatrix> load_matrices(Runtime& rt, const std::vector<SparseMatrix>& blocks,
                                       int column_tiles, std::string_view name);

}  // namespace orrery
