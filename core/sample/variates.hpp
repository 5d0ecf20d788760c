// Variates of vertices: numbers that all rows of a layer share.
#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/csr.hpp"

namespace orrery {

/// A permutation of the 32-bit numbers, chosen by two words, applied to one vertex or to a vector
/// of them. In place, because wide vectors are no results without their instruction set.
///
/// Source    the finaliser "lowbias32" (Wellons, 2018), with a key before each of its rounds
template <class Words>
[[gnu::always_inline]] inline void to_variates(Words& x, std::uint32_t first,
                                               std::uint32_t second) {
  x += first;
  x = (x ^ (x >> 16U)) * 0x7FEB352DU;
  x ^= second;
  x = (x ^ (x >> 15U)) * 0x846CA68BU;
  x += first;
  x = (x ^ (x >> 16U)) * 0x7FEB352DU;
  x ^= x >> 15U;
}

/// The variates of different vertices differ.
struct Variates {
  std::uint32_t first = 0, second = 0;

  std::uint32_t of(Vertex v) const {
    auto x = static_cast<std::uint32_t>(v);
    to_variates(x, first, second);
    return x;
  }

  /// Room that below() needs behind its results.
  static constexpr std::uint32_t kSlack = 16;
  /// found ← variate << 32 | i of every vertex i whose variate is not above `bound`, in their order;
  /// returns how many they are.
  ///
  /// Shapes    vertices [count], found [count + kSlack]
  std::uint32_t below(std::uint32_t bound, const Vertex* vertices, std::uint32_t count,
                      std::uint64_t* found) const;
  /// places[i] ← how many of the `many` distinct entries are less than entry i.
  ///
  /// Shapes    entries, places [many + kSlack]
  static void places_of(const std::uint64_t* entries, std::uint32_t many, std::uint64_t* places);
};

/// Variates::below and places_of, compiled for one set of instructions. All give the same.
struct VariateLoops {
  const char* instructions;
  std::uint32_t (*below)(const Variates&, std::uint32_t bound, const Vertex* vertices,
                         std::uint32_t count, std::uint64_t* found);
  void (*places_of)(const std::uint64_t* entries, std::uint32_t many, std::uint64_t* places);
};

/// Those that this processor can run, the fastest last.
std::vector<VariateLoops> variate_loops();

}  // namespace orrery
