// Rows of x with all of their columns, for products that need them whole: a rank requests the
// pieces of a row from the ranks that have them, by the row's number, and puts them together. In
// groups, like FetchedRows: numbers are two groups ahead and rows one group ahead of the group in
// use.
//
// Source    Deal section 3.4, the example of Figure 10
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <vector>

#include "core/inference/layer_graphs.hpp"
#include "core/inference/layout/inference_config.hpp"
#include "core/runtime/buffer.hpp"

namespace orrery {

/// The columns of a rank's tile and their place in a whole row.
struct PieceColumns {
  std::int64_t tile = 0;   ///< first column in the tile
  std::int64_t whole = 0;  ///< first column in the row
  std::int64_t count = 0;
};

/// The requests of one rank, and its answers to those of others.
///
/// Placement x: a tile on each rank; whole: on the rank that requested the rows
class WholeRows {
 public:
  WholeRows(Runtime& rt, const LayerGraphs& graphs, std::int64_t group_bytes)
      : rt_(rt), graphs_(graphs), group_bytes_(group_bytes) {}

  /// The pieces of a row.
  struct Pieces {
    std::int64_t width = 0;                         ///< of a whole row
    std::vector<std::vector<PieceColumns>> shares;  ///< of the ranks of a part, by column share
  };
  /// The shares of the layout.
  static Pieces shares_of(const TileLayout& layout, std::int64_t width);
  /// Every rank has whole rows: those of another part come from the rank of the same columns.
  static Pieces everywhere(std::int64_t width) { return {width, {}}; }

  /// Learns the entries of A that meet the rows, group by group.
  using TakeEntries = std::function<void(const PartRows& rows)>;
  /// For the rows that this rank wants in this layer (Settings::lists of the graphs): makes room
  /// for the data that travels, and loads their numbers unless those of an earlier layer serve;
  /// only then `take` is called.
  void begin(int layer, Pieces pieces, const TakeEntries& take);
  /// Sends the numbers of the first groups.
  void set_out();
  /// Calls use(g, whole) for each group, in order, on the compute lane.
  ///
  /// Shapes    x [rows of the part, columns of this rank] · whole [rows of group g, width]
  void gather(const Tensor& x, const std::function<void(std::size_t g, const Tensor& whole)>& use);
  void end();
  const Pieces& pieces() const { return pieces_; }
  /// The columns of a row on a rank of this share.
  std::int64_t tile_width(int share) const;
  const std::vector<PieceColumns>& columns_of(int share) const;

 private:
  /// Rows of one owner (or of none), and the rows that this rank sends meanwhile.
  struct Group {
    int shift = 0;
    std::int64_t first = 0, asked = 0;  ///< of the numbers; rows
    std::vector<std::int64_t> served;   ///< rows, by piece
    std::vector<std::optional<Event>> numbers, rows;
    std::size_t index = 0;  ///< among those with a request
  };
  /// One message of a group: this rank and a piece of another's part.
  struct Peer {
    int to = 0, from = 0;
  };
  const TileLayout& layout() const { return graphs_.layout(); }
  int part() const { return layout().part_of(rt_.rank()); }
  int share() const { return layout().column_of(rt_.rank()); }
  int pieces_of_row() const { return std::max<int>(1, static_cast<int>(pieces_.shares.size())); }
  /// The owner of piece k of a group (counted from this rank's own), and the rank that requests one
  /// meanwhile.
  Peer peer(const Group& group, int k) const;
  bool is_own(const Group& group, int k) const { return group.shift == 0 && k == 0; }
  Tensor room(const Buffer& buffer, std::int64_t rows, std::int64_t cols,
              std::int64_t before) const;
  Tensor asked_room(std::size_t g, int k) const;

  void load(int layer, std::int64_t rows_per_group, const TakeEntries& take);
  void make_room();
  void send_numbers(std::size_t g, Event free);
  Event send_rows(std::size_t g, const Tensor& x);
  Tensor assemble(std::size_t g, const Tensor& x);

  Runtime& rt_;
  const LayerGraphs& graphs_;
  std::int64_t group_bytes_;
  Pieces pieces_;
  std::vector<PieceColumns> whole_piece_;
  std::int64_t rows_per_group_ = 0;  ///< of the groups that are there; 0: there are none
  std::vector<Group> groups_;
  Buffer numbers_;
  std::array<Buffer, 2> asked_, sent_, received_;
  Buffer whole_;
};

}  // namespace orrery
