#include "core/inference/input/rows_of_edges.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <span>
#include <utility>

#include "core/base/index.hpp"
#include "core/base/parallel.hpp"

namespace orrery {
namespace {

using Keys = std::vector<std::uint64_t>;

constexpr std::int64_t kEdgesOfBlock =
    1 << 15;  // their keys and a copy of them fit into a core's cache
constexpr std::int64_t kMostBlocks = 1 << 12;  // that are written to side by side
constexpr int kDigit = 11;                     // bits

int bits_of(std::int64_t count) {
  return static_cast<int>(
      std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(count - 1, 0))));
}

/// Sorts by the lowest `bits`.
///
/// Requires  as much room in `other`
void radix_sort(std::span<std::uint64_t> keys, std::span<std::uint64_t> other, int bits) {
  const std::span<std::uint64_t> home = keys;
  for (int low = 0; low < bits; low += kDigit) {
    std::array<std::size_t, 1 << kDigit> next{};
    const auto digit = [&](std::uint64_t key) { return key >> low & ((1U << kDigit) - 1); };
    for (const std::uint64_t key : keys) ++next[digit(key)];
    std::exclusive_scan(next.begin(), next.end(), next.begin(), std::size_t{0});
    for (const std::uint64_t key : keys) other[next[digit(key)]++] = key;
    std::swap(keys, other);
  }
  if (keys.data() != home.data()) std::copy(keys.begin(), keys.end(), home.begin());
}

/// Edges by block of 2^shift rows. A key is the row in its block, then the column.
struct Blocks {
  int shift = 0, column_bits = 0;
  std::vector<std::int64_t> first;  ///< of each block, and the number of edges
  Keys keys;
};

Blocks deal(std::vector<Vertex>&& pairs, std::int64_t rows, std::int64_t columns) {
  const std::int64_t edges = std::ssize(pairs) / 2;
  const std::int64_t most = std::clamp<std::int64_t>(edges / kEdgesOfBlock, 1, kMostBlocks);
  Blocks made{bits_of((rows + most - 1) / most), bits_of(columns), {}, {}};
  const int shift = made.shift;
  made.first.assign(at((rows >> shift) + 2), 0);
  for (std::size_t i = 0; i < pairs.size(); i += 2) ++made.first[at(pairs[i] >> shift) + 1];
  std::partial_sum(made.first.begin(), made.first.end(), made.first.begin());
  std::vector<std::int64_t> next(made.first.begin(), made.first.end() - 1);
  made.keys.resize(at(edges));
  const std::uint64_t in_block = (std::uint64_t{1} << shift) - 1;
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    const auto row = static_cast<std::uint64_t>(pairs[i]);
    made.keys[at(next[row >> shift]++)] =
        (row & in_block) << made.column_bits | static_cast<std::uint64_t>(pairs[i + 1]);
  }
  std::vector<Vertex>().swap(pairs);
  return made;
}

}  // namespace

Csr sorted_rows(std::vector<Vertex>&& pairs, std::int64_t rows, std::int64_t columns) {
  Blocks blocks = deal(std::move(pairs), rows, columns);
  Csr made{rows, columns, std::vector<EdgeIndex>(at(rows) + 1, 0), {}};
  const std::uint64_t column_mask = (std::uint64_t{1} << blocks.column_bits) - 1;
  const std::int64_t count = std::ssize(blocks.first) - 1;
  std::vector<std::int64_t> kept(at(count), 0);
  parallel_for(count, 1, [&](std::int64_t begin, std::int64_t end) {
    Keys other;
    for (std::int64_t b = begin; b < end; ++b) {
      const std::span<std::uint64_t> keys =
          std::span(blocks.keys)
              .subspan(at(blocks.first[at(b)]), at(blocks.first[at(b) + 1] - blocks.first[at(b)]));
      if (other.size() < keys.size()) other.resize(keys.size());
      radix_sort(keys, std::span(other).first(keys.size()), blocks.shift + blocks.column_bits);
      const auto last = std::unique(keys.begin(), keys.end());
      kept[at(b)] = last - keys.begin();
      const std::int64_t first_row = b << blocks.shift;
      for (auto key = keys.begin(); key != last; ++key)
        ++made.offsets[at(first_row + static_cast<std::int64_t>(*key >> blocks.column_bits)) + 1];
    }
  });
  std::partial_sum(made.offsets.begin(), made.offsets.end(), made.offsets.begin());
  made.columns.reserve(at(made.offsets.back()));
  for (std::int64_t b = 0; b < count; ++b)
    for (std::int64_t i = 0; i < kept[at(b)]; ++i)
      made.columns.push_back(
          static_cast<Vertex>(blocks.keys[at(blocks.first[at(b)] + i)] & column_mask));
  return made;
}

}  // namespace orrery
