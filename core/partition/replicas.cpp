#include "core/partition/replicas.hpp"

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/rng.hpp"

namespace orrery {

std::int32_t Replicas::at(Vertex v, int i) const {
  for (std::size_t k = 0; k < bytes_; ++k) {
    unsigned byte = bits_[first_of(v) + k];
    const int here = std::popcount(byte);
    if (i >= here) {
      i -= here;
      continue;
    }
    for (; i > 0; --i) byte &= byte - 1;
    return static_cast<std::int32_t>(8 * k) + std::countr_zero(byte);
  }
  ORRERY_ASSERT(!"fewer parts hold the vertex");
  return -1;
}

std::int64_t Replicas::total() const {
  std::int64_t sum = 0;
  for (const auto byte : bits_) sum += std::popcount(byte);
  return sum;
}

Partition draw_owners(const Replicas& replicas, std::int64_t vertices, int parts,
                      std::uint64_t seed) {
  Partition partition{parts, std::vector<std::int32_t>(static_cast<std::size_t>(vertices))};
  for (std::int64_t i = 0; i < vertices; ++i) {
    const auto v = static_cast<Vertex>(i);
    const int held = replicas.empty() ? 0 : replicas.count(v);
    const auto bits = random_bits(seed, Purpose::partition, static_cast<std::uint32_t>(v));
    const auto draw =
        uniform_below(bits[0], bits[1], static_cast<std::uint64_t>(held > 0 ? held : parts));
    partition.owner[at(i)] =
        held > 0 ? replicas.at(v, static_cast<int>(draw)) : static_cast<std::int32_t>(draw);
  }
  return partition;
}

}  // namespace orrery
