// Who brings which rows of a table whose rows lie with their owners, where every rank knows what all
// ranks ask for: the way there and the way back.
#pragma once

#include <memory>
#include <vector>

#include "core/strategy/structure/index_list.hpp"
#include "core/strategy/structure/sampled_batches.hpp"

namespace orrery {

/// One rank's part. Rows are brought by owner, within an owner in the order in which they are asked
/// for; own ones too.
struct RowExchange {
  using Counts = std::shared_ptr<const std::vector<std::int64_t>>;
  Counts brought_rows;  ///< of each rank
  IndexList places;     ///< [rows of the batch]: where each stands among the brought
  IndexList order;      ///< [brought]: which row of the batch each is; the inverse of places
  Counts asked_rows;    ///< by each rank
  IndexList asked;      ///< [asked]: own numbers, by the rank that asks
  IndexList distinct;   ///< own numbers that anybody asks for, ascending
  IndexList into;       ///< [asked]: where each stands among the distinct

  std::int64_t brought() const { return order.size(); }
};

/// `asked`: what each rank asks for; `places`: of this one's.
///
/// Shapes    places: [rows of the batch], a permutation
RowExchange make_row_exchange(int rank, const std::vector<OwnedRows>& asked,
                              const std::vector<Vertex>& places);

/// What no exchange exceeds in which every rank asks for so many rows; counted only.
///
/// Shapes    owned: rows of each rank
RowExchange largest_row_exchange(int rank, std::int64_t rows,
                                 const std::vector<std::int64_t>& owned);

}  // namespace orrery
