#include "core/partition/kept/digest.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "core/base/index.hpp"
#include "core/base/parallel.hpp"

namespace orrery {
namespace {

constexpr std::int64_t kBlock = 16 << 20;  // bytes

/// Every bit of the result depends on every bit of x.
std::uint64_t spread(std::uint64_t x) {
  x = (x ^ (x >> 33U)) * 0xff51afd7ed558ccdU;
  x = (x ^ (x >> 33U)) * 0xc4ceb9fe1a85ec53U;
  return x ^ (x >> 33U);
}

}  // namespace

void Digest::mix(std::uint64_t first, std::uint64_t second) {
  constexpr std::uint64_t kFirst = 0x87c37b91114253d5U, kSecond = 0x4cf5ad432745937fU;
  high_ ^= std::rotl(first * kFirst, 31) * kSecond;
  high_ = (std::rotl(high_, 27) + low_) * 5 + 0x52dce729U;
  low_ ^= std::rotl(second * kSecond, 33) * kFirst;
  low_ = (std::rotl(low_, 31) + high_) * 5 + 0x38495ab5U;
}

void Digest::add(std::string_view bytes) {
  mix(bytes.size(), 1);
  for (std::size_t i = 0; i < bytes.size(); i += sizeof(std::array<std::uint64_t, 2>)) {
    std::array<std::uint64_t, 2> words{};
    std::memcpy(words.data(), bytes.data() + i, std::min(sizeof words, bytes.size() - i));
    mix(words[0], words[1]);
  }
}

void Digest::add(std::int64_t number) { mix(static_cast<std::uint64_t>(number), 2); }

void Digest::add_array(std::string_view bytes) {
  const auto size = static_cast<std::int64_t>(bytes.size());
  std::vector<Digest> blocks(at((size + kBlock - 1) / kBlock));
  parallel_for(std::ssize(blocks), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      blocks[at(i)].add(bytes.substr(at(i * kBlock), at(kBlock)));
  });
  mix(bytes.size(), 3);
  for (const Digest& block : blocks) mix(block.high_, block.low_);
}

std::string Digest::text() const {
  const std::uint64_t high = spread(high_ + low_), low = spread(low_ + 2 * high_);
  return fmt::format("{:016x}{:016x}", high + low, high + 2 * low);
}

}  // namespace orrery
