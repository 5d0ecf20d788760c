// Which parts hold a copy of which vertex, one bit each.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "core/base/cache_line.hpp"
#include "core/base/index.hpp"
#include "core/graph/csr.hpp"
#include "core/partition/partition.hpp"

namespace orrery {

/// A set of parts for every vertex: parts/8 bytes each, rounded up.
class Replicas {
 public:
  Replicas() = default;
  Replicas(std::int64_t vertices, int parts)
      : bytes_((static_cast<std::size_t>(parts) + 7) / 8),
        bits_(static_cast<std::size_t>(vertices) * bytes_) {}

  bool empty() const { return bits_.empty(); }
  bool has(Vertex v, std::int32_t part) const {
    return (bits_[byte_of(v, part)] >> (static_cast<unsigned>(part) % 8U) & 1U) != 0;
  }
  void add(Vertex v, std::int32_t part) {
    auto& byte = bits_[byte_of(v, part)];
    byte = static_cast<std::uint8_t>(byte | 1U << (static_cast<unsigned>(part) % 8U));
  }
  /// Adds to v the parts that hold u in `other`, a set of the same shape.
  void add_all(Vertex v, const Replicas& other, Vertex u) {
    for (std::size_t i = 0; i < bytes_; ++i)
      bits_[first_of(v) + i] =
          static_cast<std::uint8_t>(bits_[first_of(v) + i] | other.bits_[first_of(u) + i]);
  }
  /// Parts that hold v.
  int count(Vertex v) const {
    int sum = 0;
    for (std::size_t i = 0; i < bytes_; ++i) sum += std::popcount(bits_[first_of(v) + i]);
    return sum;
  }
  /// The i-th of the parts that hold v, in ascending order.
  ///
  /// Requires  0 <= i < count(v)
  std::int32_t at(Vertex v, int i) const;
  /// Number of copies of all vertices.
  std::int64_t total() const;
  void fetch(Vertex v) const { prefetch_to_write(&bits_[first_of(v)]); }

 private:
  std::size_t first_of(Vertex v) const { return static_cast<std::size_t>(v) * bytes_; }
  std::size_t byte_of(Vertex v, std::int32_t part) const {
    return first_of(v) + static_cast<std::size_t>(part) / 8;
  }
  std::size_t bytes_ = 0;
  std::vector<std::uint8_t> bits_;
};

/// An owner for every vertex, drawn among the parts that hold it, or among all parts if none does.
///
/// Source    CATGNN 3.2: "we randomly select one of them as the target training node"
Partition draw_owners(const Replicas& replicas, std::int64_t vertices, int parts,
                      std::uint64_t seed);

}  // namespace orrery
