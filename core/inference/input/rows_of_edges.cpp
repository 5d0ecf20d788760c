#include "core/inference/input/rows_of_edges.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "core/base/huge_pages.hpp"
#include "core/base/index.hpp"
#include "core/base/parallel.hpp"

namespace orrery {
namespace {

using Key = DealtEdges::Key;

// Blocks are written to side by side, so the line that each writes next should stay in a cache.
constexpr std::int64_t kMostBlocks = 1 << 10;
constexpr std::int64_t kLeastRows = 1 << 6;   // of a block
constexpr std::int64_t kAtOnce = 1 << 15;     // edges that a thread deals
constexpr std::size_t kLargeBlock = 1 << 17;  // edges; their keys do not fit into a cache twice
constexpr int kDigit = 11;                    // bits
constexpr std::size_t kShortRow = 32;         // entries that are moved one by one

int bits_of(std::int64_t count) {
  return static_cast<int>(
      std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(count - 1, 0))));
}

/// Sorts numbers of at most Passes · digit bits, `digit` bits at a time. Digits that all numbers share
/// move nothing. `each_part(use)` hands over the numbers in parts, twice.
///
/// Requires  as much room as there are numbers in both arrays; `other` may be where they lie
/// Returns   the array that has the result
template <int Passes, class Number, class EachPart>
Number* radix_sort(const EachPart& each_part, std::size_t count, int digit, Number* into,
                   Number* other) {
  std::array<std::array<std::uint32_t, 1 << kDigit>, Passes> next;
  const Number mask = (Number{1} << digit) - 1;
  for (auto& of_pass : next) std::fill_n(of_pass.begin(), std::size_t{1} << digit, 0);
  each_part([&](std::span<const Number> part) {
    for (const Number number : part)
      for (int pass = 0; pass < Passes; ++pass)
        ++next[at(pass)][static_cast<std::size_t>(number >> (pass * digit) & mask)];
  });
  const Number* sorted = nullptr;  // not yet: the numbers are in their parts
  for (int pass = 0; pass < Passes; ++pass) {
    auto& of_pass = next[at(pass)];
    std::uint32_t before = 0;
    bool moves = false;
    for (std::size_t d = 0; d <= static_cast<std::size_t>(mask); ++d) {
      const std::uint32_t here = std::exchange(of_pass[d], before);
      moves = moves || (here != 0 && here != count);
      before += here;
    }
    if (!moves && (sorted != nullptr || pass + 1 < Passes)) continue;
    const auto move = [&](std::span<const Number> part) {
      for (const Number number : part)
        into[of_pass[static_cast<std::size_t>(number >> (pass * digit) & mask)]++] = number;
    };
    if (sorted == nullptr)
      each_part(move);
    else
      move({sorted, count});
    sorted = into;
    std::swap(into, other);
  }
  return other;
}

/// The same for numbers of this many bits.
template <class Number, class EachPart>
Number* radix_sort(const EachPart& each_part, std::size_t count, int bits, int digit, Number* into,
                   Number* other) {
  const int passes = std::max(1, (bits + digit - 1) / digit);
  digit = std::max(1, (bits + passes - 1) / passes);
  switch (passes) {
    case 1:
      return radix_sort<1>(each_part, count, digit, into, other);
    case 2:
      return radix_sort<2>(each_part, count, digit, into, other);
    case 3:
      return radix_sort<3>(each_part, count, digit, into, other);
    case 4:
      return radix_sort<4>(each_part, count, digit, into, other);
    case 5:
      return radix_sort<5>(each_part, count, digit, into, other);
    default:
      return radix_sort<6>(each_part, count, digit, into, other);
  }
}

void insertion_sort(std::uint32_t* begin, const std::uint32_t* end) {
  for (std::uint32_t* next = begin; next < end; ++next) {
    const std::uint32_t moved = *next;
    std::uint32_t* place = next;
    for (; place > begin && place[-1] > moved; --place) *place = place[-1];
    *place = moved;
  }
}

}  // namespace

/// Turns edges of a block into rows; each thread has one.
class RowsOfEdges::Sorter {
 public:
  Sorter(int shift, int column_bits) : shift_(shift), column_bits_(column_bits) {}

  /// The columns of the block's rows, each once, and ends ← where each row ends, counted from the
  /// block's beginning; 0 for a row without any.
  ///
  /// Shapes    ends [2^shift], zero; the last block may have fewer rows
  template <class EachPart>
  std::span<const std::uint32_t> sort(const EachPart& each_part, std::size_t count,
                                      std::span<EdgeIndex> ends) {
    return count <= kLargeBlock ? sort_small(each_part, count, ends)
                                : sort_large(each_part, count, ends);
  }
  std::int64_t bytes() const {
    return static_cast<std::int64_t>(keys_.capacity() * sizeof(Key) +
                                     (columns_.capacity() + other_.capacity()) * 4);
  }

 private:
  template <class EachPart>
  std::span<const std::uint32_t> sort_small(const EachPart& each_part, std::size_t count,
                                            std::span<EdgeIndex> ends) {
    if (keys_.size() < 2 * count) keys_.resize(2 * count);
    if (columns_.size() < count) columns_.resize(count);
    const Key* sorted = radix_sort(each_part, count, shift_ + column_bits_, kDigit, keys_.data(),
                                   keys_.data() + count);
    const Key column = (Key{1} << column_bits_) - 1;
    std::size_t kept = 0;
    Key before = ~Key{0};
    for (const Key key : std::span(sorted, count)) {
      columns_[kept] = static_cast<std::uint32_t>(key & column);
      kept += key != before ? 1 : 0;
      ends[static_cast<std::size_t>(key >> column_bits_)] = static_cast<EdgeIndex>(kept);
      before = key;
    }
    return {columns_.data(), kept};
  }

  /// Row by row, so that digits of the rows are not sorted through main memory.
  template <class EachPart>
  std::span<const std::uint32_t> sort_large(const EachPart& each_part, std::size_t count,
                                            std::span<EdgeIndex> ends) {
    std::vector<Key>().swap(keys_);
    if (columns_.size() < count) columns_.resize(count);
    each_part([&](std::span<const Key> part) {
      for (const Key key : part) ++ends[static_cast<std::size_t>(key >> column_bits_)];
    });
    EdgeIndex before = 0;
    for (EdgeIndex& end : ends) before += std::exchange(end, before);
    const Key column = (Key{1} << column_bits_) - 1;
    each_part([&](std::span<const Key> part) {
      for (const Key key : part)
        columns_[at(ends[static_cast<std::size_t>(key >> column_bits_)]++)] =
            static_cast<std::uint32_t>(key & column);
    });
    std::size_t begin = 0, kept = 0;
    for (EdgeIndex& end : ends) {
      const std::span<std::uint32_t> row(columns_.data() + begin, columns_.data() + end);
      begin = at(end);
      if (!row.empty()) kept = add_row(row, kept);
      end = static_cast<EdgeIndex>(kept);
    }
    return {columns_.data(), kept};
  }

  /// Writes a row, sorted and each column once, to place `kept` of the columns: there or before.
  std::size_t add_row(std::span<std::uint32_t> row, std::size_t kept) {
    const std::uint32_t* sorted = row.data();
    if (row.size() <= kShortRow) {
      insertion_sort(row.data(), row.data() + row.size());
    } else if (row.size() > std::numeric_limits<std::uint32_t>::max()) {
      std::sort(row.begin(), row.end());
    } else {
      if (other_.size() < row.size()) other_.resize(row.size());
      const int digit = row.size() < (1 << kDigit) ? 8 : kDigit;
      const auto all = [&](const auto& use) { use(std::span<const std::uint32_t>(row)); };
      sorted = radix_sort(all, row.size(), column_bits_, digit, other_.data(), row.data());
    }
    columns_[kept++] = sorted[0];
    for (std::size_t i = 1; i < row.size(); ++i) {
      const std::uint32_t column = sorted[i];
      if (column != columns_[kept - 1]) columns_[kept++] = column;
    }
    return kept;
  }

  int shift_, column_bits_;
  std::vector<Key> keys_;
  std::vector<std::uint32_t> columns_, other_;
};

RowsOfEdges::RowsOfEdges(std::int64_t rows, std::int64_t columns)
    : rows_(rows),
      columns_(columns),
      shift_(bits_of(std::max((rows + kMostBlocks - 1) / kMostBlocks, kLeastRows))),
      column_bits_(bits_of(columns)) {
  blocks_ = (rows + (std::int64_t{1} << shift_) - 1) >> shift_;
}

RowsOfEdges::~RowsOfEdges() = default;

std::int64_t RowsOfEdges::bytes() const {
  std::int64_t sum = 0;
  for (const auto& dealt : dealt_) sum += dealt->bytes();
  return sum;
}

void RowsOfEdges::hold(std::int64_t more) { peak_bytes_ = std::max(peak_bytes_, bytes() + more); }

/// Has threads deal ranges of `count` things, each to chains of its own.
template <class Deal>
void RowsOfEdges::deal(std::int64_t count, const Deal& deal_range) {
  parallel_for(count, kAtOnce, [&](std::int64_t begin, std::int64_t end) {
    DealtEdges* mine = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (idle_.empty()) {
        dealt_.reserve(dealt_.size() + 1);
        idle_.reserve(dealt_.capacity());
        dealt_.push_back(std::make_unique<DealtEdges>(blocks_));
        mine = dealt_.back().get();
      } else {
        mine = idle_.back();
        idle_.pop_back();
      }
    }
    const Key in_block = (Key{1} << shift_) - 1;
    deal_range(begin, end, [&, dealt = mine](Vertex row, Vertex column) {
      const auto r = static_cast<Key>(row);
      dealt->add(static_cast<std::size_t>(r >> shift_),
                 (r & in_block) << column_bits_ | static_cast<Key>(column));
    });
    const std::lock_guard lock(mutex_);
    idle_.push_back(mine);
  });
  hold(0);
}

void RowsOfEdges::add(std::span<const Vertex> pairs) {
  deal(std::ssize(pairs) / 2, [&](std::int64_t begin, std::int64_t end, const auto& add_one) {
    for (std::size_t i = 2 * at(begin); i < 2 * at(end); i += 2) add_one(pairs[i], pairs[i + 1]);
  });
}

void RowsOfEdges::add(std::span<const Edge> edges, bool mirrored) {
  deal(std::ssize(edges), [&](std::int64_t begin, std::int64_t end, const auto& add_one) {
    each_edge(edges.subspan(at(begin), at(end - begin)), mirrored,
              [&](Vertex source, Vertex destination) { add_one(destination, source); });
  });
}

Csr RowsOfEdges::take() {
  Csr made{rows_, columns_, std::vector<EdgeIndex>(at(rows_) + 1, 0), {}};
  const auto of_offsets = static_cast<std::int64_t>(made.offsets.size() * sizeof(EdgeIndex));
  const auto each_chunk = [&](std::int64_t block, const auto& use) {
    for (const auto& dealt : dealt_) dealt->each_chunk(at(block), use);
  };
  const auto ends_of = [&](std::int64_t block) {
    const std::int64_t first = first_row(block);
    return std::span(made.offsets)
        .subspan(at(first) + 1, at(std::min(first_row(block + 1), rows_) - first));
  };

  // Columns take the place of the keys, so that only the rows without duplicates need new memory.
  std::vector<std::int64_t> first(at(blocks_) + 1, 0);
  {
    std::vector<std::unique_ptr<Sorter>> sorters, idle;
    parallel_for(blocks_, 1, [&](std::int64_t block, std::int64_t) {
      std::unique_ptr<Sorter> mine;
      {
        const std::lock_guard lock(mutex_);
        if (!idle.empty()) {
          mine = std::move(idle.back());
          idle.pop_back();
        }
      }
      if (!mine) mine = std::make_unique<Sorter>(shift_, column_bits_);
      std::size_t count = 0;
      each_chunk(block, [&](std::span<Key> keys) { count += keys.size(); });
      if (count > 0) {
        std::span<const std::uint32_t> columns =
            mine->sort([&](const auto& use) { each_chunk(block, use); }, count, ends_of(block));
        first[at(block) + 1] = std::ssize(columns);
        each_chunk(block, [&](std::span<Key> room) {
          const std::size_t some = std::min(2 * room.size(), columns.size());
          std::memcpy(room.data(), columns.data(), 4 * some);
          columns = columns.subspan(some);
        });
      }
      const std::lock_guard lock(mutex_);
      idle.push_back(std::move(mine));
    });
    std::int64_t of_sorters = 0;
    for (const auto& sorter : idle) of_sorters += sorter->bytes();
    hold(of_offsets + of_sorters);
  }
  std::partial_sum(first.begin(), first.end(), first.begin());
  made.columns.reserve(at(first.back()));
  advise_huge_pages(made.columns.data(), at(first.back()) * sizeof(Vertex));
  made.columns.resize(at(first.back()));
  parallel_for(blocks_, 1, [&](std::int64_t block, std::int64_t) {
    std::int64_t place = first[at(block)];
    for (EdgeIndex& end : ends_of(block)) end = place = std::max(place, first[at(block)] + end);
    place = first[at(block)];
    each_chunk(block, [&](std::span<Key> keys) {
      const std::int64_t some = std::min(2 * std::ssize(keys), first[at(block) + 1] - place);
      std::memcpy(made.columns.data() + place, keys.data(), 4 * at(some));
      place += some;
    });
  });
  hold(of_offsets + static_cast<std::int64_t>(made.columns.size() * sizeof(Vertex)));
  idle_.clear();
  dealt_.clear();
  return made;
}

}  // namespace orrery
