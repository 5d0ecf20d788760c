// Combinations of parameters in which every two values meet: instead of all combinations, where a
// fault needs two values at most to show. A value beside which the others do not matter (no rows)
// belongs into a loop around them, or two values may meet on nothing only.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace orrery::testing {

/// Rows of indices, one for each list of the given lengths, such that every two indices of two
/// lists stand in one row. Always the same rows; about as many as the two longest lists have pairs.
///
/// Cost  greedy: a row begins with the first pair that is missing; every other list gives what
///       brings most missing pairs, of these what was used least
inline std::vector<std::vector<std::size_t>> rows_of_pairs(const std::vector<std::size_t>& sizes) {
  constexpr auto kOpen = static_cast<std::size_t>(-1);
  using Place = std::pair<std::size_t, std::size_t>;  // list, index in it
  const std::size_t lists = sizes.size();
  std::set<std::pair<Place, Place>> missing;
  for (std::size_t a = 0; a < lists; ++a)
    for (std::size_t b = a + 1; b < lists; ++b)
      for (std::size_t i = 0; i < sizes[a]; ++i)
        for (std::size_t j = 0; j < sizes[b]; ++j) missing.insert({{a, i}, {b, j}});
  if (std::find(sizes.begin(), sizes.end(), 0U) != sizes.end()) return {};

  std::vector<std::vector<std::size_t>> rows, uses;
  for (const std::size_t size : sizes) uses.emplace_back(size, 0);
  while (!missing.empty()) {
    std::vector<std::size_t> row(lists, kOpen);
    const auto [first, second] = *missing.begin();
    row[first.first] = first.second;
    row[second.first] = second.second;
    for (std::size_t list = 0; list < lists; ++list) {
      if (row[list] != kOpen) continue;
      const auto brought = [&](std::size_t index) {
        std::size_t count = 0;
        for (std::size_t other = 0; other < lists; ++other)
          if (row[other] != kOpen)
            count += missing.count(std::minmax(Place{list, index}, Place{other, row[other]}));
        return count;
      };
      std::size_t best = 0, most = brought(0);
      for (std::size_t index = 1; index < sizes[list]; ++index) {
        const std::size_t count = brought(index);
        if (count < most || (count == most && uses[list][index] >= uses[list][best])) continue;
        best = index;
        most = count;
      }
      row[list] = best;
    }
    for (std::size_t a = 0; a < lists; ++a) {
      ++uses[a][row[a]];
      for (std::size_t b = a + 1; b < lists; ++b) missing.erase({{a, row[a]}, {b, row[b]}});
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

/// One tuple for each row of rows_of_pairs(): every two values of two lists stand in one of them.
template <class... Lists>
requires(sizeof...(Lists) >= 2) auto pairs_of(const Lists&... lists) {
  std::vector<std::tuple<typename Lists::value_type...>> tuples;
  for (const auto& row : rows_of_pairs({std::size(lists)...}))
    [&]<std::size_t... list>(std::index_sequence<list...>) {
      tuples.emplace_back(lists[row[list]]...);
    }
  (std::index_sequence_for<Lists...>());
  return tuples;
}

}  // namespace orrery::testing
