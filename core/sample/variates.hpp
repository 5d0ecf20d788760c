// Variates of vertices: numbers that all rows of a layer share.
#pragma once

#include <cstdint>

#include "core/graph/csr.hpp"

namespace orrery {

/// A permutation of the 32-bit numbers, chosen by two words: the variates of different vertices
/// differ.
///
/// Source    the finaliser "lowbias32" (Wellons, 2018), with a key before each of its rounds
struct Variates {
  std::uint32_t first = 0, second = 0;

  [[gnu::always_inline]] std::uint32_t of(Vertex v) const {
    std::uint32_t x = static_cast<std::uint32_t>(v) + first;
    x = (x ^ (x >> 16U)) * 0x7FEB352DU;
    x ^= second;
    x = (x ^ (x >> 15U)) * 0x846CA68BU;
    x += first;
    x = (x ^ (x >> 16U)) * 0x7FEB352DU;
    return x ^ (x >> 15U);
  }

  /// Number of vertices whose variates are computed together.
  static constexpr std::uint32_t kAtOnce = 64;
  /// Variates of `count` <= kAtOnce vertices; returns the lowest.
  std::uint32_t of(const Vertex* vertices, std::uint32_t count, std::uint32_t* variates) const;
};

}  // namespace orrery
