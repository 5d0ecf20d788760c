// A hash of ordered pairs of vertices whose sums distinguish sets of edges.
#pragma once

#include <cstdint>

#include "core/graph/csr.hpp"

namespace orrery {

/// A well-mixed function of an ordered pair.
///
/// Source    splitmix64's finaliser
inline std::uint64_t hash_of(Vertex a, Vertex b) {
  std::uint64_t x =
      std::uint64_t{static_cast<std::uint32_t>(a)} << 32U | static_cast<std::uint32_t>(b);
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

}  // namespace orrery
