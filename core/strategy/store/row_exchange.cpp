#include "core/strategy/store/row_exchange.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "core/base/index.hpp"

namespace orrery {
namespace {

using Numbers = std::vector<Vertex>;

IndexList listed(Numbers numbers) {
  return IndexList(std::make_shared<const Numbers>(std::move(numbers)));
}

}  // namespace

std::int64_t RowExchange::bytes() const {
  std::int64_t numbers = 0;
  for (const IndexList* list : {&places, &order, &asked, &distinct, &into}) numbers += list->size();
  return numbers * static_cast<std::int64_t>(sizeof(Vertex)) +
         (std::ssize(*brought_rows) + std::ssize(*asked_rows)) *
             static_cast<std::int64_t>(sizeof(std::int64_t));
}

RowExchange make_row_exchange(int rank, const std::vector<OwnedRows>& asked,
                              const std::vector<Vertex>& places, const std::vector<bool>* learned) {
  RowExchange made;
  made.brought_rows = asked[at(rank)].rows_per_owner;
  Numbers order(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) order[at(places[i])] = static_cast<Vertex>(i);
  made.places = listed(places);
  made.order = listed(std::move(order));

  auto counts = std::make_shared<std::vector<std::int64_t>>();
  Numbers own;
  for (const OwnedRows& rows : asked) {
    const std::vector<std::int64_t>& per_owner = *rows.rows_per_owner;
    const auto first =
        rows.numbers->begin() +
        std::accumulate(per_owner.begin(), per_owner.begin() + rank, std::int64_t{0});
    counts->push_back(per_owner[at(rank)]);
    own.insert(own.end(), first, first + counts->back());
  }
  const auto is_learned = [&](Vertex row) { return learned == nullptr || (*learned)[at(row)]; };
  Numbers distinct;
  std::copy_if(own.begin(), own.end(), std::back_inserter(distinct), is_learned);
  made.has_others = distinct.size() < own.size();
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  Numbers into(own.size());
  for (std::size_t i = 0; i < own.size(); ++i)
    into[i] = static_cast<Vertex>((is_learned(own[i])
                                       ? std::lower_bound(distinct.begin(), distinct.end(), own[i])
                                       : distinct.end()) -
                                  distinct.begin());
  made.asked_rows = std::move(counts);
  made.asked = listed(std::move(own));
  made.distinct = listed(std::move(distinct));
  made.into = listed(std::move(into));
  return made;
}

RowExchange largest_row_exchange(int rank, std::int64_t rows,
                                 const std::vector<std::int64_t>& owned, int stride) {
  RowExchange made;
  const std::int64_t each = std::min(rows, owned[at(rank)]);
  auto brought = std::make_shared<std::vector<std::int64_t>>(owned.size(), 0);
  auto asked = std::make_shared<std::vector<std::int64_t>>(owned.size(), 0);
  std::int64_t ranks = 0;
  for (std::size_t r = at(rank % stride); r < owned.size(); r += at(stride), ++ranks) {
    (*brought)[r] = std::min(rows, owned[r]);
    (*asked)[r] = each;
  }
  made.asked_rows = std::move(asked);
  made.places = IndexList::counted(rows);
  made.order =
      IndexList::counted(std::accumulate(brought->begin(), brought->end(), std::int64_t{0}));
  made.brought_rows = std::move(brought);
  made.asked = made.into = IndexList::counted(ranks * each);
  made.distinct = IndexList::counted(std::min(ranks * each, owned[at(rank)]));
  return made;
}

}  // namespace orrery
