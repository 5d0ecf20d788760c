// A·x by sending A: a rank sends the rows of A of its part, cut by columns, to the ranks that have
// the matching rows of x, and adds up the partial results that come back. One other part at a time.
//
// Source    Deal section 3.4, "Exchange G", and Table 2
// Departs   beside a column number and a value for each entry, the offsets of the part's rows travel,
//           which Table 2 does not count
#pragma once

#include <optional>
#include <vector>

#include "core/inference/tile_sum.hpp"
#include "core/runtime/buffer.hpp"
#include "core/strategy/product/local_matrix.hpp"

namespace orrery {

class ExchangedGraph final : public TileSum {
 public:
  ExchangedGraph(Runtime& rt, const LayerGraphs& graphs, int column_tiles)
      : rt_(rt), graphs_(graphs), column_tiles_(column_tiles) {}

  void begin(int layer, std::int64_t width, std::int64_t own) override;
  void multiply(const Tensor& x, const Tensor& y, float beta) override;
  void end() override;

 private:
  /// The exchange with two parts at the same distance: one before this part, one behind it.
  struct Exchange {
    /// parts: the owner of the rows that our entries meet; the owner of the entries that come
    int to = 0, from = 0;
    SparseBuffer sent;          ///< [rows of this part, rows of `to`]
    Buffer sent_values;         ///< [entries, 1]
    std::int64_t received = 0;  ///< entries that come
  };
  const TileLayout& layout() const { return graphs_.layout(); }
  int part() const { return layout().part_of(rt_.rank()); }
  void load(int layer);
  /// Sends entries between two parts over their common lane.
  Event pass(int from, int to, const Sparse& a, const Tensor& values);

  Runtime& rt_;
  const LayerGraphs& graphs_;
  int column_tiles_;

  bool loaded_ = false;
  std::optional<LocalMatrix> local_;
  std::vector<Exchange> exchanges_;
  Buffer values_;             ///< of the entries that come
  Buffer theirs_, returned_;  ///< partial results for others, and from them
};

}  // namespace orrery
