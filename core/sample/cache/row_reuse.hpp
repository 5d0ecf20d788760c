// How many requests for rows caches of every policy and size would answer, from one record of the
// requests.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/graph/csr.hpp"

namespace orrery {

// Requests are numbers of rows in [0, vertices), in the order in which they are made. A result is
// for caches of 0, 1, 2, ... rows; a cache with more rows than the result has as many hits as the
// last.

/// For caches that keep the most recently requested rows and start empty.
///
/// Source    Mattson, Gecsei, Slutz, Traiger 1970: a cache of k rows has the row if at most k
///           distinct ones were asked for since it was, itself among them
/// Cost      O(n log n) for n requests
std::vector<std::int64_t> lru_hits(std::span<const Vertex> requests, std::int64_t vertices);

/// For caches that always have the first rows of `kept`, which are distinct.
std::vector<std::int64_t> fixed_hits(std::span<const Vertex> requests, std::int64_t vertices,
                                     std::span<const Vertex> kept);

/// The most requests that a cache with this many rows can answer, for any initial content and any
/// decisions: the bound of every policy.
///
/// Source    Belady 1966, with the choice of not keeping a row: of all rows that could be kept
///           until they are asked for again, those for which that is the longest away are not
/// Cost      O(n log n) for n requests
std::int64_t most_hits(std::span<const Vertex> requests, std::int64_t vertices, std::int64_t rows);

}  // namespace orrery
