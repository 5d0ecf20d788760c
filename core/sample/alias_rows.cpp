#include "core/sample/alias_rows.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/base/cache_line.hpp"
#include "core/base/error.hpp"
#include "core/base/index.hpp"

namespace orrery {
namespace {

/// Vain draws per wanted entry before the rest is drawn by keys of all entries. A row in which a
/// few entries have nearly all the weight would otherwise take forever.
constexpr std::uint32_t kPatience = 8;

constexpr std::uint32_t kAlways = std::numeric_limits<std::uint32_t>::max();

}  // namespace

AliasRows::AliasRows(const CsrView& graph, std::span<const float> weights)
    : weights_(weights), entries_(weights.size()), positive_(at(graph.rows), 0) {
  if (static_cast<std::int64_t>(weights.size()) != graph.nnz())
    throw Error(fmt::format("{} weights for {} edges", weights.size(), graph.nnz()));
  std::vector<double> share;
  std::vector<std::uint32_t> small, large;
  for (std::int64_t r = 0; r < graph.rows; ++r) {
    const EdgeIndex begin = graph.offsets[at(r)];
    const auto length = static_cast<std::uint32_t>(graph.degree(r));
    for (std::uint32_t i = 0; i < length; ++i) {
      const float weight = weights[at(begin) + i];
      if (!(weight >= 0) || !std::isfinite(weight))
        throw Error(fmt::format("the weight of edge {} is {}, expected a finite number >= 0",
                                begin + i, weight));
      if (weight > 0) ++positive_[at(r)];
    }
    if (positive_[at(r)] > 0) build_row(begin, length, share, small, large);
  }
}

void AliasRows::build_row(EdgeIndex begin, std::uint32_t length, std::vector<double>& share,
                          std::vector<std::uint32_t>& small, std::vector<std::uint32_t>& large) {
  double sum = 0;
  for (std::uint32_t i = 0; i < length; ++i) sum += double{weights_[at(begin) + i]};
  share.resize(length);
  small.clear();
  large.clear();
  for (std::uint32_t i = 0; i < length; ++i) {
    share[i] = double{weights_[at(begin) + i]} * length / sum;
    (share[i] < 1 ? small : large).push_back(i);
  }
  while (!small.empty() && !large.empty()) {
    const std::uint32_t low = small.back(), high = large.back();
    small.pop_back();
    entries_[at(begin) + low] = {static_cast<std::uint32_t>(share[low] * 0x1.0p32), high};
    share[high] -= 1 - share[low];
    if (share[high] < 1) {
      large.pop_back();
      small.push_back(high);
    }
  }
  for (const std::uint32_t i : large) entries_[at(begin) + i] = {kAlways, i};
  // Entries left here have a share of 1 up to rounding; one without weight passes its share to one
  // with weight.
  for (const std::uint32_t i : small) {
    const bool has_weight = weights_[at(begin) + i] > 0;
    std::uint32_t other = i;
    if (!has_weight)
      while (weights_[at(begin) + (other = (other + 1) % length)] <= 0) {
      }
    entries_[at(begin) + i] = {has_weight ? kAlways : 0, other};
  }
}

void AliasRows::draw_some(Begun& begun, EdgeIndex begin, std::uint32_t length,
                          std::uint32_t most) const {
  begun.many = std::min(most, kAtOnce);
  for (std::uint32_t d = 0; d < begun.many; ++d) {
    const std::uint64_t product = std::uint64_t{begun.draws.word()} * length;
    const auto i = static_cast<std::uint32_t>(product >> 32U);
    begun.drawn[d] = {i, static_cast<std::uint32_t>(product)};
    prefetch(&entries_[at(begin) + i]);
  }
}

void AliasRows::begin(RowDraws draws, Vertex row, EdgeIndex begin, std::uint32_t length, int fanout,
                      Begun& begun) const {
  begun.draws = draws;
  begun.many = 0;
  if (!takes_all(row, fanout)) draw_some(begun, begin, length, static_cast<std::uint32_t>(fanout));
}

void AliasRows::finish(Begun& begun, Vertex row, EdgeIndex begin, std::uint32_t length, int fanout,
                       RowPicks& picks, RowPicks::Positions& positions) const {
  if (takes_all(row, fanout)) {
    if (positive_[at(row)] == length)
      return picks.all(begin, length, positions);  // weights need no look
    for (std::uint32_t i = 0; i < length; ++i)
      if (weights_[at(begin) + i] > 0) positions.push_back(begin + i);
    return;
  }
  const auto wanted = static_cast<std::uint32_t>(fanout);
  const std::size_t first_of_row = positions.size();
  picks.begin_set(wanted);
  std::uint32_t found = 0;
  for (std::uint32_t tries = 0;;) {
    for (std::uint32_t d = 0; d < begun.many; ++d) {
      auto [i, word] = begun.drawn[d];
      const Entry& entry = entries_[at(begin) + i];
      if (word >= entry.keep && entry.keep != kAlways) i = entry.other;
      if (!picks.insert(i)) continue;
      positions.push_back(begin + i);
      ++found;
    }
    tries += begun.many;
    if (found == wanted) return;
    if (tries >= (kPatience + 1) * wanted) break;
    draw_some(begun, begin, length, wanted - found);
  }
  draw_by_keys(begun.draws, begin, length, first_of_row, wanted - found, positions);
}

void AliasRows::draw_by_keys(RowDraws& draws, EdgeIndex begin, std::uint32_t length,
                             std::size_t first_of_row, std::uint32_t wanted,
                             RowPicks::Positions& positions) const {
  // Draws of one thread are sequential, so its rows share this memory.
  static thread_local std::vector<std::pair<double, EdgeIndex>> keys;
  keys.clear();
  const std::size_t taken = positions.size();
  for (EdgeIndex e = begin; e < begin + length; ++e) {
    const double uniform = draws.uniform();  // for every entry: words do not shift
    if (weights_[at(e)] <= 0) continue;
    if (std::find(positions.begin() + static_cast<std::ptrdiff_t>(first_of_row),
                  positions.begin() + static_cast<std::ptrdiff_t>(taken),
                  e) != positions.begin() + static_cast<std::ptrdiff_t>(taken))
      continue;
    keys.emplace_back(-std::log(uniform) / double{weights_[at(e)]}, e);
  }
  std::partial_sort(keys.begin(), keys.begin() + wanted, keys.end());
  for (std::uint32_t i = 0; i < wanted; ++i) positions.push_back(keys[i].second);
}

}  // namespace orrery
