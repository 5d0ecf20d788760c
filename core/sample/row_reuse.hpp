// How many requests for rows a cache would answer, of every policy and size, from one record of the
// requests.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/graph/csr.hpp"

namespace orrery {

// Requests are numbers of rows in [0, vertices), in the order in which they are made. A result is
// for caches of 0, 1, 2, ... rows; one of more rows than the result tells has as many hits as the
// last.

/// Of caches that keep the rows that were asked for last, and begin with none.
///
/// Source    Mattson, Gecsei, Slutz, Traiger 1970: a cache of k rows has the row if at most k
///           distinct ones were asked for since it was, itself among them
/// Cost      O(n log n) for n requests
std::vector<std::int64_t> lru_hits(std::span<const Vertex> requests, std::int64_t vertices);

/// Of caches that always have the first rows of `kept`, which are distinct.
std::vector<std::int64_t> fixed_hits(std::span<const Vertex> requests, std::int64_t vertices,
                                     std::span<const Vertex> kept);

/// The most that a cache of so many rows can answer, whatever it begins with, whichever rows it
/// takes in and whenever it drops one: the bound of every policy.
///
/// Source    Belady 1966, with the choice of not keeping a row: of all rows that could be kept
///           until they are asked for again, those for which that is the longest away are not
/// Cost      O(n log n) for n requests
std::int64_t most_hits(std::span<const Vertex> requests, std::int64_t vertices, std::int64_t rows);

}  // namespace orrery
