// The inputs of a sampler's draws, and their random words.
#pragma once

#include <cstdint>

#include "core/base/rng.hpp"
#include "core/graph/csr.hpp"

namespace orrery {

/// Draws are a function of this, the layer and the global vertex, and of nothing else: not of the
/// rank, the thread, or the other vertices of a batch.
struct DrawKey {
  std::uint64_t seed = 0;
  std::uint32_t epoch = 0;
  std::uint32_t step = 0;  ///< global; 0 if all steps of an epoch draw alike
  bool operator==(const DrawKey&) const = default;
};

/// The words of one row: those of (key, layer, vertex), in order.
class RowDraws {
 public:
  /// `key_seed`: seed_of() of the key.
  RowDraws(std::uint64_t key_seed, std::uint32_t layer, Vertex vertex)
      : seed_(key_seed), layer_(layer), vertex_(static_cast<std::uint32_t>(vertex)) {}

  static std::uint64_t seed_of(const DrawKey& key) {
    return derived_seed(key.seed, Purpose::sampler, key.epoch, key.step);
  }

  std::uint32_t word() {
    if (used_ == 4) {
      bits_ = random_bits(seed_, Purpose::sampler, vertex_, layer_, next_++);
      used_ = 0;
    }
    return bits_[used_++];
  }

  /// 0, ..., n − 1, all with equal probability, without any bias.
  ///
  /// Requires  n >= 1
  /// Source    Lemire, "Fast random integer generation in an interval" (2019)
  std::uint32_t below(std::uint32_t n) {
    std::uint64_t product = std::uint64_t{word()} * n;
    if (static_cast<std::uint32_t>(product) < n) [[unlikely]] {
      const std::uint32_t threshold = (0U - n) % n;
      while (static_cast<std::uint32_t>(product) < threshold) product = std::uint64_t{word()} * n;
    }
    return static_cast<std::uint32_t>(product >> 32U);
  }

  /// (0, 1] with 32 bits: its logarithm is finite.
  double uniform() { return (static_cast<double>(word()) + 1.0) * 0x1.0p-32; }

 private:
  std::uint64_t seed_;
  std::uint32_t layer_, vertex_, next_ = 0;
  std::array<std::uint32_t, 4> bits_{};
  unsigned used_ = 4;
};

}  // namespace orrery
