// Chooses the part that has an edge between two parts, if only one has it.
#pragma once

#include <algorithm>

#include "core/base/rng.hpp"
#include "core/graph/csr.hpp"

namespace orrery {

/// The end of an edge whose part has the edge: a draw from the seed and the two numbers, the same
/// for both directions and every caller.
///
/// Source    CATGNN 5.5: "when its end nodes belong to different partitions, it is just assigned or
///           added to one of the partitions randomly"
/// Departs   the paper streams the two directions of an undirected edge one by one, and does not say
///           whether they may go to different sides; ours stay together, so that A stays symmetric
inline Vertex drawn_end(std::uint64_t seed, Vertex u, Vertex v) {
  const Vertex low = std::min(u, v), high = std::max(u, v);
  const auto bits = random_bits(seed, Purpose::partition, static_cast<std::uint32_t>(low),
                                static_cast<std::uint32_t>(high), 1);
  return (bits[0] & 1U) == 0 ? low : high;
}

}  // namespace orrery
