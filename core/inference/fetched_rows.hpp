// A·x by rows that are fetched from the rank with the same columns. The numbers of the rows go
// first, then the rows come. Numbers are two groups ahead and rows one group ahead of the
// multiplied group, and the first of both travel while the part's own rows are multiplied. A row is
// in only one group, so it is fetched once.
//
// Source    Deal sections 3.4 (SpMM) and 3.5 (partitioned communication, pipeline; Figures 8, 11, 12)
// Departs   a group's rows have one owner, and part p begins with part p + 1: this bounds what a rank
//           sends at a time as well as what it receives, and not all ask one rank at once
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <vector>

#include "core/inference/tile_sum.hpp"
#include "core/runtime/buffer.hpp"
#include "core/strategy/product/local_matrix.hpp"

namespace orrery {

/// Rows of a group of at most this many bytes, for matrices with `columns` columns; at least one.
/// `bytes` 0: all of them.
std::int64_t rows_that_fit(std::int64_t bytes, std::int64_t columns);

class FetchedRows final : public TileSum {
 public:
  /// `weighed`: the entries of A are computed, so blocks have a pattern and the numbers of their
  /// entries.
  FetchedRows(Runtime& rt, const LayerGraphs& graphs, const InferenceConfig& config,
              int column_tiles, bool weighed = false);

  void begin(int layer, std::int64_t width, std::int64_t own) override;
  void set_out() override;
  void multiply(const Tensor& x, const Tensor& y, float beta) override;
  void end() override;

  /// Some entries of a part; their values are computed.
  struct WeighedBlock {
    SparseBuffer pattern;
    Buffer entries;  ///< [entries, 1] i32: the number of each among those of the part (PartEdges)
  };
  /// Entries of the largest block.
  std::int64_t most_entries() const { return most_entries_; }
  /// y ← Σ over blocks of block·x + beta·y; use() does one block.
  ///
  /// Requires  `weighed`, and as multiply()
  using UseBlock =
      std::function<void(const WeighedBlock& block, const Tensor& x, const Tensor& y, float beta)>;
  void multiply(const Tensor& x, const Tensor& y, float beta, const UseBlock& use);

 private:
  struct Block {
    std::optional<LocalMatrix> matrix;
    std::optional<WeighedBlock> weighed;
    explicit operator bool() const { return matrix || weighed; }
  };
  struct FetchGroup {
    FetchRound round;
    std::int64_t first = 0;        ///< of the requested numbers
    Block block;                   ///< none if nothing is requested
    Buffer rows_of_block;          ///< of the part, if the block has only some of them
    std::optional<Event> numbers;  ///< have come; none if nothing is served
    std::optional<Event> rows;     ///< have come and gone
  };
  const TileLayout& layout() const { return graphs_.layout(); }
  int part() const { return layout().part_of(rt_.rank()); }

  void load(int layer, std::int64_t rows_per_group);
  Block load_block(const SparseMatrix& block, const IndexList* entries, int column_tiles,
                   std::string_view name);
  void make_room(std::int64_t width);
  /// y ← y + A·x, for the rows and columns of group g.
  void multiply_group(std::size_t g, const Tensor& y, const UseBlock& use);
  void use_block(const Block& block, const Tensor& x, const Tensor& y, float beta,
                 const UseBlock& use);
  /// Sends the numbers of group g, once their room is free.
  void send_numbers(std::size_t g, Event free);
  /// Sends the rows that group g of another part requests.
  Event send_rows(std::size_t g, const Tensor& x);

  Runtime& rt_;
  const LayerGraphs& graphs_;
  InferenceConfig config_;
  int column_tiles_;
  bool weighed_;
  std::int64_t most_entries_ = 0;

  std::int64_t rows_per_group_ = 0;  ///< of the matrices that are there; 0: there are none
  Block local_;
  std::vector<FetchGroup> groups_;
  Buffer numbers_;          ///< of all rows that this rank requests
  std::int64_t own_ = 0;    ///< columns for which there is room
  bool multiplied_ = true;  ///< the product since set_out() is done, or there is none

  std::array<Buffer, 2> asked_, sent_, received_;  ///< numbers, and rows
  Buffer partial_;                                 ///< what a group adds to some rows of the part
};

}  // namespace orrery
