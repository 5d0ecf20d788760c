// Which ranks bring which rows of a table whose rows lie with their owners, if every rank knows the
// requests of all: the way there and the way back.
#pragma once

#include <memory>
#include <vector>

#include "core/strategy/structure/index_list.hpp"
#include "core/strategy/structure/sampled_batches.hpp"

namespace orrery {

/// One rank's part. Rows are brought by owner, and within an owner in the order of requests; own
/// rows, too.
///
/// Placement numbers of one rank, in host memory
struct RowExchange {
  using Counts = std::shared_ptr<const std::vector<std::int64_t>>;
  Counts brought_rows;  ///< of each rank
  IndexList places;     ///< [rows of the batch]: place of each among the brought rows
  IndexList order;      ///< [brought]: row of the batch; the inverse of places
  Counts asked_rows;    ///< by each rank
  IndexList asked;      ///< [asked]: own numbers, by the requesting rank
  IndexList distinct;   ///< own numbers of learned rows that any rank requests, ascending
  IndexList into;       ///< [asked]: place of each among the distinct ones; of others: behind these
  bool has_others = false;  ///< rows that are requested and not learned

  std::int64_t brought() const { return order.size(); }
  /// Bytes of its lists in host memory.
  std::int64_t bytes() const;
};

/// `asked`: requests of each rank; `places`: those of this rank; `learned`: whether each own row is, null:
/// all are.
///
/// Shapes    places: [rows of the batch], a permutation
RowExchange make_row_exchange(int rank, const std::vector<OwnedRows>& asked,
                              const std::vector<Vertex>& places,
                              const std::vector<bool>* learned = nullptr);

/// Bounds of any exchange in which a rank requests at most this many rows, of the ranks whose numbers
/// differ from its own by a multiple of `stride`, and so do these; counted only.
///
/// Shapes    owned: rows of each rank
RowExchange largest_row_exchange(int rank, std::int64_t rows,
                                 const std::vector<std::int64_t>& owned, int stride = 1);

}  // namespace orrery
