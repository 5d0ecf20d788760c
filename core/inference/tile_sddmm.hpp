// A ∘ (x·zᵀ) on the tiles of an inference: numbers of edges, which need whole rows at both ends.
//
// Each rank of a part computes all of the part's entries, or those of its whole rows
// (InferenceConfig::sddmm, which says RowLists). It receives the missing pieces of the rows at both
// ends (of a row that is at both ends twice), and for split entries the numbers that others
// computed.
//
// Source    Deal section 3.4 (SDDMM), Figure 10 and Table 3, approaches (i) and (ii)
#pragma once

#include <array>
#include <vector>

#include "core/inference/whole_rows.hpp"

namespace orrery {

/// One rank's share of the numbers of a part's edges.
///
/// Placement x, z: a tile on each rank; numbers: on the rank that computes their entries
class TileSddmm {
 public:
  TileSddmm(Runtime& rt, const LayerGraphs& graphs, const InferenceConfig& config)
      : rt_(rt),
        graphs_(graphs),
        split_(config.sddmm == EdgeProduct::split),
        rows_(rt, graphs, config.group_bytes) {}

  /// Loads this rank's entries of the layer and makes room for the data that travels. `heads`:
  /// numbers per entry; without `dots`, only numbers at sources are gathered.
  void begin(int layer, WholeRows::Pieces pieces, std::int64_t heads, bool dots);
  void set_out() { rows_.set_out(); }

  /// The rows of the part whose entries are computed here, and these entries.
  Share rows() const;
  const Sparse& pattern() const { return pattern_.sparse(); }

  /// numbers[e, k] ← Σ x[row(e), c]·z[col(e), c] over the columns of head k, for this rank's
  /// entries.
  ///
  /// Shapes    x, z [rows of the part, columns of this rank] · numbers [entries, heads]
  /// Requires  begun with dots, as multiply() and gather() are once each
  void multiply(const Tensor& x, const Tensor& z, const Tensor& numbers);
  /// sources ← the rows that this rank's entries come from.
  ///
  /// Shapes    x [rows of the part, width], whole · sources [columns of pattern(), width]
  /// Requires  begun without dots
  void gather(const Tensor& x, const Tensor& sources);
  /// all ← own of every rank of the part; with duplicated entries or a single rank, `own` must be
  /// `all`.
  ///
  /// Shapes    own [entries of this rank, h] · all [entries of the part, h]
  void exchange(const Tensor& own, const Tensor& all) const;
  /// Whether exchange() moves anything.
  bool exchanges() const { return split_ && layout().column_parts > 1; }
  void end();

 private:
  struct Block {
    SparseBuffer pattern;               ///< [rows, rows of a group]; none without dots
    Buffer entries;                     ///< their numbers among all of this rank
    std::int64_t first = 0, count = 0;  ///< of the group's rows among all sources
  };
  const TileLayout& layout() const { return graphs_.layout(); }
  int part() const { return layout().part_of(rt_.rank()); }
  /// The rows of the part whose entries its rank m computes.
  Share rows_of(int m) const;
  void bring_rows(const Tensor& x);

  Runtime& rt_;
  const LayerGraphs& graphs_;
  bool split_;
  WholeRows rows_;
  SparseBuffer pattern_;
  std::vector<Block> blocks_;
  std::array<Buffer, 2> pieces_;  ///< of the entries' own rows
  Buffer whole_, dots_;
};

}  // namespace orrery
