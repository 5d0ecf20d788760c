// Edges on a device, and how rows of their sources reach a rank.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "core/model/products.hpp"
#include "core/runtime/buffer.hpp"
#include "core/strategy/edges/edge_structure.hpp"
#include "core/strategy/edges/vertex_table.hpp"

namespace orrery {

/// Features of a batch's edges that were brought to the device: those of all patterns, layer by layer
/// and within a layer relation by relation, in the order of their entries.
///
/// Placement those of this rank's batch, on its device
struct FeaturesOfEdges {
  Buffer rows;    ///< [entries of all patterns, columns] f32; empty: edges have none
  Buffer places;  ///< where they were among the pulled rows
  std::int64_t taken = 0;

  /// The rows of the next pattern; nothing if edges have none.
  std::optional<Tensor> take(std::int64_t entries) {
    if (!rows) return std::nullopt;
    return rows.tensor().rows_at(std::exchange(taken, taken + entries), entries);
  }
};

/// The edges of a layer on the device.
///
/// Placement the edges into rows of this rank, on its device
class DeviceEdges {
 public:
  /// Loads them on the copy lane; the compute lane waits for it. `features`: those of the edges if
  /// they are on the device already, else they are loaded, too. `table`: for edges that are
  /// relabelled here.
  DeviceEdges(Runtime& rt, const EdgeStructure& structure,
              std::optional<Tensor> features = std::nullopt, const VertexTable* table = nullptr);

  const Edges& edges() const { return edges_; }

 private:
  /// transposed_ is empty if it equals the pattern
  SparseBuffer pattern_, transposed_, by_source_;
  Buffer order_, numbers_, vertices_, features_;
  Edges edges_;
};

/// Products of a model whose layers weigh edges: no product with a matrix is asked for.
[[noreturn]] void no_matrix();

/// The exchange of edges' sources within a group: each rank receives the rows of others that its
/// rows of A need, each once.
///
/// Placement x: on each rank its own rows, then those of others that its rows of A need
class SourceExchange {
 public:
  /// Loads the list of rows to send, on the copy lane; the compute lane waits for it. overlap: rows
  /// travel while other work goes on. `part` must outlive this.
  SourceExchange(Runtime& rt, const HaloStructure& part, Group group, bool overlap);

  std::int64_t sources() const { return part_.own_block.cols() + part_.received(); }
  /// Number of rows that travel: `sent` of bring() has as many, as wide as x.
  std::int64_t sent() const { return part_.sent(); }

  /// The rows of x after the own rows ← those of their owners.
  ///
  /// Shapes    x [sources, f] · sent [sent(), f], contiguous
  void bring(const Tensor& x, const Tensor& sent, const std::function<void()>& meanwhile) const;
  /// Adds these rows of dx to the rows of their owners.
  void bring_adjoint(const Tensor& dx, const Tensor& sent,
                     const std::function<void()>& meanwhile) const;

 private:
  void exchange(const Tensor& from, const Tensor& to, const HaloStructure::RowCounts& out,
                const HaloStructure::RowCounts& in, const std::function<void()>& meanwhile) const;

  Runtime& rt_;
  const HaloStructure& part_;
  Group group_;
  bool overlap_;
  Buffer send_index_;
};

}  // namespace orrery
